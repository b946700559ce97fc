package stream

import (
	"context"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
)

// TestPoolStartsAWorkerForEachInbox: two inboxes become active before the waiting worker has woken up. A second worker handles
// the second inbox, even if the first handler waits for it.
func TestPoolStartsAWorkerForEachInbox(t *testing.T) {
	for range 200 {
		second := make(chan struct{})
		waited := make(chan bool, 1)
		handler := Sink(func(_ context.Context, in *ferry.Message) error {
			switch in.Tag {
			case "first":
				select {
				case <-second:
					waited <- true
				case <-time.After(time.Minute):
					waited <- false
				}
			case "second":
				close(second)
			}
			return nil
		})
		p := newPool(&Client{ctx: t.Context()}, &Function{Handler: handler, Concurrency: 2})
		push := func(tag string) {
			in := &inbox{pool: p, tag: tag, credit: &creditReturn{window: p.window}}
			in.push(native.AppendPub(nil, native.PubHeader{}, nil), nil)
		}
		push("starts a worker")
		for waiting := 0; waiting == 0; time.Sleep(10 * time.Microsecond) {
			p.mu.Lock()
			waiting = p.waiting
			p.mu.Unlock()
		}
		push("first")
		push("second")
		ok := <-waited
		p.stop()
		if !ok {
			t.Fatal("the second inbox was not handled while the first handler ran")
		}
	}
}
