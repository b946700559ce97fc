package link_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"example.com/ferry"
	"example.com/ferry/internal/peer"
	"example.com/ferry/link/spool"
	"example.com/ferry/protocol/native"
)

var (
	errRead  = errors.New("input/output error")
	errWrite = errors.New("too many open files")
)

// store is a link.Store in memory that fails on demand.
type store struct {
	mu       sync.Mutex
	records  []spool.Record // that were not removed
	damaged  []uint64       // indexes of records that are lost, and whose loss TryRead has not told
	last     uint64
	removed  uint64 // index of the last record that was removed
	next     uint64 // index of the next record that TryRead returns
	max      int    // records; more are refused as by a full disk
	readErr  error
	writeErr error
	unsynced bool // the next write fails after it has stored the record
	broken   bool // a write has done so: all fail until the store is opened again
}

func (s *store) TryAppend(m *ferry.Message) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.broken, s.writeErr != nil && !s.unsynced:
		return 0, errWrite
	case len(s.records) >= s.max:
		return 0, fmt.Errorf("%w: %d records", spool.ErrFull, s.max)
	}
	s.last++
	kept := *m
	kept.Payload = slices.Clone(m.Payload)
	s.records = append(s.records, spool.Record{Index: s.last, Message: kept})
	s.broken = s.writeErr != nil
	return s.last, s.writeErr
}

func (s *store) TryRead(int) (batch []spool.Record, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readErr != nil {
		return nil, s.readErr
	}
	for _, r := range s.records {
		if r.Index < s.next || len(batch) == 3 {
			continue
		}
		if len(s.damaged) > 0 && s.damaged[0] < r.Index {
			break
		}
		batch = append(batch, r)
		s.next = r.Index + 1
	}
	if len(batch) == 0 && len(s.damaged) > 0 {
		err = &spool.CorruptError{Path: "test", Lost: uint64(len(s.damaged))}
		s.damaged = nil
	}
	return batch, err
}

// reopen makes the store what another process finds. A record that could not be synced is gone.
func (s *store) reopen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.damaged = slices.DeleteFunc(s.damaged, func(index uint64) bool { return index <= s.removed })
	if s.broken && len(s.records) > 0 && s.records[len(s.records)-1].Index == s.last {
		s.records = s.records[:len(s.records)-1]
		s.last--
	}
	s.next, s.broken = 0, false
}

func (s *store) Rewind() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = 0
}

func (s *store) Remove(index uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = slices.DeleteFunc(s.records, func(r spool.Record) bool { return r.Index <= index })
	s.removed = max(s.removed, index)
	return nil
}

func (s *store) Stats() spool.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return spool.Stats{Messages: s.last - s.removed, Last: s.last, MaxBytes: 1 << 20}
}

func (s *store) Close() error { return nil }

// fail sets what fails.
func (s *store) fail(read, write error, unsynced bool, room int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readErr, s.writeErr, s.unsynced, s.max = read, write, unsynced, room
}

// damage loses a record, and returns its messages.
func (s *store) damage(i int) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.records) == 0 {
		return nil
	}
	i %= len(s.records)
	lost := s.records[i : i+1 : i+1]
	all := messagesOf(lost)
	s.damaged = append(s.damaged, lost[0].Index)
	slices.Sort(s.damaged)
	s.records = slices.Concat(s.records[:i], s.records[i+1:])
	return all
}

// hides reports whether records are lost, and TryRead has not told of them.
func (s *store) hides() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.damaged) > 0
}

// has returns the payloads of the messages that are stored.
func (s *store) has() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return messagesOf(s.records)
}

func messagesOf(records []spool.Record) map[string]bool {
	all := map[string]bool{}
	for _, r := range records {
		for b := r.Message.Payload[6:]; len(b) > 0; b = b[native.Size(b):] { // behind version, path and number of messages
			all[string(native.Frame(b[:native.Size(b)]).Payload())] = true
		}
	}
	return all
}

// wire is a link.Wire that takes messages as far as it has credit. The lock of the Outbox guards it.
type wire struct {
	credit map[string]int // messages; a tag that it does not have takes any number
	got    []string       // payloads, in order
}

func (w *wire) Send(tag string, _ *native.Path, frames []byte, _ *peer.Unflushed) (size, count int) {
	for size < len(frames) {
		if n, bounded := w.credit[tag]; bounded {
			if n == 0 {
				break
			}
			w.credit[tag]--
		}
		f := native.Frame(frames[size : size+native.Size(frames[size:])])
		w.got = append(w.got, string(f.Payload()))
		size, count = size+len(f), count+1
	}
	return size, count
}

func (w *wire) Expect(string) {}
func (w *wire) ConfirmSoon()  {}

// burst is messages of one publisher on one tag, with successive numbers.
type burst struct {
	h        *history
	messages []string
	refused  int // of them, as Refused has said
}

func (b *burst) Refused(n int, _ error) {
	b.h.mu.Lock()
	defer b.h.mu.Unlock()
	b.refused += n
	b.h.refused += n
	if b.h.block && !b.h.closing {
		b.h.t.Errorf("%d messages of %q are refused, and should wait", n, b.messages)
	}
}
