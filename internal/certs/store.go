package certs

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// Store has the files in use, each set of files once. One goroutine watches them while there are any. Any goroutine may call
// its methods.
type Store struct {
	log *slog.Logger

	mu      sync.Mutex // guards the fields below
	sources map[sourceFiles]*source
	stop    chan struct{} // ends the watcher; nil while there is none

	checking sync.Mutex // guards the watch of all sources
}

// source is a set of files and its current content.
type source struct {
	files   sourceFiles
	current atomic.Pointer[material]
	users   map[*user]bool // guarded by Store.mu
	watch   watch

	reloads, failures atomic.Int64
}

// user is a TLS configuration that depends on sources.
type user struct {
	rebuild func() // called after a source has changed
	sources []*source
}

// NewStore creates a Store. A nil log means slog.Default.
func NewStore(log *slog.Logger) *Store {
	if log == nil {
		log = slog.Default()
	}
	return &Store{log: log, sources: map[sourceFiles]*source{}}
}

// Stats describes one file in use.
type Stats struct {
	File     string    // the certificate's file or the CA file
	Role     Role      // Certificate or CA
	Expiry   time.Time // first expiry of the certificates in the file
	Reloads  int64     // changes that are in use
	Failures int64     // changes that were refused
}

// Snapshot returns the files in use, ordered by Role and File.
func (s *Store) Snapshot() []Stats {
	type name struct {
		role Role
		file string
	}
	s.mu.Lock()
	byName := map[name]Stats{}
	for _, src := range s.sources {
		st := Stats{File: src.files.cert, Role: Certificate, Expiry: src.current.Load().notAfter, Reloads: src.reloads.Load(), Failures: src.failures.Load()}
		if src.files.isCA() {
			st.File, st.Role = src.files.ca, CA
		}
		if other, ok := byName[name{st.Role, st.File}]; ok { // one certificate with two keys
			st.Reloads += other.Reloads
			st.Failures += other.Failures
		}
		byName[name{st.Role, st.File}] = st
	}
	s.mu.Unlock()
	all := make([]Stats, 0, len(byName))
	for _, st := range byName {
		all = append(all, st)
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].Role != all[j].Role {
			return all[i].Role < all[j].Role
		}
		return all[i].File < all[j].File
	})
	return all
}

// use adds the sources of u. The error is a *FileError. release undoes use.
func (s *Store) use(u *user, files ...sourceFiles) error {
	for _, f := range files {
		src, err := s.source(f, u)
		if err != nil {
			s.release(u)
			return err
		}
		u.sources = append(u.sources, src)
	}
	return nil
}

// source returns the source of f, which it loads unless it is in use.
func (s *Store) source(f sourceFiles, u *user) (*source, error) {
	s.mu.Lock()
	src := s.sources[f]
	if src != nil {
		src.users[u] = true
	}
	s.mu.Unlock()
	if src != nil {
		return src, nil
	}
	src = &source{files: f, users: map[*user]bool{u: true}}
	if err := src.loadFirst(s.log); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.sources[f]; other != nil { // another goroutine was faster
		other.users[u] = true
		return other, nil
	}
	s.sources[f] = src
	if s.stop == nil {
		s.stop = make(chan struct{})
		go s.watchUntil(s.stop)
	}
	return src, nil
}

// release removes u from its sources, and the sources without users from the store.
func (s *Store) release(u *user) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, src := range u.sources {
		delete(src.users, u)
		if len(src.users) == 0 && s.sources[src.files] == src {
			delete(s.sources, src.files)
		}
	}
	if len(s.sources) == 0 && s.stop != nil {
		close(s.stop)
		s.stop = nil
	}
}

// certificate returns the current certificate of a source.
func (src *source) certificate() *tls.Certificate { return src.current.Load().cert }

// pool returns the current CAs of a source; nil if src is nil.
func (src *source) pool() *x509.CertPool {
	if src == nil {
		return nil
	}
	return src.current.Load().pool
}
