package log

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/ferry/engine"
)

// model is what a Log must have.
type model struct {
	t        *testing.T
	r        *rand.Rand
	interval time.Duration
	retry    time.Duration
	steady   bool // the disk does not fail. Without syncs, either the power fails or the disk
	discards bool // numbers are discarded, which State and Count may not know
	disk     *disk
	log      *Log
	given    map[uint64]string // payload of each number that was given since the last restart, and of those that were left then
	stored   map[uint64]bool   // confirmed and not removed
	removed  map[uint64]bool   // by a confirmed call
	refused  map[uint64]bool   // removed, or not stored, and the process after this one may not know
	highest  uint64
	count    int
}

func (m *model) open() {
	m.t.Helper()
	var err error
	m.log, err = Open(Config{Store: m.disk, Interval: m.interval, Retry: m.retry, SegmentSize: 4 << 10})
	if err != nil {
		m.t.Fatalf("Open: %v", err)
	}
}

// await returns an error that a group may have: it was not written, and must not be written again.
func (m *model) await(done <-chan error) error {
	m.t.Helper()
	select {
	case err := <-done:
		if err != nil && m.retry >= 0 {
			m.t.Fatalf("Commit: %v", err)
		}
		return err
	case <-time.After(time.Minute):
		m.t.Fatal("Commit did not end within a minute")
		return nil
	}
}

// commit waits until all is stored, and notes which numbers are, and which are removed.
func (m *model) commit(stored, removed []uint64) {
	m.t.Helper()
	done := make(chan error, 1)
	m.log.Commit(func(err error) { done <- err })
	for _, n := range removed {
		delete(m.stored, n)
		m.refused[n] = true
	}
	if m.await(done) != nil {
		for _, n := range stored {
			m.refused[n] = true
		}
		return
	}
	for _, n := range stored {
		m.stored[n] = true
	}
	maps.Copy(m.removed, m.refused)
	clear(m.refused)
}

func (m *model) append() {
	put := m.r.IntN(2) == 0
	var numbers []uint64
	var stored []chan error
	for range 1 + m.r.IntN(6) {
		m.count++
		text := fmt.Sprint(m.count, " ", string(make([]byte, m.r.IntN(400))))
		if m.r.IntN(100) == 0 {
			text += string(make([]byte, 9000)) // longer than a segment
		}
		r := engine.Record{Tag: fmt.Sprint("a/", m.r.IntN(5)), Payload: []byte(text)}
		var n uint64
		if put || m.retry < 0 {
			done := make(chan error, 1)
			n = m.log.Put(&r, time.Now().UnixNano(), func(err error) { done <- err })
			stored = append(stored, done)
		} else {
			n = m.log.Append(&r, time.Now().UnixNano())
		}
		if n <= m.highest {
			m.t.Fatalf("number %d is given again, the highest was %d", n, m.highest)
		}
		m.highest = n
		m.given[n] = text
		if m.interval < 0 {
			delete(m.removed, n) // before the power failed
		}
		numbers = append(numbers, n)
	}
	if stored == nil {
		m.commit(numbers, nil)
		return
	}
	for i, done := range stored {
		if m.await(done) == nil {
			m.stored[numbers[i]] = true
		} else {
			m.refused[numbers[i]] = true
		}
	}
}

// records reads the Log.
func (m *model) records() map[uint64]View {
	m.t.Helper()
	all := map[uint64]View{}
	r := m.log.Reader(1, nil)
	defer r.Close()
	last := uint64(0)
	for {
		v, err := r.Read(true)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			m.t.Fatalf("Read behind %d: %v", last, err)
		}
		if v.Sequence() <= last {
			m.t.Fatalf("record %d comes behind %d", v.Sequence(), last)
		}
		last = v.Sequence()
		v.body = slices.Clone(v.body)
		all[last] = v
	}
}

func (m *model) remove() {
	if len(m.stored) == 0 {
		return
	}
	keys := slices.Sorted(maps.Keys(m.stored))
	var gone []uint64
	for range 1 + m.r.IntN(10) {
		if m.r.IntN(2) == 0 {
			if s, _, ok := m.log.Oldest(); ok && removeOldest(m.log) {
				gone = append(gone, s.Sequence)
			}
			continue
		}
		n := keys[m.r.IntN(len(keys))]
		r := m.log.Reader(n, nil)
		v, err := r.Read(true)
		if err == nil && v.Sequence() == n && m.log.Remove(Stored{n, string(v.Tag()), v.Cost()}) {
			gone = append(gone, n)
		}
		r.Close()
	}
	m.commit(nil, gone)
}

// discard removes all up to a record, or those between two.
func (m *model) discard() {
	keys := slices.Sorted(maps.Keys(m.stored))
	if len(keys) == 0 || !m.discards {
		return
	}
	first, last := 0, m.r.IntN(len(keys))
	if m.r.IntN(3) == 0 {
		first = m.r.IntN(last + 1)
	}
	m.log.Discard(Range{keys[first], keys[last]})
	m.commit(nil, keys[first:last+1])
}

// check compares the Log with the model. lost numbers may be missing: power failed before an interval ended.
func (m *model) check(lossy bool) {
	m.t.Helper()
	m.disk.mu.Lock()
	m.disk.failSyncs, m.disk.failWrites, m.disk.failNames = 0, 0, 0
	m.disk.mu.Unlock()
	m.commit(nil, nil) // an interval that has failed is over
	all := m.records()
	var bytes int64
	tags := map[string]uint64{}
	for n, v := range all {
		r := v.Record(string(v.Tag()))
		if want, ok := m.given[n]; !ok || string(r.Payload) != want {
			m.t.Fatalf("record %d has %.20q, want %.20q", n, r.Payload, want)
		}
		if (m.removed[n] || m.refused[n]) && !lossy {
			m.t.Fatalf("record %d is back", n)
		}
		bytes += v.Cost()
		tags[r.Tag]++
	}
	for n := range m.stored {
		if _, ok := all[n]; !ok && !lossy {
			m.t.Fatalf("record %d is lost", n)
		}
	}
	s := m.log.State()
	if s.Records != uint64(len(all)) && !m.discards || s.Bytes != bytes && !m.discards || s.Records < uint64(len(all)) || s.Bytes < bytes {
		m.t.Fatalf("State has %d records of %d bytes, Read has %d of %d", s.Records, s.Bytes, len(all), bytes)
	}
	for tag, want := range tags {
		got, rest := m.log.Count(1, func(name string) bool { return name == tag })
		if got < want || got != want && !m.discards || rest != (Range{}) {
			m.t.Fatalf("Count of %s = %d, %v, want %d", tag, got, rest, want)
		}
	}
	if again := m.disk.again; again {
		m.t.Fatal("a file was synced after its sync had failed")
	}
	m.stored = map[uint64]bool{}
	for n := range all {
		m.stored[n] = true
		delete(m.removed, n)
	}
}

// restart ends the process: kindly, by kill -9, or by the loss of power.
func (m *model) restart() {
	m.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	how := m.r.IntN(3)
	if how == 2 && m.interval < 0 && !m.steady {
		how = 1
	}
	lossy := false
	switch how {
	case 0:
		if err := m.log.Close(ctx); err != nil {
			m.t.Fatalf("Close: %v", err)
		}
		m.disk = m.disk.restart(m.interval >= 0 || m.steady, nil) // all is on the disk
	default:
		if m.r.IntN(2) == 0 { // in the middle of a write
			for range 3 {
				m.count++
				n := m.log.Append(&engine.Record{Tag: "a/0", Payload: fmt.Append(nil, m.count)}, time.Now().UnixNano())
				m.given[n] = fmt.Sprint(m.count)
				m.highest = max(m.highest, n)
			}
			m.log.Commit(func(error) {})
			time.Sleep(time.Duration(m.r.IntN(300)) * time.Microsecond)
		}
		m.disk = m.disk.restart(how == 2, nil)
		lossy = how == 2 && m.interval != 0
		cancel()
		_ = m.log.Close(ctx) // its disk is gone
		m.highest = 0        // a number that no one has seen may be given again
		for n := range m.stored {
			m.highest = max(m.highest, n)
		}
	}
	clear(m.refused) // they may be back
	m.open()
	m.check(lossy)
	if lossy && m.interval < 0 {
		m.highest = m.log.State().Next - 1
	}
}

// TestHistories runs random calls and failures against a model.
func TestHistories(t *testing.T) {
	for _, c := range []struct{ interval, retry time.Duration }{{0, 1}, {2 * time.Millisecond, 1}, {time.Hour, 1}, {0, -1}, {-1, -1}} {
		for seed := range uint64(6) {
			t.Run(fmt.Sprint(c.interval, "/", c.retry, "/", seed), func(t *testing.T) {
				t.Parallel()
				m := &model{
					t: t, r: rand.New(rand.NewPCG(seed, uint64(c.interval))), interval: c.interval, retry: c.retry, discards: c.retry < 0 || seed%2 == 1,
					steady: c.interval < 0 && seed%2 == 0, disk: newDisk(),
					given: map[uint64]string{}, stored: map[uint64]bool{}, removed: map[uint64]bool{}, refused: map[uint64]bool{},
				}
				m.open()
				for range 150 {
					switch m.r.IntN(20) {
					case 0, 1:
						m.restart()
					case 2, 3, 4:
						m.remove()
					case 5:
						m.discard()
					case 6:
						if m.steady {
							continue
						}
						m.disk.mu.Lock()
						switch m.r.IntN(3) {
						case 0:
							m.disk.failSyncs = 1
						case 1:
							m.disk.failWrites = 1
						case 2:
							m.disk.failNames = 1
						}
						m.disk.mu.Unlock()
					case 7:
						m.check(false)
					default:
						m.append()
					}
				}
				m.check(false)
				if err := m.log.Close(t.Context()); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
		}
	}
}
