package log

import (
	"context"
	"errors"
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

// TestForgotten: a group that may not be written again fails alone, though another one gathers meanwhile, and later ones are stored. It is
// read neither before nor after a restart, also if nothing was written behind it.
func TestForgotten(t *testing.T) {
	for _, want := range [][]uint64{{1}, {1, 3}} {
		for _, how := range []string{"closed", "killed", "power"} {
			d := newDisk()
			l, err := Open(Config{Store: d, SegmentSize: 64 << 10, Retry: -1})
			if err != nil {
				t.Fatal(err)
			}
			put := func() <-chan error {
				done := make(chan error, 1)
				l.Put(&engine.Record{Tag: "a", Payload: []byte("x")}, 1, func(err error) { done <- err })
				return done
			}
			if err := <-put(); err != nil {
				t.Fatal(err)
			}
			var third <-chan error
			d.mu.Lock()
			d.failSyncs = 1
			d.beforeSync = func() {
				if third == nil && len(want) > 1 {
					third = put()
				}
			}
			d.mu.Unlock()
			if err := <-put(); !errors.Is(err, errBroken) {
				t.Errorf("the second record: %v, want %v", err, errBroken)
			}
			if third != nil && <-third != nil {
				t.Error("the third record is not stored")
			}
			expectRecords(t, l, "a", want...)
			if how == "closed" {
				if err := l.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			next := d.restart(how == "power", nil)
			kill(d, l)
			l = openDisk(t, next)
			expectRecords(t, l, "a", want...)
			if s := appendOne(t, l, "a"); s.Sequence <= want[len(want)-1] {
				t.Errorf("%s: the next number is %d behind %d", how, s.Sequence, want)
			}
			if err := l.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestTornBehindForgotten: a process is killed while it writes the first record behind a forgotten one. What is read is the records that are whole,
// and no number is reported as lost.
func TestTornBehindForgotten(t *testing.T) {
	d := newDisk()
	l, err := Open(Config{Store: d, SegmentSize: 64 << 10, Retry: -1})
	if err != nil {
		t.Fatal(err)
	}
	appendOne(t, l, "a")
	d.failWrites = 1
	done := make(chan error, 1)
	l.Put(&engine.Record{Tag: "a"}, 1, func(err error) { done <- err })
	if err := <-done; !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want %v", err, errBroken)
	}
	appendOne(t, l, "a")
	next := kill(d, l)
	names, err := next.List()
	if err != nil || len(names) != 2 {
		t.Fatalf("files %q, %v, want two", names, err)
	}
	whole := next.files[names[1]].data
	for cut := range whole {
		torn := next.restart(false, nil)
		torn.files[names[1]].data = whole[:cut]
		l := openDisk(t, torn)
		if read, lost := readAll(t, l); len(read) != 1 || len(lost) > 0 {
			t.Fatalf("cut at %d of %d: records %v are read, and %v are lost, want record 1", cut, len(whole), read, lost)
		}
		kill(torn, l)
	}
}

// TestOpenFullDisk: the process before has not sealed its last segment, and this one cannot. It reads what is there, gives no number again, and
// stores more when there is room.
func TestOpenFullDisk(t *testing.T) {
	for _, interval := range []time.Duration{0, time.Hour} {
		d := newDisk()
		l, err := Open(Config{Store: d, SegmentSize: 64 << 10, Interval: interval})
		if err != nil {
			t.Fatal(err)
		}
		appendOne(t, l, "a")
		last := appendOne(t, l, "a").Sequence
		for range 2 {
			d = kill(d, l)
			d.failWrites = 1
			l = openDisk(t, d)
			if d.failWrites > 0 {
				t.Fatal("Open has written nothing")
			}
			expectRecords(t, l, "a", 1, 2)
		}
		s := appendOne(t, l, "a").Sequence
		if s <= last || interval > 0 && s <= reserveStep {
			t.Errorf("number %d is given, and may be another record's", s)
		}
		l = openDisk(t, kill(d, l))
		expectRecords(t, l, "a", 1, 2, s)
		if _, lost := readAll(t, l); len(lost) > 0 {
			t.Errorf("%v are lost", lost)
		}
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPowerLostBehindKill: without syncs, a process is killed when it has written the summary of a segment, and has not synced it. Its successor
// writes more, and the power fails: that takes nothing of the older segment.
func TestPowerLostBehindKill(t *testing.T) {
	d := newDisk()
	l, err := Open(Config{Store: d, SegmentSize: 64 << 10, Interval: -1})
	if err != nil {
		t.Fatal(err)
	}
	appendOne(t, l, "a")
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	d = d.restart(false, nil)
	only(t, d).synced = nil
	l, err = Open(Config{Store: d, SegmentSize: 64 << 10, Interval: -1})
	if err != nil {
		t.Fatal(err)
	}
	appendOne(t, l, "a")
	next := d.restart(true, nil)
	kill(d, l)
	l = openDisk(t, next)
	expectRecords(t, l, "a", 1)
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
