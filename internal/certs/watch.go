package certs

import (
	"crypto/sha256"
	"encoding/binary"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"

	"example.com/ferry/internal/filestate"
)

// checkInterval is the time between two checks of the files. Changed files are read once they have stayed the same from
// one check to the next: a program may still be writing them, or writes the certificate first and then the key.
const checkInterval = time.Second

// watch is what the watcher knows of a source's files.
type watch struct {
	seen   []fs.FileInfo     // at the last check; nil for a missing file
	read   bool              // the files were read in state seen
	digest [sha256.Size]byte // of the content that was last loaded or refused
}

// loadFirst loads the files for the first time.
func (src *source) loadFirst(log *slog.Logger) error {
	seen := stat(src.files)
	from := read(src.files)
	m, err := load(src.files, from)
	if err != nil {
		return err
	}
	src.watch = watch{seen: seen, digest: digest(from)}
	src.replace(m, log)
	return nil
}

// replace puts m in use.
func (src *source) replace(m *material, log *slog.Logger) {
	src.current.Store(m)
	for _, text := range m.warnings {
		log.Warn("certificate file", "kind", src.files.role(0), "file", src.files.paths()[0], "warning", text)
	}
}

// watchUntil checks the files periodically until stop is closed.
func (s *Store) watchUntil(stop chan struct{}) {
	ticks := time.NewTicker(checkInterval)
	defer ticks.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticks.C:
			s.check(false)
		}
	}
}

// Refresh reads changed files now, instead of after they have stayed the same for a while.
func (s *Store) Refresh() { s.check(true) }

// check reads the files that have changed.
func (s *Store) check(now bool) {
	s.checking.Lock()
	defer s.checking.Unlock()
	s.mu.Lock()
	sources := make([]*source, 0, len(s.sources))
	for _, src := range s.sources {
		sources = append(sources, src)
	}
	s.mu.Unlock()
	for _, src := range sources {
		if src.check(now, s.log) {
			s.rebuild(src)
		}
	}
}

// rebuild rebuilds the users of src.
func (s *Store) rebuild(src *source) {
	s.mu.Lock()
	users := make([]*user, 0, len(src.users))
	for u := range src.users {
		users = append(users, u)
	}
	s.mu.Unlock()
	for _, u := range users {
		u.rebuild()
	}
}

// check reads the files if they have changed and, unless now is set, have stayed the same since the last check. It reports
// whether their new content is in use.
func (src *source) check(now bool, log *slog.Logger) (replaced bool) {
	w := &src.watch
	seen := stat(src.files)
	if !same(seen, w.seen) {
		w.seen, w.read = seen, false
		if !now {
			return false
		}
	}
	if w.read {
		return false
	}
	from := read(src.files)
	if after := stat(src.files); !same(after, seen) { // replaced in between: the certificate and the key may not match
		w.seen = after
		return false
	}
	w.read = !slices.ContainsFunc(seen, func(info fs.FileInfo) bool { return !filestate.Settled(info) })
	sum := digest(from)
	if sum == w.digest {
		return false
	}
	w.digest = sum
	m, err := load(src.files, from)
	if err != nil {
		src.failures.Add(1)
		log.Error("certificate file refused: the previous content stays in use", "kind", src.files.role(0), "file", src.files.paths()[0], "err", err)
		return false
	}
	src.reloads.Add(1)
	src.replace(m, log)
	log.Info("certificate file read again", "kind", src.files.role(0), "file", src.files.paths()[0], "expires", m.notAfter)
	return true
}

// stat returns the states of the files. It follows symbolic links, so a changed link is a changed file.
func stat(f sourceFiles) []fs.FileInfo {
	paths := f.paths()
	all := make([]fs.FileInfo, len(paths))
	for i, path := range paths {
		if info, err := os.Stat(path); err == nil {
			all[i] = info
		}
	}
	return all
}

// same reports whether no file has changed from a to b, as far as is known without reading.
func same(a, b []fs.FileInfo) bool {
	return slices.EqualFunc(a, b, filestate.Same)
}

// digest returns a hash that changes when the content of a file, or the error of reading it, does.
func digest(from []content) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, c := range from {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(c.data)))
		h.Write(length[:])
		h.Write(c.data)
		if c.err != nil {
			h.Write([]byte(c.err.Error()))
		}
	}
	h.Sum(sum[:0])
	return sum
}
