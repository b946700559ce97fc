package link_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"example.com/ferry"
	"example.com/ferry/internal/disktest"
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
	given    uint64         // the last index, of a record that was written or not
	last     uint64
	removed  uint64 // index of the last record that was removed
	next     uint64 // index of the next record that TryRead returns
	max      int    // records; more are refused as by a full disk
	readErr  error
	writeErr error
	unsynced bool            // a write that fails has stored the record, which is found when the store is opened again, unless another was written
	unsaid   []spool.Record  // such a record
	back     map[string]bool // the messages of such records that were found

	real *real // a Spool that must agree; may be nil
}

func (s *store) TryAppend(m *ferry.Message) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := *m
	kept.Payload = slices.Clone(m.Payload)
	record := spool.Record{Index: s.given + 1, Message: kept}
	if s.real != nil && s.writeErr == nil && len(s.records) < s.max {
		record.Index = s.real.append(m)
	}
	switch {
	case s.writeErr == nil && len(s.records) >= s.max:
		return 0, fmt.Errorf("%w: %d records", spool.ErrFull, s.max)
	case s.writeErr != nil:
		if s.given++; s.unsynced && s.unsaid == nil && s.real == nil {
			s.unsaid = []spool.Record{record}
		}
		return 0, s.writeErr
	}
	s.given, s.last, s.unsaid = record.Index, record.Index, nil
	s.records = append(s.records, record)
	return s.last, nil
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
		err = &spool.CorruptError{Dir: "test", First: s.damaged[0], Last: s.damaged[len(s.damaged)-1]}
		s.damaged = nil
	}
	if s.real != nil {
		s.real.read(batch)
	}
	return batch, err
}

// reopen makes the store what another process finds.
func (s *store) reopen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.damaged = slices.DeleteFunc(s.damaged, func(index uint64) bool { return index <= s.removed })
	if s.records = append(s.records, s.unsaid...); len(s.unsaid) > 0 {
		maps.Copy(s.back, messagesOf(s.unsaid))
		s.last, s.unsaid = s.unsaid[0].Index, nil
	}
	s.next = 0
	if s.real != nil {
		s.real.restart(s.removed+1, s.last)
	}
}

func (s *store) Rewind() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next = 0; s.real != nil {
		s.real.spool.Rewind()
	}
}

func (s *store) Advance(index uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = slices.DeleteFunc(s.records, func(r spool.Record) bool { return r.Index <= index })
	if s.removed = max(s.removed, index); s.real != nil {
		return s.real.spool.Advance(index)
	}
	return nil
}

func (s *store) Stats() spool.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return spool.Stats{Messages: s.last - s.removed, First: s.removed + 1, Last: s.last, MaxBytes: 1 << 20}
}

func (s *store) Close() error { return nil }

// real is a Spool that is told what a store is told, damage excepted, and killed or closed when the store is opened again.
type real struct {
	t     *testing.T
	dir   string
	spool *spool.Spool
}

func newReal(t *testing.T) *real {
	r := &real{t: t, dir: t.TempDir()}
	r.open()
	return r
}

func (r *real) open() {
	var err error
	if r.spool, err = spool.Open(spool.Config{Dir: r.dir, MaxBytes: 256 << 10}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *real) append(m *ferry.Message) uint64 {
	index, err := r.spool.TryAppend(m)
	if err != nil {
		r.t.Errorf("append: %v", err)
	}
	return index
}

// read expects records, and others before them, which the store has lost.
func (r *real) read(want []spool.Record) {
	for i := 0; i < len(want); {
		got, err := r.spool.TryRead(1)
		switch {
		case err != nil || len(got) == 0 || got[0].Index > want[i].Index:
			r.t.Errorf("record %d is not read: %v, %v", want[i].Index, got, err)
			return
		case got[0].Index < want[i].Index:
			continue
		case !bytes.Equal(got[0].Message.Payload, want[i].Message.Payload) || got[0].Message.Tag != want[i].Message.Tag:
			r.t.Errorf("record %d is %q, want %q", got[0].Index, got[0].Message.Payload, want[i].Message.Payload)
		}
		i++
	}
}

func (r *real) restart(first, last uint64) {
	next := disktest.Killed(r.t, r.dir)
	if err := r.spool.Close(); err != nil {
		r.t.Error(err)
	}
	if last%2 == 0 {
		r.dir = next
	}
	r.open()
	if s := r.spool.Stats(); s.First != first || s.Last != last {
		r.t.Errorf("a new process finds messages %d to %d, want %d to %d", s.First, s.Last, first, last)
	}
}

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
