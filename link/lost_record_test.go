package link_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/link"
	"example.com/ferry/link/spool"
)

// atEnd is a store that calls empty once, when a read finds nothing.
type atEnd struct {
	*store
	empty func()
}

func (s *atEnd) TryRead(n int) ([]spool.Record, error) {
	batch, err := s.store.TryRead(n)
	if empty := s.empty; empty != nil && len(batch) == 0 {
		s.empty = nil
		empty()
	}
	return batch, err
}

// TestDisconnectDuringARead: a read finds that the last record is lost, and the connection ends before the read has returned. The records before it were sent
// and not confirmed, so the next connection sends them again.
func TestDisconnectDuringARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &atEnd{store: &store{max: 1000}}
		box := link.New(s, link.Config{Memory: 1 << 20, SafeWithin: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
		for _, m := range []string{"a 1", "a 2", "a 3", "a 4"} {
			push(box, m) // each has a record of its own
		}
		s.mu.Lock()
		s.records = s.records[:len(s.records)-1]
		s.mu.Unlock()
		first, second := &wire{credit: map[string]int{}}, &wire{credit: map[string]int{}}
		s.empty = func() { box.Detach(first) }
		box.Attach(first)
		synctest.Wait()
		time.Sleep(time.Second)
		box.Attach(second)
		time.Sleep(time.Second)
		synctest.Wait()
		if len(first.got) != 3 || len(second.got) != 3 {
			t.Errorf("the connections got %q and %q, want a 1 to a 3 each", first.got, second.got)
		}
		if left := s.has(); len(left) != 3 {
			t.Errorf("the store has %v, want what is not confirmed", left)
		}
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestDamageDuringADisconnect: a read finds damage, and the connection ends before the read has returned. The damage is logged: the store does
// not tell it again.
func TestDamageDuringADisconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := &atEnd{store: &store{max: 1000}}
		box := link.New(s, link.Config{Memory: 1 << 20, SafeWithin: 100 * time.Millisecond, Log: slog.New(slog.NewTextHandler(&out, nil))})
		push(box, "a 1")
		s.damage(0)
		w := &wire{}
		s.empty = func() { box.Detach(w) }
		box.Attach(w)
		synctest.Wait()
		if err := box.Close(); err != nil {
			t.Error(err)
		}
		if n := strings.Count(out.String(), "messages 1 to 1 are lost"); n != 1 {
			t.Errorf("the damage is logged %d times: %s", n, out.String())
		}
	})
}
