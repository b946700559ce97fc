package spool

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/atomicfile"
)

// retryFullDisk is the pause between two attempts to write to a disk that is full.
const retryFullDisk = 500 * time.Millisecond

// maxScratch is the size from which on a buffer is not kept for the next call, in bytes.
const maxScratch = 1 << 20

func newBirth() birth {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return birth(binary.BigEndian.Uint64(b[:]))
}

// Append adds m at the end and returns its index. It copies m; a Time of 0 becomes the current time; Source and To are not kept.
// While the spool, or its disk, is full, Append waits for Advance, until ctx ends; the error then wraps ErrFull and that of ctx.
// After an error of fsync, m may or may not be read, and each later Append fails.
func (s *Spool) Append(ctx context.Context, m *ferry.Message) (index uint64, err error) {
	for {
		index, freed, err := s.tryAppend(m)
		if freed == nil {
			return index, err
		}
		select {
		case <-freed:
		case <-time.After(retryFullDisk):
		case <-ctx.Done():
			return 0, fmt.Errorf("%w: %w", err, ctx.Err())
		}
	}
}

// TryAppend is Append, but it returns ErrFull at once. If it returns an index with an error, which is that of fsync, the message may be
// read.
func (s *Spool) TryAppend(m *ferry.Message) (index uint64, err error) {
	index, _, err = s.tryAppend(m)
	return index, err
}

// tryAppend is TryAppend. freed is not nil if the error is ErrFull, and closed after the next Advance.
func (s *Spool) tryAppend(m *ferry.Message) (index uint64, freed <-chan struct{}, err error) {
	if err := checkSize(m); err != nil {
		return 0, nil, err
	}
	if n := int64(headerSize + bodySize(m)); n > s.cfg.MaxBytes {
		return 0, nil, fmt.Errorf("%w: %d bytes do not fit in %s, which has %d", ErrTooLarge, n, s.cfg.Dir, s.cfg.MaxBytes)
	}
	s.mu.Lock()
	index, err = s.write(m)
	if errors.Is(err, ErrFull) {
		freed = s.freed.wait()
	}
	s.mu.Unlock()
	if err == nil && s.cfg.Sync {
		err = s.sync(index)
	}
	return index, freed, err
}

// write writes the record of m; s.mu is held.
func (s *Spool) write(m *ferry.Message) (uint64, error) {
	if s.closed {
		return 0, ErrClosed
	}
	if s.failed != nil {
		return 0, s.failed
	}
	length := int64(headerSize + bodySize(m))
	if err := s.makeRoom(length); err != nil {
		return 0, err
	}
	stamped := *m
	if stamped.Time == 0 {
		stamped.Time = time.Now().UnixNano()
	}
	s.scratch = appendRecord(s.scratch, s.born.salt(), s.next, &stamped)
	_, err := s.active.file.WriteAt(s.scratch, s.active.size)
	if cap(s.scratch) > maxScratch {
		s.scratch = nil
	}
	if err != nil {
		// A part of the record must not precede the next one.
		if s.active.file.Truncate(s.active.size) != nil {
			err = errors.Join(err, s.seal())
		}
		return 0, diskError(err)
	}
	s.active.size += length
	s.bytes += length
	s.next++
	s.appended.wake()
	return s.next - 1, nil
}

// makeRoom makes s.active a file that takes length more bytes.
func (s *Spool) makeRoom(length int64) error {
	if s.bytes+length > s.cfg.MaxBytes && s.active != nil && s.position == s.next {
		if err := s.removeAdvanced(len(s.segments) - 1); err != nil {
			return err
		}
	}
	if s.bytes+length > s.cfg.MaxBytes {
		return fmt.Errorf("%w: %s has %d bytes of at most %d, and %d more are to be stored", ErrFull, s.cfg.Dir, s.bytes, s.cfg.MaxBytes, length)
	}
	if s.active != nil && s.active.size > 0 && s.active.size+length > s.segment {
		if err := s.seal(); err != nil {
			return err
		}
	}
	if s.active != nil {
		return nil
	}
	seg := &segment{first: s.next, born: s.born, path: filepath.Join(s.cfg.Dir, segmentName(s.next, s.born))}
	f, err := os.OpenFile(seg.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return diskError(err)
	}
	seg.file = f
	s.active, s.segments = seg, append(s.segments, seg)
	if s.cfg.Sync {
		if err := atomicfile.SyncDir(s.cfg.Dir); err != nil {
			s.failed = fmt.Errorf("spool: %w", err)
			return s.failed
		}
	}
	return nil
}

// seal ends the writes to the active file.
func (s *Spool) seal() error {
	seg := s.active
	if seg.size == 0 {
		return s.removeFile(len(s.segments) - 1)
	}
	s.active = nil
	if s.cfg.Sync {
		if err := seg.file.Sync(); err != nil {
			s.failed = fmt.Errorf("spool: %w", err)
			return s.failed
		}
	}
	if s.reader.segment != seg {
		seg.close()
	}
	return nil
}

// diskError returns an error that wraps ErrFull if err says that the disk is full.
func diskError(err error) error {
	if isDiskFull(err) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return fmt.Errorf("spool: %w", err)
}

// sync returns when the message with an index is on the disk.
func (s *Spool) sync(index uint64) error {
	s.syncing.Lock()
	defer s.syncing.Unlock()
	if s.synced >= index {
		return nil
	}
	s.mu.Lock()
	seg, last, err := s.active, s.next-1, s.failed
	if err != nil || seg == nil { // seal has synced what is not in the active file
		s.mu.Unlock()
		if err == nil {
			s.synced = last
		}
		return err
	}
	seg.syncs++
	f := seg.file
	s.mu.Unlock()
	err = f.Sync()
	s.mu.Lock()
	defer s.mu.Unlock()
	if seg.syncs--; seg.gone {
		seg.close()
	}
	if err != nil {
		s.failed = fmt.Errorf("spool: %w", err)
		return s.failed
	}
	s.synced = last
	return nil
}
