package upstream

// admit counts a request as active and reports whether limits.requests allows it.
func (c *Cluster) admit() bool {
	if c.active.Add(1) > int64(c.cfg.Limits.Requests) {
		c.active.Add(-1)
		c.refused.requests.Add(1)
		return false
	}
	return true
}

// Wait counts a request that waits for a connection. It reports whether limits.waiting allows the request to wait. If
// so, the caller must call Unwait when the wait has ended. Any loop may call both.
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

// Connect counts a connection before it is opened. It reports whether limits.connections allows the connection. If
// so, the caller must call Disconnect when the connection is closed or could not be opened.
func (e *Endpoint) Connect() bool {
	if e.conns.Add(1) > int64(e.cluster.cfg.Limits.Connections) {
		e.conns.Add(-1)
		e.cluster.refused.connections.Add(1)
		return false
	}
	return true
}

// ConnectionsLeft returns the number of further connections that limits.connections allows now.
func (e *Endpoint) ConnectionsLeft() int {
	return e.cluster.cfg.Limits.Connections - int(e.conns.Load())
}

// Disconnect undoes Connect.
func (e *Endpoint) Disconnect() { e.conns.Add(-1) }
