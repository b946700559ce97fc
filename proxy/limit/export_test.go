package limit

// Left returns the connections and the networks that are counted.
func (c *Connections) Left() (conns int64, networks int) { return c.open.Load(), c.addresses.len() }
