package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/atomicfile"
	"example.com/ferry/internal/filelock"
)

// Config configures a Spool.
type Config struct {
	// Dir is the directory of the spool's files. Open creates it with mode 0700. One process at a time uses it.
	Dir string

	// MaxBytes bounds the bytes of the files of messages. The oldest file is removed when all its messages were advanced, so up to
	// a sixteenth of MaxBytes, and at most 8 MiB, may belong to messages that were. Zero means 1 GiB.
	MaxBytes int64

	// Sync makes Append wait until the message is on the disk (fsync); calls that overlap share one wait. Without Sync, messages
	// survive the end of the process, but the latest ones may be lost when the machine loses power.
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
	Path    string // of the file
	Offset  int64  // where the damage begins, in bytes
	Skipped int64  // bytes from there on that are no messages
	Lost    uint64 // messages; of the last file at least so many. 0 if only the position is lost: messages that were advanced may be read again
}

func (e *CorruptError) Error() string {
	if e.Lost == 0 {
		return fmt.Sprintf("spool: %s is damaged: messages that were delivered may be delivered again", e.Path)
	}
	return fmt.Sprintf("spool: %s is damaged at offset %d: skipped %d bytes, lost %d messages", e.Path, e.Offset, e.Skipped, e.Lost)
}

// Record is a message of a Spool.
type Record struct {
	// Index counts the messages of a spool from 1, without gaps but those of a *CorruptError.
	Index uint64

	// Message is as it was appended. If it had no ID it has one now, which is random but for the index, and the same in each Read.
	Message ferry.Message
}

// Spool is a bounded queue of messages on disk. All methods may overlap, except that Read, TryRead and Rewind are for one goroutine.
type Spool struct {
	cfg     Config
	born    birth
	segment int64 // size from which on a file is not written any more, in bytes
	lock    *filelock.Lock
	file    *positionFile

	syncing sync.Mutex // held during fsync, before mu
	synced  uint64     // index of the last message that is on the disk; guarded by syncing

	mu       sync.Mutex
	segments []*segment // oldest first
	active   *segment   // the last of segments, if it is written
	bytes    int64      // of all segments
	next     uint64     // index of the next message that is appended
	position uint64     // index of the first message that was not advanced
	scratch  []byte     // of Append
	lost     uint64
	failed   error // of fsync: what Append has written may be lost
	closed   bool
	appended signal
	freed    signal

	reader  reader
	base    mark   // where Rewind goes: at position or before it
	marks   []mark // ends of the batches that were read and not advanced
	gaps    []gap  // that Read has reported, at position or behind it
	pending error  // that the next Read returns
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
func Open(cfg Config) (_ *Spool, err error) {
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
	s := &Spool{cfg: cfg, born: newBirth(), segment: min(maxSegment, cfg.MaxBytes/segmentsInSpool)}
	if s.lock, err = filelock.Take(filepath.Join(cfg.Dir, "lock")); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	if err := s.recover(); err != nil {
		_ = s.release()
		return nil, err
	}
	return s, nil
}

// recover finds out where the spool begins and ends.
func (s *Spool) recover() error {
	var err error
	var damaged bool
	if s.file, s.position, damaged, err = openPosition(s.cfg.Dir); err != nil {
		return err
	}
	if s.segments, err = listSegments(s.cfg.Dir); err != nil {
		return err
	}
	for _, seg := range s.segments {
		s.bytes += seg.size
	}
	s.next = 1
	if n := len(s.segments); n > 0 {
		last := s.segments[n-1]
		if s.next, err = last.end(); err != nil {
			return err
		}
		if s.next == last.first { // the process died while it wrote the first message
			if err := s.removeFile(n - 1); err != nil {
				return err
			}
		}
	}
	if s.position == 0 && len(s.segments) > 0 {
		s.position = s.segments[0].first
	}
	s.position = max(s.position, 1)
	s.next = max(s.next, s.position)
	if damaged {
		s.pending = &CorruptError{Path: filepath.Join(s.cfg.Dir, positionName)}
	}
	s.reader.next = s.position
	s.base.next = s.position
	s.synced = s.next - 1
	return s.collect()
}

// removeFile removes a file.
func (s *Spool) removeFile(i int) error {
	seg := s.segments[i]
	seg.close()
	s.segments = append(s.segments[:i:i], s.segments[i+1:]...)
	s.bytes -= seg.size
	if seg == s.active {
		s.active = nil
	}
	if err := os.Remove(seg.path); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

// endOf returns the index behind the last message that segment i has had.
func (s *Spool) endOf(i int) uint64 {
	if i+1 < len(s.segments) {
		return s.segments[i+1].first
	}
	return s.next
}

// collect removes the files whose messages were all advanced. The last one is kept while it is small, so that a spool that is
// empty most of the time does not create a file for each message.
func (s *Spool) collect() error {
	for len(s.segments) > 0 && s.endOf(0) <= s.position {
		if s.segments[0] == s.active && s.active.size < s.segment/4 {
			return nil
		}
		if err := s.removeAdvanced(0); err != nil {
			return err
		}
	}
	return nil
}

// removeAdvanced removes a file whose messages were all advanced. With Config.Sync, the position that says so is on the disk before:
// with an older one, the messages would count as lost after a loss of power.
func (s *Spool) removeAdvanced(i int) error {
	if s.cfg.Sync {
		if err := s.file.file.Sync(); err != nil {
			return fmt.Errorf("spool: %w", err)
		}
	}
	return s.removeFile(i)
}

// Advance removes the message with an index and all before it. Read must have returned it. A spool that is opened later begins
// with the message behind it. After an error the messages are removed from this Spool, and may be read again by a later one.
func (s *Spool) Advance(index uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if index >= s.reader.next && !s.closed {
		return fmt.Errorf("spool: message %d cannot be advanced: Read has not returned it", index)
	}
	return s.remove(index)
}

// Remove is Advance, but Read may not have returned the message. It does not return it later.
func (s *Spool) Remove(index uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if index >= s.next && !s.closed {
		return fmt.Errorf("spool: message %d cannot be removed: the last one is %d", index, s.next-1)
	}
	return s.remove(index)
}

// remove removes the message with an index and all before it, unless that was done.
func (s *Spool) remove(index uint64) error {
	switch {
	case s.closed:
		return ErrClosed
	case index < s.position:
		return nil
	}
	return s.advance(index + 1)
}

func (s *Spool) advance(position uint64) error {
	s.position = position
	for len(s.gaps) > 0 && s.gaps[0].from <= s.position {
		s.position = max(s.position, s.gaps[0].to)
		s.gaps = s.gaps[1:]
	}
	for len(s.marks) > 0 && s.marks[0].next <= s.position {
		s.base = s.marks[0]
		s.marks = s.marks[1:]
	}
	s.reader.next = max(s.reader.next, s.position)
	s.freed.wake()
	if err := s.file.store(s.position); err != nil {
		return err // the files stay: without them, a later Spool would count their messages as lost
	}
	return s.collect()
}

// Stats is the state of a Spool at one moment.
type Stats struct {
	Messages uint64    // that were appended and not advanced
	Bytes    int64     // of their records; up to the size of one Read more
	Oldest   time.Time // Message.Time of the first of them; zero if there is none, or it is damaged
	Last     uint64    // index of the last message that was appended
	Lost     uint64    // messages of *CorruptErrors since Open
	MaxBytes int64
}

// Last returns Stats.Last, without the work of Stats.
func (s *Spool) Last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next - 1
}

// Stats returns the state of the spool.
func (s *Spool) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := Stats{Messages: s.next - s.position, Last: s.next - 1, Lost: s.lost, MaxBytes: s.cfg.MaxBytes}
	if v.Messages > 0 && !s.closed {
		v.Bytes = s.bytes
		if len(s.segments) > 0 && s.segments[0] == s.base.segment {
			v.Bytes -= s.base.offset
		}
		v.Oldest = s.oldest()
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
	for _, seg := range s.segments {
		seg.close()
	}
	return s.release()
}

func (s *Spool) release() error {
	var err error
	if s.file != nil {
		err = s.file.file.Close()
	}
	if e := s.lock.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}
