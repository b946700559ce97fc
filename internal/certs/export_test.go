package certs

// Check does what the watcher does once each second.
func (s *Store) Check() { s.check(false) }

// Watching reports whether the watcher runs.
func (s *Store) Watching() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop != nil
}
