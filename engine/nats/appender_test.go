package nats

import (
	"errors"
	"sync"
	"testing"
	"time"

	"example.com/ferry/engine"
)

// TestDoneInOrderAtTheEnd: done is called in the order of the calls of Append also while the stream is deleted, and never twice at a time.
func TestDoneInOrderAtTheEnd(t *testing.T) {
	r := newRig(t)
	const calls = 4000
	var mu sync.Mutex
	order, busy := make([]int, 0, calls), false
	all := make(chan struct{})
	for i := range calls {
		if i == calls/2 {
			go func() { _ = r.e.Delete(t.Context(), "orders") }()
		}
		r.s.Append([]engine.Record{{Tag: "orders/a", Payload: []byte("x")}}, func(err error) {
			mu.Lock()
			if busy {
				t.Error("two calls of done overlap")
			}
			busy = true
			order = append(order, i)
			last := len(order) == calls
			mu.Unlock()
			if err != nil && !errors.Is(err, engine.ErrNoStream) && !errors.Is(err, engine.ErrClosed) {
				t.Errorf("call %d: %v", i, err)
			}
			mu.Lock()
			busy = false
			mu.Unlock()
			if last {
				close(all)
			}
		})
		if i > calls/2 && i%20 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	select {
	case <-all:
	case <-time.After(patience):
		t.Fatal("done is missing")
	}
	for want, got := range order {
		if got != want {
			t.Fatalf("done of call %d comes when that of call %d is due", got, want)
		}
	}
}
