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

// TestUnsentBeforeBacklog: a tag is stored, then it is not, and the connection is lost. What that connection has not written precedes the
// messages that a caller waits for, and is not taken for them.
func TestUnsentBeforeBacklog(t *testing.T) {
	cn := &conn{}
	u := unstored{conn: cn}
	told := make(storedChan, 1)
	frame := native.AppendPub(nil, native.PubHeader{}, []byte("x"))
	u.add(frame, told)
	u.requeue(cn, nil) // it waits for the next connection
	u.conn = cn
	var unsent peer.Queue
	unsent.Push(frame, nil)
	u.requeue(cn, &unsent)
	u.conn, u.sent, u.backlog = cn, u.backlog, peer.Queue{}
	first := u.credit(cn, len(frame))
	first.tell()
	if len(told) != 0 {
		t.Error("the waiting message is settled by the CREDIT of another one")
	}
	second := u.credit(cn, len(frame))
	second.tell()
	if len(told) != 1 {
		t.Error("the waiting message is not settled")
	}
}
