package upstream

// begin counts a request, and reports whether there may be one more.
func (c *Cluster) begin() bool {
	if c.active.Add(1) > int64(c.cfg.Limits.Requests) {
		c.active.Add(-1)
		c.refused.requests.Add(1)
		return false
	}
	return true
}

// Wait counts a request about to wait for a connection, and reports whether there may be one more. If so, Unwait follows when
// it has waited. Both may be called by any loop.
func (c *Cluster) Wait() bool {
	if c.waiting.Add(1) > int64(c.cfg.Limits.Waiting) {
		c.waiting.Add(-1)
		c.refused.waiting.Add(1)
		return false
	}
	return true
}

// Unwait undoes Wait.
func (c *Cluster) Unwait() { c.waiting.Add(-1) }

// Connect counts a connection about to be dialled, and reports whether there may be one more. If so, Disconnect follows when
// it is closed, whether it ever opened or not.
func (e *Endpoint) Connect() bool {
	if e.conns.Add(1) > int64(e.cluster.cfg.Limits.Connections) {
		e.conns.Add(-1)
		e.cluster.refused.connections.Add(1)
		return false
	}
	return true
}

// Room is how many connections more there may be at the moment.
func (e *Endpoint) Room() int { return e.cluster.cfg.Limits.Connections - int(e.conns.Load()) }

// Disconnect undoes Connect.
func (e *Endpoint) Disconnect() { e.conns.Add(-1) }
