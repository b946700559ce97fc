package exchange

import (
	"bytes"
	"testing"

	"example.com/ferry/loop"
)

// TestReplayMemory: the loop counts the memory of a kept body until the body is forgotten. While the loop is crowded, a body that
// needs more memory is not kept. The head stays in any case.
func TestReplayMemory(t *testing.T) {
	onLoop(t, func(l *loop.Loop, _ *Plan) {
		l.SetQueueMemory(0) // the loop is crowded as soon as a byte is counted
		keep := func() *ReplayBuffer {
			r := &ReplayBuffer{loop: l}
			r.Reset()
			r.KeepHead([]byte("head"))
			r.Whole = true
			r.KeepBody([]byte("small"))
			if l.Crowded() {
				t.Error("a small body is counted")
			}
			r.KeepBody(make([]byte, 4000))
			if !r.Whole || !l.Crowded() {
				t.Errorf("whole: %v, counted: %v, want a body that is kept and counted", r.Whole, l.Crowded())
			}
			return r
		}
		r := keep()
		r.Reset()
		if l.Crowded() {
			t.Error("memory is counted after Reset")
		}
		r = keep()
		r.KeepBody(make([]byte, 10))
		if !r.Whole {
			t.Error("a body is dropped although it needs no more memory")
		}
		r.KeepBody(make([]byte, 4000))
		if r.Whole || l.Crowded() || len(r.Body()) != 0 || !bytes.Equal(r.Head(), []byte("head")) {
			t.Errorf("whole: %v, counted: %v, head %q, %d bytes of body, want only the head", r.Whole, l.Crowded(), r.Head(), len(r.Body()))
		}
	})
}
