package stream

import (
	"testing"

	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
	"example.com/ferry/transport/memory"
)

// TestResumeOnAClosingConnection: a source gets its grant while the connection is closing. It stores its unsent
// messages for the next connection.
func TestResumeOnAClosingConnection(t *testing.T) {
	network := memory.New(nil)
	l, err := network.Listen(t.Context(), "node")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	raw, err := network.Dial(t.Context(), "node")
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	cn := &conn{peer: peer.New(raw, peer.Config{Remote: "node"}), window: 1 << 20}
	s := &Source{tag: "a", changed: make(chan struct{})}
	var unsent peer.Queue
	unsent.Push(native.AppendPub(nil, native.PubHeader{}, []byte("x")), nil)
	s.unstored.requeue(nil, &unsent)
	cn.peer.Control().Close()
	s.resume(cn, 7, false)
	if _, messages, _, _ := s.unstored.state(); messages != 1 || s.grant.Load() != nil {
		t.Errorf("%d messages are kept, grant %v: want one message and no grant", messages, s.grant.Load())
	}
}
