package log

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/engine"
)

func appendOne(t *testing.T, l *Log, tag string) Stored {
	t.Helper()
	r := engine.Record{Tag: tag, Payload: []byte("x")}
	n := l.Append(&r, time.Now().UnixNano())
	wait(t, l)
	return Stored{n, tag, Cost(&r)}
}

// expectRecords checks what is read, what State counts and what a Reader of a tag finds.
func expectRecords(t *testing.T, l *Log, tag string, want ...uint64) {
	t.Helper()
	read, lost := readAll(t, l)
	s := l.State()
	count, _ := l.Count(1, func(name string) bool { return name == tag })
	if len(read) != len(want) || len(lost) > 0 || s.Records != uint64(len(want)) || count != uint64(len(want)) {
		t.Errorf("records %d are read, %d lost, %d counted, %d of tag %s, want %d", read, lost, s.Records, count, tag, want)
	}
	r := l.Reader(1, func(name string) bool { return name == tag })
	defer r.Close()
	for _, n := range want {
		if v, err := r.Read(true); err != nil || v.Sequence() != n {
			t.Fatalf("a Reader of tag %s: record %d, %v, want record %d", tag, v.sequence, err, n)
		}
	}
}

// TestDiscardedNumbers: numbers that Discard has removed before they were given are not given after a restart, so that new records are not taken for removed ones.
func TestDiscardedNumbers(t *testing.T) {
	for _, records := range []int{0, 2} {
		for _, killed := range []bool{false, true} {
			d := newDisk()
			l := openDisk(t, d)
			var want []uint64
			for range records {
				want = append(want, appendOne(t, l, "b").Sequence)
			}
			l.Discard(Range{uint64(records) + 1, 9})
			wait(t, l)
			if last := l.State().Last; last != 9 {
				t.Errorf("the last number is %d after Discard up to 9, want 9", last)
			}
			for range 2 {
				if killed {
					d = kill(d, l)
				} else {
					if err := l.Close(t.Context()); err != nil {
						t.Fatal(err)
					}
					d = d.restart(true, nil)
				}
				l = openDisk(t, d)
			}
			if s := appendOne(t, l, "b"); s.Sequence != 10 {
				t.Errorf("killed %v: the next number is %d, want 10", killed, s.Sequence)
			}
			expectRecords(t, l, "b", append(want, 10)...)
			if err := l.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestFullDiskRemoval: a removal that found no room is either stored with the counts of the segment or not at all.
func TestFullDiskRemoval(t *testing.T) {
	d := newDisk()
	var full, asked atomic.Bool
	c := Config{Store: d, SegmentSize: 64 << 10, Room: func(int64) error {
		if !full.Load() {
			return nil
		}
		asked.Store(true)
		return errors.New("the disk is full")
	}}
	l, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	first := appendOne(t, l, "a")
	appendOne(t, l, "b")
	full.Store(true)
	if !l.Remove(first) {
		t.Fatal("Remove: false")
	}
	l.Commit(func(error) {})
	for !asked.Load() {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Close(ctx); err == nil {
		t.Fatal("Close: no error, though the disk is full")
	}
	l = openDisk(t, d.restart(true, nil))
	expectRecords(t, l, "b", 2)
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestKillBehindSeal: the process is killed when a segment is sealed, before the removals that its counts know are written to the next one.
func TestKillBehindSeal(t *testing.T) {
	d := newDisk()
	l, err := Open(Config{Store: d, SegmentSize: 4 << 10})
	if err != nil {
		t.Fatal(err)
	}
	first, second := appendOne(t, l, "a"), appendOne(t, l, "a")
	appendOne(t, l, "a")
	d.mu.Lock()
	d.failNames = 1 << 30
	d.mu.Unlock()
	if !l.Remove(first) || !l.Remove(second) {
		t.Fatal("Remove: false")
	}
	l.Append(&engine.Record{Tag: "a", Payload: make([]byte, 4<<10)}, 1)
	l.Commit(func(error) {})
	for l.State().Err == nil {
		time.Sleep(time.Millisecond)
	}
	l = openDisk(t, kill(d, l))
	expectRecords(t, l, "a", 3)
	if !removeOldest(l) {
		t.Error("the oldest record cannot be removed")
	}
	expectRecords(t, l, "a")
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestKnownRemoved removes the segments that Known is about to read.
func TestKnownRemoved(t *testing.T) {
	l, err := Open(Config{Store: newDisk(), SegmentSize: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	const records = 50
	for i := range records {
		l.Append(&engine.Record{Tag: "a", ID: fmt.Sprint(i), Payload: make([]byte, 100)}, 1)
		wait(t, l)
	}
	var last uint64
	err = l.Known(0, func(_, _ []byte, sequence uint64, _ int64) {
		last = sequence
		for range records/2 - int(l.State().First) {
			removeOldest(l)
		}
	})
	if err != nil || last != records {
		t.Errorf("Known: %v, up to record %d, want %d", err, last, records)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestFullDiskIDs: what is removed makes room on a full disk, though its IDs are wanted and find no room.
func TestFullDiskIDs(t *testing.T) {
	d := newDisk()
	var full atomic.Bool
	l, err := Open(Config{Store: d, SegmentSize: 1 << 10, IDsAfter: func() int64 { return 0 }, Room: func(int64) error {
		if names, _ := d.List(); full.Load() && len(names) > 1 {
			return errors.New("the disk is full")
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		l.Append(&engine.Record{Tag: "a", ID: fmt.Sprint(i), Payload: make([]byte, 100)}, 1)
		wait(t, l)
	}
	full.Store(true)
	for removeOldest(l) {
	}
	wait(t, l)
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// removeOldest removes the oldest record, and returns false if there is none.
func removeOldest(l *Log) (removed bool) {
	l.Trim(Bounds{Bytes: l.State().Bytes - 1}, func(Stored) { removed = true })
	return removed
}
