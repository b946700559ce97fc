package link_test

import (
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry"
	"example.com/ferry/link"
	"example.com/ferry/protocol/native"
)

// newBox returns an Outbox whose publishers wait.
func newBox(t *testing.T, s link.Store) *link.Outbox {
	box := link.New(s, link.Config{BlockWhenFull: true, Memory: 1 << 20, SafeWithin: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box
}

// push publishes messages such as "a 1" on the tag before the space, and waits until the Outbox has nothing to do.
func push(box *link.Outbox, messages ...string) {
	for _, m := range messages {
		box.Lock()
		box.Push(m[:1], nil, nil, native.AppendPub(nil, native.PubHeader{Tag: 1, Time: 1}, []byte(m)), 1, nil)
	}
	synctest.Wait()
}

// TestOvertake: messages of a tag are on a disk that fails, and others of it wait behind them in memory. Those of another tag pass, though the
// connection was lost before they were confirmed.
func TestOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{max: 1000}
		box := newBox(t, s)
		push(box, "a 1")
		s.fail(errRead, errWrite, false, 1000)
		first, second := &wire{}, &wire{}
		box.Attach(first)
		synctest.Wait()
		push(box, "b 1", "a 2")
		box.Detach(first)
		push(box, "b 2", "a 3")
		box.Attach(second)
		synctest.Wait()
		push(box, "b 3")
		if want := []string{"b 1", "b 2", "b 3"}; !slices.Equal(second.got, want) {
			t.Errorf("while the disk fails, %q are sent, want %q", second.got, want)
		}
		s.fail(nil, nil, false, 1000)
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []string{"b 1", "b 2", "b 3", "a 1", "a 2", "a 3"}; !slices.Equal(second.got, want) {
			t.Errorf("when the disk can be read, %q are sent, want %q", second.got, want)
		}
		box.Lock()
		total, _ := box.Sent(second)
		box.Unlock()
		box.Confirmed(second, total)
	})
}

// watched is a store that notes when it is written to.
type watched struct {
	*store
	start time.Time
	at    []time.Duration
}

func (s *watched) TryAppend(m *ferry.Message) (uint64, error) {
	s.at = append(s.at, time.Since(s.start))
	return s.store.TryAppend(m)
}

// TestRetries: a write that fails is tried again after 1 s, and then after pauses that double up to 30 s.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &watched{store: &store{max: 1000}, start: time.Now()}
		s.fail(nil, errWrite, false, 1000)
		box := newBox(t, s)
		push(box, "a 1")
		time.Sleep(100 * time.Second)
		synctest.Wait()
		var seconds []int
		for _, d := range s.at {
			seconds = append(seconds, int(d/time.Second))
		}
		if want := []int{0, 1, 3, 7, 15, 31, 61, 91}; !slices.Equal(seconds, want) {
			t.Errorf("attempts at %v, want %v s", s.at, want)
		}
		s.fail(nil, nil, false, 1000)
	})
}
