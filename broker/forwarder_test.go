package broker_test

import (
	"sync"
	"testing"
	"time"

	"example.com/ferry/broker"
	internalpeer "example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// fullForwarder is a Forwarder that never has room.
type fullForwarder struct {
	mu    sync.Mutex
	rooms int // calls of AwaitRoom that were not cancelled
}

func (f *fullForwarder) Tag(string) broker.ForwardedTag { return f }
func (f *fullForwarder) Await(_ uint64, done func())    { done() }
func (f *fullForwarder) Full() bool                     { return true }

func (f *fullForwarder) Forward([]byte, int, *native.Path, broker.Origin, *internalpeer.Unflushed) (position uint64, full bool) {
	return 0, true
}

func (f *fullForwarder) AwaitRoom(func()) (cancel func()) {
	f.add(1)
	return func() { f.add(-1) }
}

func (f *fullForwarder) add(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rooms += n
}

func (f *fullForwarder) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rooms
}

// TestLeavingAFullForwarder: a Forwarder keeps nothing for publishers that leave before it has room.
func TestLeavingAFullForwarder(t *testing.T) {
	b, addr := serve(t, broker.Config{})
	f := &fullForwarder{}
	b.SetForwarders([]broker.Forwarder{f})
	for range 5 {
		p := greet(t, addr)
		p.write(native.AppendTag(nil, native.TagFrame{Ref: 1, Name: "x"}))
		p.settled()
		if n := f.count(); n != 1 {
			t.Fatalf("%d publishers await room, want 1", n)
		}
		_ = p.conn.Close()
		for end := time.Now().Add(20 * time.Second); f.count() > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the Forwarder keeps a publisher that has left")
			}
		}
	}
}
