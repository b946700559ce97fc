package broker_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/engine"
	"example.com/ferry/engine/memory"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
	"example.com/ferry/protocol/native"
	"example.com/ferry/transport/tcp"
)

// TestBadPeers: the broker sends a client that breaks the protocol the reason before it ends the connection. Other
// connections continue.
func TestBadPeers(t *testing.T) {
	h, addr := serve(t, broker.Config{MaxFrame: 64 << 10, HandshakeTimeout: 500 * time.Millisecond, Window: 10 << 10})
	check := witness(t, addr)
	hello := native.AppendHello(nil, native.HelloFrame{MinVersion: 1, MaxVersion: 1})
	for _, c := range []struct {
		name   string
		greets bool
		send   func(p *peer) []byte
		code   native.Code
		reason string
	}{
		{"HTTP", false, func(*peer) []byte { return []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n") }, native.CodeProtocol, "not a ferry client"},
		{"random bytes", false, func(*peer) []byte { return bytes.Repeat([]byte{0, 0, 0, 9, 99}, 100) }, native.CodeProtocol, "before HELLO"},
		{"PUB first", false, func(p *peer) []byte { return p.pub(0, nil) }, native.CodeProtocol, "before HELLO"},
		{"half a HELLO", false, func(*peer) []byte { return hello[:10] }, native.CodeTimeout, "no HELLO"},
		{"silence", false, func(*peer) []byte { return nil }, native.CodeTimeout, "no HELLO"},
		{"a version of the future", false, func(*peer) []byte {
			return native.AppendHello(nil, native.HelloFrame{MinVersion: 7, MaxVersion: 9})
		}, native.CodeVersion, "this node speaks 1"},
		{"HELLO twice", true, func(*peer) []byte { return hello }, native.CodeProtocol, "HELLO frame from a client"},
		{"CALL", true, func(*peer) []byte { return []byte{0, 0, 0, 4, 16, 0, 0, 0} }, native.CodeProtocol, "CALL frame"},
		{"a frame too large", true, func(p *peer) []byte { return p.pub(0, make([]byte, 64<<10)) }, native.CodeTooLarge, "at most 65536"},
		{"a frame of 4 GiB", true, func(*peer) []byte { return []byte{255, 255, 255, 255, 9, 0, 0, 0} }, native.CodeTooLarge, "at most 65536"},
		{"half a frame, then silence", true, func(p *peer) []byte { return p.pub(0, make([]byte, 1000))[:500] }, native.CodeTimeout, "half a frame"},
		{"half a large frame", true, func(p *peer) []byte { return p.pub(0, make([]byte, 60<<10))[:30<<10] }, native.CodeTimeout, "half a frame"},
		{"PUB on a tag never asked for", true, func(p *peer) []byte { return p.pub(0, nil) }, native.CodeForbidden, "did not get"},
		{"PUB in another's name", true, func(p *peer) []byte {
			tag := p.tag("x")
			p.id++
			return p.pub(tag, nil)
		}, native.CodeForbidden, "in the name of source"},
		{"PUB without credit", true, func(p *peer) []byte {
			return bytes.Repeat(p.pub(p.tag("unread"), make([]byte, 1000)), 1000)
		}, native.CodeCredit, "credit"},
		{"SUB 0", true, func(*peer) []byte { return native.AppendSub(nil, native.SubFrame{Filter: "a", Window: 1}) }, native.CodeProtocol, "id 0"},
		{"TAG cut short", true, func(*peer) []byte { return []byte{0, 0, 0, 8, 5, 0, 0, 0, 0, 0, 0, 1} }, native.CodeProtocol, "ends early"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p *peer
			if c.greets {
				p = greet(t, addr)
			} else {
				p = connect(t, addr)
			}
			if c.name == "PUB without credit" { // a subscriber that never reads withholds the credit
				slow := greet(t, addr)
				slow.subscribe(native.SubFrame{ID: 1, Window: 1, Queue: 1, Filter: "unread"})
			}
			_, _ = p.conn.Write(c.send(p)) // the broker may close the connection meanwhile
			if g := p.goaway(); g.Code != c.code || !strings.Contains(g.Reason, c.reason) {
				t.Errorf("got GOAWAY %v %q, want %v with %q", g.Code, g.Reason, c.code, c.reason)
			}
			check()
		})
	}
	var refused uint64
	for _, n := range h.Snapshot().Refused {
		refused += n
	}
	if refused != 17 {
		t.Errorf("%d refusals counted, want 17: %v", refused, h.Snapshot().Refused)
	}
}

func TestTooManyConnections(t *testing.T) {
	_, addr := serve(t, broker.Config{MaxConnections: 2})
	greet(t, addr)
	greet(t, addr)
	if g := connect(t, addr).goaway(); g.Code != native.CodeLimit || !strings.Contains(g.Reason, "2 connections") {
		t.Errorf("got %v %q", g.Code, g.Reason)
	}
}

func TestTooManyTags(t *testing.T) {
	_, addr := serve(t, broker.Config{MaxTags: 1})
	p := greet(t, addr)
	first := p.tag("a")
	p.write(native.AppendTag(nil, native.TagFrame{Ref: 2, Name: "b"}))
	if v, err := native.ParseResult(p.read()); err != nil || v.Code != native.CodeLimit || v.Ref != 2 {
		t.Errorf("a second tag: %+v, %v", v, err)
	}
	if again := p.tag("a"); again != first {
		t.Errorf("the same tag has numbers %d and %d", first, again)
	}
}

// TestNeverReads: a client subscribes and never reads. The broker queues no more than the bound for it and ends its
// connection. Other clients are not delayed.
func TestNeverReads(t *testing.T) {
	h, addr := serve(t, broker.Config{Queue: 100 << 10, WriteTimeout: 300 * time.Millisecond})
	check := witness(t, addr)
	stalled := greet(t, addr)
	stalled.subscribe(native.SubFrame{ID: 1, Window: 1 << 30, Policy: native.DropOldest, Filter: "flood"})
	src := greet(t, addr)
	tag := src.tag("flood")
	go func() { // gets new credit, because the stalled subscriber's policy drops messages
		for src.read() != nil {
			continue
		}
	}()
	frame := src.pub(tag, make([]byte, 30<<10))
	for range 34 {
		src.write(frame)
	}
	late := time.Now().Add(time.Minute)
	for h.Snapshot().Connections > 3 && time.Now().Before(late) {
		if q := h.Snapshot().Subscriptions; len(q) > 1 {
			for _, s := range q {
				if s.QueuedBytes > 100<<10 {
					t.Errorf("%d bytes are queued, at most 102400 are configured", s.QueuedBytes)
				}
			}
		}
		check()
		src.write(frame)
		time.Sleep(5 * time.Millisecond)
	}
	if n := h.Snapshot().Connections; n != 3 {
		t.Errorf("%d connections, want 3: the stalled client is still connected", n)
	}
	if h.Snapshot().Dropped["queue_full"] == 0 {
		t.Error("nothing was counted as dropped")
	}
	check()
}

// TestResponsesAreBounded: the broker ends the connection of a client that sends requests and does not read the
// responses.
func TestResponsesAreBounded(t *testing.T) {
	h, addr := serve(t, broker.Config{WriteTimeout: time.Minute})
	p := greet(t, addr)
	pings := bytes.Repeat(native.AppendPing(nil, false, 1), 10000)
	for range 2000 {
		if _, err := p.conn.Write(pings); err != nil {
			break
		}
	}
	late := time.Now().Add(time.Minute)
	for h.Snapshot().Connections > 0 && time.Now().Before(late) {
		time.Sleep(5 * time.Millisecond)
	}
	if h.Snapshot().Connections != 0 {
		t.Error("it is still served")
	}
}

// TestPingBehindLargeFrames: large frames that wait to be written do not count as unread responses.
func TestPingBehindLargeFrames(t *testing.T) {
	h, addr := serve(t, broker.Config{WriteTimeout: time.Minute, Window: 64 << 20, Queue: 16 << 20})
	slow, src := greet(t, addr), greet(t, addr)
	slow.subscribe(native.SubFrame{ID: 1, Window: 1 << 30, Filter: "large"})
	tag := src.tag("large")
	frame := src.pub(tag, make([]byte, native.DefaultMaxFrame-native.PubHeaderSize))
	for h.Snapshot().Subscriptions[0].QueuedBytes == 0 { // until the socket and the next write are full
		src.write(frame)
		src.settled()
	}
	for range 10 {
		slow.write(native.AppendPing(nil, false, 5))
	}
	src.settled()
	answered := 0
	for answered < 10 {
		f := slow.read()
		if f == nil || f.Kind() == native.Goaway {
			t.Fatal("the connection was ended")
		}
		if f.Kind() == native.Ping {
			answered++
		}
	}
	slow.settled() // the broker still serves this client
}

// TestForwardsVerbatim: a subscriber receives exactly the published bytes, except for the flag of validation.
func TestForwardsVerbatim(t *testing.T) {
	_, addr := serve(t, broker.Config{})
	sub, src := greet(t, addr), greet(t, addr)
	sub.subscribe(native.SubFrame{ID: 9, Window: 1 << 20, Filter: "a/+"})
	tag := src.tag("a/b")
	plain := native.AppendPub(nil, native.PubHeader{Flags: 0xf2, Tag: tag, Source: src.id, Time: -5}, []byte("opaque"))
	event := native.AppendPub(nil, native.PubHeader{Type: ferry.CBOR, Tag: tag, Source: src.id, Time: 1 << 60}, []byte{0xa1, 0x61, 'v', 0x05})
	extended := append([]byte(nil), event...)
	extended = append(extended[:native.PubHeaderSize:native.PubHeaderSize], append([]byte{1, 2, 3, 4}, event[native.PubHeaderSize:]...)...)
	extended[3] += 4
	extended[7] = 1 // one word of extension, which version 1 forwards
	src.write(bytes.Join([][]byte{plain, event, extended}, nil))
	if a, err := native.ParseTag(sub.read()); err != nil || a.Name != "a/b" || a.Ref != tag {
		t.Errorf("announced %+v, %v", a, err)
	}
	if id, err := native.ParseNumber(sub.read()); err != nil || id != 9 {
		t.Errorf("selected %d, %v", id, err)
	}
	plain[5] = 0
	event[5], extended[5] = native.FlagValid, native.FlagValid
	for _, want := range [][]byte{plain, event, extended} {
		if got := sub.read(); !bytes.Equal(got, want) {
			t.Errorf("got  %x\nwant %x", got, want)
		}
	}
}

// TestForgedEntries: a client cannot write the entries of an extension that only nodes write, whether its message is addressed or not.
// The others stay, and so does the length of the frame.
func TestForgedEntries(t *testing.T) {
	_, addr := serve(t, broker.Config{})
	sub, addressed, src := greet(t, addr), greet(t, addr), greet(t, addr)
	sub.subscribe(native.SubFrame{ID: 1, Window: 1 << 20, Filter: "a"})
	addressed.subscribe(native.SubFrame{ID: 1, Window: 1 << 20, Filter: "a", Addressed: true})
	tag := src.tag("a")
	kept := native.AppendTLV(native.AppendTLV(nil, native.TLVTraceState, "state"), native.TLVKey, "key")
	extension := native.AppendTLV(nil, native.TLVSequence, "12345678")
	extension = native.AppendTLV(append(extension, kept...), native.TLVDeliveries, "1234")
	for _, t := range []native.TLV{native.TLVOrigin, native.TLVHops, native.TLVTagName} {
		extension = native.AppendTLV(extension, t, "x")
	}
	extension = native.AppendTLV(native.AppendDeadLetter(extension, native.DeadLetter{Stream: "s", Tag: "t"}), 200, "private")
	want := native.AppendTLV(kept, 200, "private")
	for _, to := range []*peer{sub, addressed} {
		h := native.PubHeader{Tag: tag, Source: src.id}
		if to == addressed {
			h.Flags, h.Source = native.FlagAddressed, to.id
		}
		sent := native.AppendExtendedPub(nil, h, extension, []byte("payload"))
		src.write(sent)
		f := to.read()
		for f != nil && f.Kind() != native.Pub {
			f = to.read()
		}
		var got []byte
		for t, value := range native.TLVs(f.Extension()) {
			got = native.AppendTLV(got, t, value)
		}
		if !bytes.Equal(got, want) || string(f.Payload()) != "payload" || len(f) != len(sent) {
			t.Errorf("got the entries %x and %q, want %x", got, f.Payload(), want)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []struct {
		cfg  broker.Config
		want string
	}{
		{broker.Config{}, "Identify"},
		{broker.Config{Identify: broker.Anyone, MaxFrame: 3}, "MaxFrame is 3"},
		{broker.Config{Identify: broker.Anyone, Streams: 65}, "Streams is 65"},
		{broker.Config{Identify: broker.Anyone, Window: -1}, "Window is -1"},
	} {
		if _, err := broker.New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	if _, err := broker.ParseValidation("most"); err == nil {
		t.Error("validate: most was accepted")
	}
}

// FuzzConnection: whatever bytes follow a handshake, the broker shuts down without an error.
func FuzzConnection(f *testing.F) {
	f.Add(native.AppendSub(native.AppendTag(nil, native.TagFrame{Ref: 1, Name: "a"}), native.SubFrame{ID: 1, Window: 100, Filter: "#", Where: "a > 1"}))
	f.Add(native.AppendCredit(native.AppendPing(nil, false, 1), native.CreditFrame{Sub: 1, Tag: 0, Bytes: 1 << 31}))
	f.Add(native.AppendUnsub(native.AppendAck(nil, native.AckFrame{Sub: 2, Ranges: native.AppendRange(nil, native.Range{First: 1, Count: 1 << 31})}), 2))
	f.Add(native.AppendNak(nil, native.NakFrame{Sub: 2, Flags: native.FlagReject, Ranges: native.AppendRange(nil, native.Range{First: 1, Count: 1})}))
	f.Add(native.AppendSub(nil, native.SubFrame{ID: 3, Window: 100, Filter: "a", Start: native.StartTime, Value: 1 << 63, Where: "a > 1"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		e := memory.New()
		defer func() { _ = e.Close(context.Background()) }()
		c := engine.Config{Name: "a", Tags: []string{"a"}, InMemory: true}
		s, err := e.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		h, err := broker.New(broker.Config{Stored: []broker.Stored{{Stream: s, Config: c, AtLeastOnce: true, MaxDeliveries: 1}}, Identify: broker.Anyone, Formats: []format.Format{cbor.Format{}}, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		near, far := net.Pipe()
		l := &once{conn: far, closed: make(chan struct{})}
		go func() { _ = h.Serve(context.Background(), l, broker.ValidateFull) }()
		go func() { _, _ = io.Copy(io.Discard, near) }()
		_ = near.SetWriteDeadline(time.Now().Add(5 * time.Second))
		hello := native.AppendHello(nil, native.HelloFrame{MinVersion: 2, MaxVersion: 2})
		tag := native.AppendTag(hello, native.TagFrame{Ref: 1, Name: "a"})
		sub := native.AppendSub(tag, native.SubFrame{ID: 1, Window: 1 << 16, Filter: "a"})
		durable := native.AppendSub(sub, native.SubFrame{ID: 2, Window: 1 << 16, Filter: "a", Durable: "d", Start: native.StartFirst})
		pub := native.AppendPub(durable, native.PubHeader{Source: 1, Type: ferry.CBOR}, []byte{0xa0})
		_, _ = near.Write(append(pub, data...))
		_ = near.Close()
		_ = l.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := h.Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
	})
}

// once is a listener with one connection.
type once struct {
	conn   net.Conn
	taken  bool
	closed chan struct{}
}

func (l *once) Accept(context.Context) (net.Conn, error) {
	if l.taken {
		<-l.closed
		return nil, net.ErrClosed
	}
	l.taken = true
	return l.conn, nil
}

func (l *once) Addr() net.Addr { return l.conn.LocalAddr() }
func (l *once) Close() error   { close(l.closed); return nil }

func ExampleBroker() {
	h, err := broker.New(broker.Config{Identify: broker.Anyone})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	l, err := tcp.New(nil).Listen(ctx, "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error)
	go func() { served <- h.Serve(ctx, l, broker.ValidateFull) }()
	// ... clients come and go ...
	_ = l.Close()
	fmt.Println(h.Shutdown(ctx), <-served)
	// Output: <nil> <nil>
}
