package limit

// Left returns the connections and the networks that are counted.
func (c *Connections) Left() (conns int64, networks int) { return c.open.Load(), c.addresses.len() }

// len returns the number of networks that have a connection.
func (a *addresses) len() int {
	n := 0
	for i := range a.shards {
		s := &a.shards[i]
		s.mu.Lock()
		n += len(s.index)
		s.mu.Unlock()
	}
	return n
}
