package nats

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"example.com/ferry/internal/filelock"
)

const (
	stagingPrefix = "ferry-staging-"
	stagingLock   = "lock"
	stagingOwner  = "owner"   // a file with the path of the owner's link
	stagingLink   = "staging" // in the directory of the store; it leads to the memory
	batchesDir    = "batches" // in the directory of a JetStream stream: the server stages there
	stagingFree   = 16 << 20  // bytes of the memory that staged batches leave free
)

// staging makes the embedded server stage atomic batches in memory. The server writes the messages of a batch to files of its own,
// and syncs these several times, before it writes the messages to the stream and syncs that once. It reads the files again only
// to complete a batch that was written in part when the process ended. Memory outlives the process. A batch that was written in
// part when the power failed was not acknowledged. So the directory in which the server stages can be a symbolic link into a file
// system in memory. The methods of a nil staging do nothing: batches are then staged on the disk.
type staging struct {
	memory  string // a file system in memory
	root    string // the directory of this process in it
	link    string
	streams string // the server's directory of streams
	lock    *filelock.Lock
	log     *slog.Logger

	mu     sync.Mutex
	linked map[string]bool // JetStream streams whose batches are staged in memory
}

// openStaging makes a directory in memory, if there is a file system for it. It also removes what ended processes have left there.
func openStaging(memory, dir, streams string, log *slog.Logger) *staging {
	removeForeign(streams)
	if memory == "" {
		return nil
	}
	removeStale(memory)
	s := &staging{memory: memory, streams: streams, log: log}
	if err := s.open(dir); err != nil {
		log.Warn("engine: batches are staged on the disk, which takes more syncs", "err", err)
		return nil
	}
	return s
}

// removeForeign removes the links to staged batches that do not lead into a directory of this user. After a start of the machine the
// memory is empty, and each user can make a directory of the same name there: the server would store what is in it.
func removeForeign(streams string) {
	found, _ := os.ReadDir(streams) // without it there are no links
	for _, d := range found {
		link := filepath.Join(streams, d.Name(), batchesDir)
		if target, err := os.Readlink(link); err == nil && !ownDir(filepath.Dir(target)) {
			os.Remove(link) // the server logs that it cannot complete a batch
		}
	}
}

func (s *staging) open(dir string) (err error) {
	if s.link, err = filepath.Abs(filepath.Join(dir, stagingLink)); err != nil {
		return err
	}
	if s.root, err = os.MkdirTemp(s.memory, stagingPrefix); err != nil {
		return err
	}
	if s.lock, err = filelock.Take(filepath.Join(s.root, stagingLock)); err == nil {
		err = os.WriteFile(filepath.Join(s.root, stagingOwner), []byte(s.link), 0o600)
	}
	if err != nil {
		s.remove()
	}
	return err
}

func (s *staging) remove() {
	os.RemoveAll(s.root) // removeStale tries again
	if s.lock != nil {
		s.lock.Close()
	}
}

// removeStale removes the directories of processes that have ended, unless the store of one may need it to complete a batch.
func removeStale(memory string) {
	roots, _ := filepath.Glob(filepath.Join(memory, stagingPrefix+"*")) // the pattern is valid
	for _, root := range roots {
		if !ownDir(root) {
			continue
		}
		link, err := os.ReadFile(filepath.Join(root, stagingOwner))
		if err != nil {
			continue // not complete
		}
		if target, err := os.Readlink(string(link)); err == nil && target == root {
			continue
		}
		lock, err := filelock.Take(filepath.Join(root, stagingLock))
		if err != nil {
			continue // in use
		}
		os.RemoveAll(root) // the next process tries again
		lock.Close()
	}
}

// begin discards what was staged. The server has just started, has completed its batches, and has no clients yet.
func (s *staging) begin() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.linked {
		os.RemoveAll(filepath.Join(s.root, name)) // close finds it
	}
	s.linked = make(map[string]bool)
	old, err := os.Readlink(s.link)
	if err == nil && old == s.root {
		return
	}
	if err == nil {
		os.Remove(s.link) // Symlink returns the error
	}
	if err := os.Symlink(s.root, s.link); err != nil {
		s.log.Warn("engine: the directory of staged batches is not noted: it stays after a kill", "dir", s.root, "err", err)
	}
	if filepath.Dir(old) == s.memory && strings.HasPrefix(filepath.Base(old), stagingPrefix) {
		os.RemoveAll(old) // removeStale tries again
	}
}

// choose decides where the server stages the next batch of a JetStream stream: in memory if it has room for n bytes. No batch of
// this process is staged meanwhile.
func (s *staging) choose(name string, n int64) {
	if s == nil {
		return
	}
	free, err := freeBytes(s.root)
	memory := err == nil && free-n >= stagingFree
	s.mu.Lock()
	defer s.mu.Unlock()
	if memory == s.linked[name] {
		return
	}
	path := filepath.Join(s.streams, name, batchesDir)
	if !memory {
		s.log.Warn("engine: batches are staged on the disk, which takes more syncs", "stream", name, "free", free, "err", err)
		if os.Remove(path) == nil {
			delete(s.linked, name)
		}
		return
	}
	if err := s.place(path, filepath.Join(s.root, name)); err != nil {
		s.log.Debug("engine: a batch is staged on the disk", "stream", name, "err", err) // that of a NATS client is there
		return
	}
	s.linked[name] = true
}

// place makes path a link to a directory.
func (s *staging) place(path, target string) error {
	if err := os.MkdirAll(target, 0o700); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Symlink(target, path)
}

// forget notes that a JetStream stream and its directory are removed.
func (s *staging) forget(name string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.linked, name)
}

// close removes the directory, unless a batch is left that the server completes when it starts again. The server has ended.
func (s *staging) close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	left := false
	for name := range s.linked {
		if err := os.Remove(filepath.Join(s.root, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			left = true
			continue
		}
		os.Remove(filepath.Join(s.streams, name, batchesDir)) // the server removes it when it starts
	}
	if left {
		s.lock.Close()
		return
	}
	if target, err := os.Readlink(s.link); err == nil && target == s.root {
		os.Remove(s.link) // begin removes it
	}
	s.remove()
}
