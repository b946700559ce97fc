package balance

// admit counts a request as active and reports whether limits.requests allows it.
func (s *Set) admit() bool {
	if s.active.Add(1) > int64(s.cfg.Limits.Requests) {
		s.active.Add(-1)
		s.refused.requests.Add(1)
		return false
	}
	return true
}

// Wait counts a request that waits for a connection. It reports whether limits.waiting allows the request to wait. If
// so, the caller must call Unwait when the wait has ended. Any goroutine may call both.
func (s *Set) Wait() bool {
	if s.waiting.Add(1) > int64(s.cfg.Limits.Waiting) {
		s.waiting.Add(-1)
		s.refused.waiting.Add(1)
		return false
	}
	return true
}

// Unwait undoes Wait.
func (s *Set) Unwait() { s.waiting.Add(-1) }

// Connect counts a connection before it is opened. It reports whether limits.connections allows the connection. If
// so, the caller must call Disconnect when the connection is closed or could not be opened.
func (e *Endpoint) Connect() bool {
	if e.conns.Add(1) > int64(e.set.cfg.Limits.Connections) {
		e.conns.Add(-1)
		e.set.refused.connections.Add(1)
		return false
	}
	return true
}

// ConnectionsLeft returns the number of further connections that limits.connections allows now.
func (e *Endpoint) ConnectionsLeft() int {
	return e.set.cfg.Limits.Connections - int(e.conns.Load())
}

// Disconnect undoes Connect.
func (e *Endpoint) Disconnect() { e.conns.Add(-1) }
