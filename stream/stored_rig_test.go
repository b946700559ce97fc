package stream_test

import (
	"fmt"
	"testing"

	"example.com/ferry/protocol/native"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
)

// script is a client whose node is written frame by frame.
type script struct {
	t      *testing.T
	l      transport.Listener
	client *stream.Client
	node   *scriptedNode
}

// newScript connects a client to a scripted node of version 2.
func newScript(t *testing.T) *script {
	t.Helper()
	return newScriptWith(t, stream.Config{})
}

// newScriptWith is newScript with a configuration of the client.
func newScriptWith(t *testing.T, cfg stream.Config) *script {
	t.Helper()
	network := memory.New(nil)
	l, err := network.Listen(t.Context(), "node")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s := &script{t: t, l: l}
	clients := make(chan *stream.Client, 1)
	go func() {
		c, err := stream.Dial(t.Context(), network, "node", quiet(&cfg))
		if err != nil {
			t.Error(err)
		}
		clients <- c
	}()
	s.accept(1 << 20)
	if s.client = <-clients; s.client == nil {
		t.FailNow()
	}
	t.Cleanup(func() {
		_ = s.node.conn.Close()
		_ = l.Close()
		_ = s.client.Close()
	})
	return s
}

// accept welcomes the client's next connection.
func (s *script) accept(window uint32) {
	s.t.Helper()
	s.node = welcomeWith(s.t, s.l, native.WelcomeFrame{Version: 2, Source: 1, MaxFrame: 1 << 20, Window: window, Heartbeat: 60_000})
}

// lose ends the connection and welcomes the next one.
func (s *script) lose() {
	s.t.Helper()
	_ = s.node.conn.Close()
	s.accept(1 << 20)
}

// source returns the client's source of a tag, which the node grants as stored or not.
func (s *script) source(tag string, stored bool) *stream.Source {
	s.t.Helper()
	sources := make(chan *stream.Source, 1)
	go func() {
		src, err := s.client.Source(s.t.Context(), tag)
		if err != nil {
			s.t.Error(err)
		}
		sources <- src
	}()
	s.grant(stored)
	src := <-sources
	if src == nil {
		s.t.FailNow()
	}
	return src
}

// grant reads a TAG and grants it with number 5.
func (s *script) grant(stored bool) {
	s.t.Helper()
	tag, err := native.ParseTag(s.node.expect(native.Tag))
	if err != nil {
		s.t.Fatal(err)
	}
	s.node.write(native.AppendResult(nil, native.ResultFrame{Kind: native.Tag, Ref: tag.Ref, Value: 5, Stored: stored}))
}

func (s *script) credit(n int) {
	s.t.Helper()
	s.node.write(native.AppendCredit(nil, native.CreditFrame{Tag: 5, Bytes: uint32(n)}))
}

// pubs reads PUBs with these payloads and returns their length.
func (s *script) pubs(payloads ...string) (size int) {
	s.t.Helper()
	for _, want := range payloads {
		f := s.node.expect(native.Pub)
		if string(f.Payload()) != want || f.Tag() != 5 {
			s.t.Fatalf("got %q on tag %d, want %q on 5", f.Payload(), f.Tag(), want)
		}
		size += len(f)
	}
	return size
}

// start starts a function, whose SUB the node accepts.
func (s *script) start(f stream.Function) (*stream.Running, native.SubFrame) {
	s.t.Helper()
	started := make(chan *stream.Running, 1)
	go func() {
		r, err := s.client.Start(s.t.Context(), f)
		if err != nil {
			s.t.Error(err)
		}
		started <- r
	}()
	sub := s.subscribed(30_000)
	r := <-started
	if r == nil {
		s.t.FailNow()
	}
	return r, sub
}

// subscribed reads a SUB and accepts it. The client has ackWait milliseconds for each message.
func (s *script) subscribed(ackWait uint32) native.SubFrame {
	s.t.Helper()
	sub, err := native.ParseSub(s.node.expect(native.Sub))
	if err != nil {
		s.t.Fatal(err)
	}
	s.node.write(native.AppendResult(nil, native.ResultFrame{Kind: native.Sub, Ref: sub.ID, Value: ackWait, Stored: true}))
	s.node.write(native.AppendSelect(nil, sub.ID))
	return sub
}

// message is a message of a stream.
type message struct {
	sequence uint64
	tag, key string
	before   uint32 // deliveries
}

func (m message) frame() []byte {
	var extension []byte
	if m.key != "" {
		extension = native.AppendTLV(nil, native.TLVKey, m.key)
	}
	if m.tag == "" {
		m.tag = "orders/1"
	}
	return native.AppendStoredPub(nil, native.PubHeader{Time: 1}, native.Stored{Tag: m.tag, Sequence: m.sequence, Deliveries: m.before}, extension, fmt.Append(nil, m.sequence))
}

// deliver writes messages in one piece.
func (s *script) deliver(all ...message) {
	s.t.Helper()
	var b []byte
	for _, m := range all {
		b = append(b, m.frame()...)
	}
	s.node.write(b)
}

// fates reads ACKs and NAKs of n messages and returns them as text.
func (s *script) fates(n int) map[uint64]string {
	s.t.Helper()
	all := map[uint64]string{}
	add := func(ranges []byte, fate string) {
		for r := range native.RangesOf(ranges) {
			for i := range uint64(r.Count) {
				if was, ok := all[r.First+i]; ok {
					s.t.Fatalf("message %d is %s, and was %s before", r.First+i, fate, was)
				}
				all[r.First+i] = fate
			}
		}
	}
	for len(all) < n {
		f := s.node.next()
		switch f.Kind() {
		case native.Ack:
			v, err := native.ParseAck(f)
			if err != nil || v.InProgress {
				s.t.Fatalf("got %+v, %v", v, err)
			}
			add(v.Ranges, "done")
		case native.Nak:
			v, err := native.ParseNak(f)
			if err != nil {
				s.t.Fatal(err)
			}
			fate := fmt.Sprintf("failed: %s, again in %d ms", v.Reason, v.Delay)
			switch v.Flags {
			case native.FlagReject:
				fate = "rejected: " + v.Reason
			case native.FlagNotTried:
				fate = "not tried"
			}
			add(v.Ranges, fate)
		default:
			s.t.Fatalf("got %v, want ACK or NAK", f.Kind())
		}
	}
	return all
}

func (s *script) wantFates(want map[uint64]string) {
	s.t.Helper()
	if got := s.fates(len(want)); fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("got %v\nwant %v", got, want)
	}
}
