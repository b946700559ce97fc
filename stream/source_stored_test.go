package stream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
	"example.com/ferry/stream"
)

func payload(s string) ferry.Message { return ferry.Message{Payload: []byte(s)} }

func (s *script) send(src *stream.Source, payloads ...string) {
	s.t.Helper()
	for _, p := range payloads {
		if err := src.Send(s.t.Context(), payload(p)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// sendStored calls SendStored on goroutines, one after the other, and returns the results.
func (s *script) sendStored(ctx context.Context, src *stream.Source, text string) <-chan error {
	s.t.Helper()
	result := make(chan error, 1)
	go func() { result <- src.SendStored(ctx, payload(text)) }()
	return result
}

// TestUnstoredMessagesAreSentAgain: what CREDIT has not confirmed is sent again on the next connection, in order, before newer messages.
func TestUnstoredMessagesAreSentAgain(t *testing.T) {
	s := newScript(t)
	src := s.source("orders/1", true)
	s.send(src, "a", "b", "c")
	size := s.pubs("a", "b", "c")
	if st := s.client.Stats(); st.Waiting != 3 || st.WaitingBytes != size {
		t.Errorf("%d messages with %d bytes wait, want 3 with %d", st.Waiting, st.WaitingBytes, size)
	}
	s.credit(native.PubHeaderSize) // a part of the first message confirms nothing
	s.credit(1)
	for s.client.Stats().Waiting != 2 {
		time.Sleep(time.Millisecond)
	}
	for range 2 {
		s.lose()
		s.grant(true)
		s.pubs("b", "c")
	}
	s.send(src, "d")
	s.credit(s.pubs("d") * 3)
	for s.client.Stats().Waiting > 0 {
		time.Sleep(time.Millisecond)
	}
	s.lose()
	s.grant(true)
	s.send(src, "e")
	s.pubs("e")
}

// TestOtherTagsAreNotSentAgain: a message on a tag that is not stored is sent at most once.
func TestOtherTagsAreNotSentAgain(t *testing.T) {
	s := newScript(t)
	src := s.source("a", false)
	s.send(src, "a")
	s.pubs("a")
	if n := s.client.Stats().Waiting; n != 0 {
		t.Errorf("%d messages wait, want none", n)
	}
	s.lose()
	s.grant(false)
	s.send(src, "b")
	s.pubs("b")
	if err := src.SendStored(t.Context(), payload("c")); !errors.Is(err, stream.ErrNotStored) {
		t.Errorf("SendStored: got %v, want ErrNotStored", err)
	}
}

// TestResendKeepsToTheWindow: the next connection has a smaller window than the messages that wait.
func TestResendKeepsToTheWindow(t *testing.T) {
	s := newScript(t)
	src := s.source("orders/1", true)
	s.send(src, "a", "b", "c")
	s.pubs("a", "b", "c")
	_ = s.node.conn.Close()
	s.accept(native.PubHeaderSize + 2) // a window for one message and a little more
	s.grant(true)
	first := s.pubs("a", "b")
	sent := make(chan error, 1)
	go func() { sent <- src.Send(t.Context(), payload("d")) }()
	s.node.write(native.AppendPing(nil, false, 7)) // the response shows that nothing else was sent
	s.node.expect(native.Ping)
	s.credit(first)
	s.credit(s.pubs("c"))
	s.pubs("d")
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func TestSendStored(t *testing.T) {
	s := newScript(t)
	src := s.source("orders/1", true)
	a := s.sendStored(t.Context(), src, "a")
	sizeA := s.pubs("a")
	b := s.sendStored(t.Context(), src, "b")
	sizeB := s.pubs("b")
	c := s.sendStored(t.Context(), src, "c")
	sizeC := s.pubs("c")
	s.credit(sizeA)
	if err := <-a; err != nil {
		t.Errorf("stored: got %v", err)
	}
	s.node.write(native.AppendNotice(nil, native.NoticeFrame{Tag: 5, Count: 1, Code: native.CodeInvalid, Reason: "not json"}))
	s.credit(sizeB + sizeC)
	var e *native.Error
	if err := <-b; !errors.As(err, &e) || e.Code != native.CodeInvalid {
		t.Errorf("dropped: got %v", err)
	}
	if err := <-c; err != nil {
		t.Errorf("stored behind a dropped one: got %v", err)
	}
	s.flushed(nil)
}

// flushed calls Flush, whose PING the node confirms at once.
func (s *script) flushed(want error) {
	s.t.Helper()
	result := make(chan error, 1)
	go func() { result <- s.client.Flush(s.t.Context()) }()
	s.pong()
	if err := <-result; !errors.Is(err, want) {
		s.t.Errorf("Flush: got %v, want %v", err, want)
	}
}

// pong responds to a PING.
func (s *script) pong() {
	s.t.Helper()
	ping, err := native.ParsePing(s.node.expect(native.Ping))
	if err != nil {
		s.t.Fatal(err)
	}
	s.node.write(native.AppendPing(nil, true, ping))
}

// TestFlushNamesDroppedMessages: messages of Send that the node drops are for Flush.
func TestFlushNamesDroppedMessages(t *testing.T) {
	s := newScript(t)
	src := s.source("orders/1", true)
	s.send(src, "a", "b", "c")
	size := s.pubs("a", "b", "c")
	s.node.write(native.AppendNotice(nil, native.NoticeFrame{Tag: 5, Count: 2, Code: native.CodeInvalid, Reason: "not json"}))
	s.credit(size)
	result := make(chan error, 1)
	go func() { result <- s.client.Flush(t.Context()) }()
	s.pong()
	if err := <-result; err == nil || !strings.Contains(err.Error(), "2 messages on tag orders/1 were dropped") {
		t.Errorf("got %v", err)
	}
}

// TestFlushWaitsForTheStorage: Flush goes on when the connection is lost, and its error says why the storage waits.
func TestFlushWaitsForTheStorage(t *testing.T) {
	s := newScript(t)
	src := s.source("orders/1", true)
	s.send(src, "a")
	s.pubs("a")
	result := make(chan error, 1)
	go func() { result <- s.client.Flush(t.Context()) }()
	s.node.expect(native.Ping)
	s.lose()
	s.grant(true)
	s.credit(s.pubs("a"))
	if err := <-result; err != nil {
		t.Errorf("after a lost connection: got %v", err)
	}

	s.send(src, "b")
	s.pubs("b")
	s.node.write(native.AppendNotice(nil, native.NoticeFrame{Tag: 5, Code: native.CodeLimit, Reason: "disk full"}))
	for s.client.Stats().WaitingFor == "" {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	c := s.sendStored(ctx, src, "c")
	for _, err := range []error{s.client.Flush(ctx), <-c} {
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "disk full") || !strings.Contains(err.Error(), "orders/1") {
			t.Errorf("while the disk is full: got %v", err)
		}
	}
}

// TestRefusedTagDropsWhatWaits: the node does not grant the tag on the next connection. Neither message is lost silently.
func TestRefusedTagDropsWhatWaits(t *testing.T) {
	told := make(chan *stream.DroppedError, 1)
	s := newScriptWith(t, stream.Config{OnDropped: func(err *stream.DroppedError) { told <- err }})
	src := s.source("orders/1", true)
	a := s.sendStored(t.Context(), src, "a")
	s.pubs("a")
	s.send(src, "b")
	s.pubs("b")
	s.lose()
	tag, err := native.ParseTag(s.node.expect(native.Tag))
	if err != nil {
		t.Fatal(err)
	}
	s.node.write(native.AppendResult(nil, native.ResultFrame{Kind: native.Tag, Ref: tag.Ref, Code: native.CodeForbidden, Reason: "no"}))
	var e *native.Error
	if err := <-a; !errors.As(err, &e) || e.Code != native.CodeForbidden {
		t.Errorf("SendStored: got %v", err)
	}
	if d := <-told; d.Tag != "orders/1" || d.Messages != 1 || !errors.As(d, &e) || e.Code != native.CodeForbidden {
		t.Errorf("OnDropped: got %+v", d)
	}
	if n := s.client.Stats().Dropped; n != 1 {
		t.Errorf("%d messages count as dropped, want the one whose Send has returned", n)
	}
	result := make(chan error, 1)
	go func() { result <- s.client.Flush(t.Context()) }()
	s.pong()
	if err := <-result; err == nil || !strings.Contains(err.Error(), "1 messages on tag orders/1 were dropped") {
		t.Errorf("Flush: got %v", err)
	}
}

// TestManyDropped: Flush names some drops, and counts the others.
func TestManyDropped(t *testing.T) {
	s := newScript(t)
	src := s.source("events", false)
	for i := range 20 {
		s.send(src, "a")
		s.pubs("a")
		s.node.write(native.AppendNotice(nil, native.NoticeFrame{Tag: 5, Count: 2, Code: native.CodeInvalid, Reason: fmt.Sprint("reason ", i)}))
	}
	s.node.write(native.AppendNotice(nil, native.NoticeFrame{Tag: native.ByName, Count: 5, Code: native.CodeInvalid}))
	result := make(chan error, 1)
	go func() { result <- s.client.Flush(t.Context()) }()
	s.pong()
	if err := <-result; err == nil || !strings.Contains(err.Error(), "reason 15\n") || !strings.HasSuffix(err.Error(), "13 more messages were dropped") {
		t.Errorf("Flush: got %v", err)
	}
	if n := s.client.Stats().Dropped; n != 45 {
		t.Errorf("%d messages count as dropped, want 45", n)
	}
}

func TestCloseNamesUnstoredMessages(t *testing.T) {
	s := newScript(t)
	src := s.source("orders/1", true)
	s.send(src, "a")
	s.pubs("a")
	result := make(chan error, 1)
	go func() { result <- s.client.Close() }()
	s.pong()
	s.node.expect(native.Goaway)
	_ = s.node.conn.Close()
	if err := <-result; err == nil || !strings.Contains(err.Error(), "1 messages") {
		t.Errorf("got %v", err)
	}
}

// TestShutdownWaitsForTheStorage: Shutdown waits until the messages are stored, on a new connection if the current one is lost.
func TestShutdownWaitsForTheStorage(t *testing.T) {
	s := newScript(t)
	src := s.source("orders/1", true)
	s.send(src, "a", "b")
	s.pubs("a", "b")
	result := make(chan error, 1)
	go func() { result <- s.client.Shutdown(t.Context()) }()
	s.node.expect(native.Ping)
	s.lose()
	s.grant(true)
	s.credit(s.pubs("a", "b"))
	s.pong()
	s.node.expect(native.Goaway)
	_ = s.node.conn.Close()
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// TestShutdownEndsWithItsContext: the node never stores the message, and is silent or away.
func TestShutdownEndsWithItsContext(t *testing.T) {
	for _, away := range []bool{false, true} {
		s := newScript(t)
		src := s.source("orders/1", true)
		s.send(src, "a")
		s.pubs("a")
		if away {
			_ = s.l.Close()
			_ = s.node.conn.Close()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		result := make(chan error, 1)
		go func() { result <- s.client.Shutdown(ctx) }()
		select {
		case err := <-result:
			if err == nil || !strings.Contains(err.Error(), "1 messages") {
				t.Errorf("away %v: got %v", away, err)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("away %v: Shutdown has not returned after 30 s", away)
		}
	}
}

func TestKeyAndID(t *testing.T) {
	s := newScript(t)
	src := s.source("orders/1", true)
	m := ferry.Message{Payload: []byte("x"), Key: []byte("k"), ID: "o-1"}
	if err := src.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	f := s.node.expect(native.Pub)
	key, _ := native.Entry(f.Extension(), native.TLVKey)
	id, _ := native.Entry(f.Extension(), native.TLVID)
	if string(key) != "k" || string(id) != "o-1" || string(f.Payload()) != "x" {
		t.Errorf("got key %q, ID %q, payload %q", key, id, f.Payload())
	}
	m.Key = bytes.Repeat([]byte("k"), native.MaxKey+1)
	if err := src.Send(t.Context(), m); err == nil || !strings.Contains(err.Error(), "256 bytes") {
		t.Errorf("a key that is too long: got %v", err)
	}
}
