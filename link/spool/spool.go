package spool

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry"
	"example.com/ferry/engine/log"
	"example.com/ferry/internal/atomicfile"
	"example.com/ferry/internal/filelock"
)

// Config configures a Spool.
type Config struct {
	// Dir is the directory of the spool's files. Open creates it with mode 0700. One process at a time uses it.
	Dir string

	// MaxBytes bounds the bytes of messages in files. The oldest file is removed when all its messages were advanced, so up to
	// a sixteenth of MaxBytes, and at most 8 MiB, may belong to messages that were. Zero means 1 GiB.
	MaxBytes int64

	// Sync makes Append wait until the message is on the disk (fsync); calls that overlap share one wait. Without Sync, messages
	// survive the end of the process, but those of the newest file may be lost when the machine loses power.
	Sync bool
}

const (
	defaultMaxBytes = 1 << 30
	maxSegment      = 8 << 20
	segmentsInSpool = 16 // at least, when it is full
)

// Errors of a Spool.
var (
	ErrFull     = errors.New("spool: full")
	ErrTooLarge = errors.New("spool: message larger than the spool") // it fits in no spool of this size
	ErrClosed   = errors.New("spool: closed")
	ErrLocked   = filelock.ErrHeld
)

// CorruptError says that messages are lost because a file is damaged.
type CorruptError struct {
	Dir         string
	First, Last uint64 // indexes of the messages
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("spool: %s is damaged: messages %d to %d are lost", e.Dir, e.First, e.Last)
}

// Record is a message of a Spool.
type Record struct {
	// Index counts the messages of a spool from 1, with gaps for those that were refused or are lost.
	Index uint64
	// Message is as it was appended. If it had no ID it has one now, which no other message has, and the same in each Read.
	Message ferry.Message
}

// Spool is a bounded queue of messages on disk. All methods may overlap, except that Read, TryRead and Rewind are for one goroutine.
type Spool struct {
	cfg  Config
	lock *filelock.Lock
	log  *log.Log
	name string        // begins the IDs that this Spool gives
	ids  atomic.Uint64 // how many they are

	mu       sync.Mutex
	position *os.File
	reader   *log.Reader
	batch    []Record // that Read has returned
	tag      string   // of the last message that was read
	lost     uint64
	reserved int64 // bytes of messages on their way to the log
	crowded  bool  // a message was refused that may fit: the log may have counted one of them already
	closed   bool
	appended signal
	freed    signal
}

// signal wakes goroutines that wait for a change. Its methods need a lock.
type signal struct{ ch chan struct{} }

// wait returns a channel that the next wake closes.
func (s *signal) wait() <-chan struct{} {
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) wake() {
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

// Open opens the spool in a directory, or creates it. It returns ErrLocked if another process, or another Spool of this one, uses
// the directory. Damaged messages are no error of Open but of Read.
func Open(cfg Config) (*Spool, error) {
	if cfg.Dir == "" {
		return nil, errors.New("spool: Config.Dir is missing")
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = defaultMaxBytes
	}
	if cfg.MaxBytes < 0 {
		return nil, fmt.Errorf("spool: Config.MaxBytes is %d: want more than 0", cfg.MaxBytes)
	}
	if err := atomicfile.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	lock, err := filelock.Take(filepath.Join(cfg.Dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	s := &Spool{cfg: cfg, lock: lock, name: hex.EncodeToString(b[:]) + "-"}
	if err := s.openFiles(); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("spool: %w", err)
	}
	return s, nil
}

func (s *Spool) openFiles() error {
	if err := checkDir(s.cfg.Dir); err != nil {
		return err
	}
	c := log.Config{Store: log.Dir(s.cfg.Dir), SegmentSize: min(maxSegment, s.cfg.MaxBytes/segmentsInSpool), Retry: -1}
	if !s.cfg.Sync {
		c.Interval = -1
	}
	position, file, err := openPosition(s.cfg.Dir)
	if err != nil {
		return err
	}
	if s.log, err = log.Open(c); err != nil {
		_ = file.Close()
		return err
	}
	if s.position = file; position > 1 {
		s.log.Discard(log.Range{First: 1, Last: position - 1})
	}
	s.reader = s.log.Reader(1, nil)
	return nil
}

// checkDir returns an error if the directory has files that are not those of a spool of this version.
func checkDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch {
		case strings.HasSuffix(e.Name(), ".spool"):
			return fmt.Errorf("%s has messages of an earlier version (%s): let that version deliver what waits there, then remove the directory", dir, e.Name())
		case e.Name() == "stream":
			return fmt.Errorf("%s has a stored stream: use another directory", dir)
		}
	}
	return nil
}

// Stats is the state of a Spool at one moment.
type Stats struct {
	Messages uint64    // that were appended and not advanced
	Bytes    int64     // of their records, by the mean length of those in files
	Oldest   time.Time // when the first of them that can be read was appended; zero if there is none
	First    uint64    // index of the first of them; Last+1 if there is none
	Last     uint64    // index of the last message that was appended
	Lost     uint64    // messages of *CorruptErrors since Open
	MaxBytes int64
}

// Last returns Stats.Last, without the work of Stats.
func (s *Spool) Last() uint64 { return s.log.State().Last }

// Stats returns the state of the spool.
func (s *Spool) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.log.State()
	v := Stats{First: l.First, Last: l.Last, Lost: s.lost, MaxBytes: s.cfg.MaxBytes}
	v.Messages = l.Last + 1 - l.First - s.log.Removed(log.Range{First: l.First, Last: l.Last})
	v.Bytes = min(l.Bytes, int64(float64(l.Bytes)*float64(v.Messages)/float64(max(l.Records, 1))))
	if !s.closed {
		if _, at, ok := s.log.Oldest(); ok {
			v.Oldest = time.Unix(0, at)
		}
	}
	return v
}

// Close ends the waits of other calls and releases the directory. Messages stay.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.appended.wake()
	s.freed.wake()
	s.reader.Close()
	err := errors.Join(s.log.Close(context.Background()), s.position.Close(), s.lock.Close())
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}
