package held

import (
	"sync"
	"sync/atomic"
)

// Spared is the number of bytes of each connection that are not charged to the server: small calls share no counter.
const Spared = 64 << 10

// step is the unit in which a connection charges the server, so that most messages do not.
const step = 64 << 10

// Server bounds the bytes of all connections of a listener together. Any goroutine may use it.
type Server struct {
	limit int64
	used  atomic.Int64
}

// NewServer returns a Server with a limit in bytes.
func NewServer(limit int) *Server {
	return &Server{limit: int64(limit)}
}

// Used returns how many bytes are charged, without those that are spared.
func (s *Server) Used() int { return int(s.used.Load()) }

// Account counts the bytes of one connection. Its methods need the lock of the connection.
type Account struct {
	server   *Server
	limit    int
	held     int
	expanded int           // bytes of held that were decompressed, or are reserved for that
	charged  int           // bytes charged to server
	freed    chan struct{} // closed when expanded becomes less; nil while nothing waits
}

// New returns the account of a connection with a limit in bytes of its own. s may be nil.
func New(s *Server, limit int) Account { return Account{server: s, limit: limit} }

// Held returns the number of bytes.
func (a *Account) Held() int { return a.held }

// Add counts n bytes more; n may be negative. What is there already is counted whether there is room for it or not: Full says so afterwards.
func (a *Account) Add(n int) {
	a.held += n
	if a.server == nil {
		return
	}
	over := max(a.held-Spared, 0)
	if over > a.charged || over < a.charged-2*step || over == 0 && a.charged > 0 {
		charge := (over + step - 1) / step * step
		a.server.used.Add(int64(charge - a.charged))
		a.charged = charge
	}
}

// Full reports whether the connection holds more than it may: than its limit, or than its share of the server's. The share of each connection
// is what all of them leave free. So one connection uses half of the limit at most, two use a third each, and there is room for one more,
// however much the others want.
func (a *Account) Full() bool {
	return a.held > a.limit || a.server != nil && a.server.used.Load()+int64(a.charged) > a.server.limit
}

// Reserve counts n bytes before a message is expanded into up to so many, unless the account would be Full then. A single message is never
// refused. If it returns false, Freed tells when to try again.
func (a *Account) Reserve(n int) bool {
	if a.Add(n); a.expanded > 0 && a.Full() {
		a.Add(-n)
		return false
	}
	a.expanded += n
	return true
}

// Return counts n bytes less of those that Reserve has counted.
func (a *Account) Return(n int) {
	if n == 0 {
		return
	}
	a.expanded -= n
	a.Add(-n)
	if a.freed != nil {
		close(a.freed)
		a.freed = nil
	}
}

// Freed returns a channel that is closed at the next Return.
func (a *Account) Freed() <-chan struct{} {
	if a.freed == nil {
		a.freed = make(chan struct{})
	}
	return a.freed
}

// Shared is an Account with a lock of its own, for the calls of a client that share no other lock. The lock may be locked while that of a
// connection is held.
type Shared struct {
	mu      sync.Mutex
	account Account
}

// NewShared returns the Shared of a client with a limit in bytes of its own. s may be nil.
func NewShared(s *Server, limit int) Shared { return Shared{account: New(s, limit)} }

// Add counts n bytes more; n may be negative.
func (s *Shared) Add(n int) {
	s.mu.Lock()
	s.account.Add(n)
	s.mu.Unlock()
}

// Full is Account.Full.
func (s *Shared) Full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.account.Full()
}

// Spares reports whether n more bytes are free of charge.
func (s *Shared) Spares(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.account.held+n <= Spared
}
