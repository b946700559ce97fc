package log

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/engine"
)

// TestNumbersAfterFailedSync: with an interval, numbers that were delivered are not given again, though their sync failed and the power
// fails before the sync of the next segment.
func TestNumbersAfterFailedSync(t *testing.T) {
	for _, removed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := newDisk()
			l, err := Open(Config{Store: d, Interval: time.Second, SegmentSize: 64 << 10})
			if err != nil {
				t.Fatal(err)
			}
			first := appendOne(t, l, "a") // it is synced at once, with its segment
			last := appendOne(t, l, "a")
			if n := l.State().Last; n != last.Sequence {
				t.Fatalf("the last record is %d, want %d: it is delivered before its sync", n, last.Sequence)
			}
			d.mu.Lock()
			d.failSyncs = 1 << 30
			d.beforeSync = func() {
				if removed && segments(l) == 2 {
					l.Remove(first)
				}
			}
			d.mu.Unlock()
			time.Sleep(time.Minute)
			next := d.restart(true, nil)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_ = l.Close(ctx) // its disk is gone
			l = openDisk(t, next)
			if s := appendOne(t, l, "a"); s.Sequence <= last.Sequence {
				t.Errorf("removed %v: number %d is given again, %d was delivered", removed, s.Sequence, last.Sequence)
			}
			if err := l.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func segments(l *Log) int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.segments)
}

// TestNumbersAfterRemovedSegment: the last older segment becomes empty while the first sync of the next one fails, and the process is
// killed. Numbers that were given are not given again.
func TestNumbersAfterRemovedSegment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		l, err := Open(Config{Store: d, SegmentSize: 4 << 10})
		if err != nil {
			t.Fatal(err)
		}
		first := appendOne(t, l, "a")
		d.mu.Lock()
		d.beforeSync = func() {
			if segments(l) == 2 && l.Remove(first) {
				d.mu.Lock()
				d.failSyncs = 1
				d.mu.Unlock()
			}
		}
		d.mu.Unlock()
		l.Append(&engine.Record{Tag: "a", Payload: make([]byte, 4<<10)}, 1)
		l.Commit(func(error) {})
		synctest.Wait() // it waits to try again
		if l.State().Err == nil {
			t.Fatal("no sync has failed")
		}
		l = openDisk(t, kill(d, l))
		if s := appendOne(t, l, "a"); s.Sequence <= first.Sequence {
			t.Errorf("number %d is given again, the last was %d", s.Sequence, first.Sequence)
		}
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// TestEmptySegmentGoes: a segment that became empty is removed when the next one is on the disk.
func TestEmptySegmentGoes(t *testing.T) {
	d := newDisk()
	l, err := Open(Config{Store: d, SegmentSize: 4 << 10})
	if err != nil {
		t.Fatal(err)
	}
	first := appendOne(t, l, "a")
	d.mu.Lock()
	d.beforeSync = func() { l.Remove(first) }
	d.mu.Unlock()
	l.Append(&engine.Record{Tag: "a", Payload: make([]byte, 4<<10)}, 1)
	wait(t, l)
	names, err := d.List()
	if err != nil || slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, fmt.Sprintf("%020d-", first.Sequence)) }) {
		t.Errorf("files %q, %v, want none that begins with record %d", names, err, first.Sequence)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
