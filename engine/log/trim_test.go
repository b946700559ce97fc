package log

import (
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/engine"
)

// TestTrimDuringFailure: the sync of an interval fails, so the oldest record is written again. Trim removes it when it is back.
func TestTrimDuringFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		l, err := Open(Config{Store: d, SegmentSize: 64 << 10, Interval: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		var removed []uint64
		trim := func(from int64) int64 {
			return l.Trim(Bounds{From: from}, func(s Stored) { removed = append(removed, s.Sequence) })
		}
		for at := int64(1); at <= 2; at++ { // the first one is synced with its segment
			l.Append(&engine.Record{Tag: "a"}, at)
			wait(t, l)
		}
		if oldest := trim(2); oldest != 2 {
			t.Fatalf("the oldest record was stored at %d, want 2", oldest)
		}
		d.mu.Lock()
		d.failSyncs = 1
		d.mu.Unlock()
		time.Sleep(time.Second + retryAfter/2)
		if l.State().Err == nil {
			t.Fatal("no sync has failed")
		}
		trim(3)
		time.Sleep(time.Minute)
		trim(3)
		if s := l.State(); len(removed) != 2 || removed[1] != 2 || s.Records != 0 || s.Bytes != 0 {
			t.Errorf("removed %v, left %+v, want records 1 and 2 to be removed", removed, s)
		}
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// TestIdleBuffers: a Log that has nothing to write keeps no large buffer, not even those of two groups that took turns, and no long list of
// what they had.
func TestIdleBuffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		l, err := Open(Config{Store: d, SegmentSize: 64 << 20, Stored: func([]Stored) {}})
		if err != nil {
			t.Fatal(err)
		}
		const records = 4096
		left := 4
		appendLarge := func() {
			if left--; left >= 0 {
				for range records {
					l.Append(&engine.Record{Tag: "a", Payload: make([]byte, 100)}, 1)
				}
				l.Commit(func(error) {})
			}
		}
		d.beforeSync = appendLarge // while another group is written
		appendLarge()
		synctest.Wait()
		if n := l.State().Records; n != 4*records {
			t.Fatalf("%d records, want %d", n, 4*records)
		}
		l.mu.Lock()
		for _, g := range []*group{l.gathering, l.spare} {
			if g != nil && cap(g.buf) > maxIdle {
				t.Errorf("a buffer of %d bytes is kept, at most %d are wanted", cap(g.buf), maxIdle)
			}
		}
		if n := cap(l.indexed); n > maxIndexed {
			t.Errorf("a list of %d records is kept, at most %d are wanted", n, maxIndexed)
		}
		l.mu.Unlock()
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
