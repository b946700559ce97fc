package broker_test

import (
	"crypto/tls"
	"fmt"
	"testing"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
	"example.com/ferry/protocol/native"
)

// edge identifies a node by the token "edge", and one whose validation is trusted by "trusted".
func edge(token []byte, _ *tls.ConnectionState) (*broker.Identity, error) {
	id, err := broker.Anyone(nil, nil)
	id.Forward = len(token) > 0
	id.TrustValidation = string(token) == "trusted"
	return id, err
}

// greetAs connects with a token and a version.
func greetAs(t *testing.T, addr, token string, version uint8) *peer {
	t.Helper()
	p := connect(t, addr)
	p.write(native.AppendHello(nil, native.HelloFrame{MinVersion: version, MaxVersion: version, Token: []byte(token), Name: "test"}))
	w, err := native.ParseWelcome(p.read())
	if err != nil {
		t.Fatal(err)
	}
	if want := map[bool]string{true: "hub"}[version >= 3]; w.Node != want {
		t.Fatalf("WELCOME of version %d names node %q, want %q", version, w.Node, want)
	}
	p.id = ferry.SourceID(w.Source)
	return p
}

func path(number uint32, nodes ...string) []byte {
	return native.AppendForward(nil, native.ForwardFrame{Number: number, Path: nodes})
}

// by returns a PUB that has come by a path.
func by(flags byte, number, tag uint32, payload string) []byte {
	return native.AppendPub(nil, native.PubHeader{
		Flags: flags | native.FlagForwarded, Type: ferry.CBOR, Tag: tag, Source: ferry.SourceID(number), Time: 1,
	}, []byte(payload))
}

// expectFrom reads until as many messages have come as want has bytes: one each, from a source and without a path.
func (p *peer) expectFrom(source ferry.SourceID, want string) {
	p.t.Helper()
	got := ""
	for len(got) < len(want) {
		f := p.read()
		if f.Kind() != native.Pub {
			continue
		}
		if f.Source() != source || f.Flags()&^native.FlagValid != 0 {
			p.t.Errorf("message %x has source %d and flags %x", f.Payload(), f.Source(), f.Flags())
		}
		got += string(f.Payload())
	}
	if got != want {
		p.t.Errorf("got %x, want %x", got, want)
	}
}

// TestForgedPaths: a client that names a path it may not name loses its connection, and no other client notices.
func TestForgedPaths(t *testing.T) {
	_, addr := serve(t, broker.Config{Node: "hub", Identify: edge})
	check := witness(t, addr)
	victim := greet(t, addr)
	victim.subscribe(native.SubFrame{ID: 1, Window: 1 << 20, Filter: "#", Addressed: true})
	for _, c := range []struct {
		name, token string
		version     uint8
		send        func(p *peer) []byte
		code        native.Code
	}{
		{"no verb", "", 3, func(*peer) []byte { return path(0, "a") }, native.CodeForbidden},
		{"FORWARD in version 2", "edge", 2, func(*peer) []byte { return path(0, "a") }, native.CodeProtocol},
		{"UNTAG in version 2", "edge", 2, func(*peer) []byte { return native.AppendUntag(nil, 0) }, native.CodeProtocol},
		{"another last node", "edge", 3, func(*peer) []byte { return append(path(0, "a"), path(1, "a", "b")...) }, native.CodeForbidden},
		{"a node twice", "edge", 3, func(*peer) []byte { return path(0, "a", "b", "a") }, native.CodeProtocol},
		{"no path announced", "edge", 3, func(p *peer) []byte { return by(0, 0, p.tag("x"), "\xa0") }, native.CodeForbidden},
		{"a path number never announced", "edge", 3, func(p *peer) []byte {
			return append(path(0, "a"), by(0, 1<<31, p.tag("x"), "\xa0")...)
		}, native.CodeForbidden},
		{"a path and no verb", "", 3, func(p *peer) []byte { return by(0, 0, p.tag("x"), "\xa0") }, native.CodeForbidden},
		{"flag 04 in version 2", "edge", 2, func(p *peer) []byte { return by(0, uint32(p.id)+1, p.tag("x"), "\xa0") }, native.CodeForbidden},
		{"addressed", "edge", 3, func(p *peer) []byte {
			return native.AppendPub(nil, native.PubHeader{Flags: native.FlagAddressed, Tag: p.tag("x"), Source: victim.id}, nil)
		}, native.CodeForbidden},
		{"addressed by a path", "edge", 3, func(p *peer) []byte {
			return append(path(0, "a"), by(native.FlagAddressed, uint32(victim.id), p.tag("x"), "\xa0")...)
		}, native.CodeForbidden},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := greetAs(t, addr, c.token, c.version)
			p.write(c.send(p))
			if g := p.goaway(); g.Code != c.code {
				t.Errorf("got %v %q, want %v", g.Code, g.Reason, c.code)
			}
			check()
		})
	}
}

// TestPathsThatEndHere: messages that have passed this node, or too many, are dropped and counted, and the others arrive as messages of
// the connection.
func TestPathsThatEndHere(t *testing.T) {
	h, addr := serve(t, broker.Config{Node: "hub", Identify: edge})
	sub := greet(t, addr)
	sub.subscribe(native.SubFrame{ID: 1, Window: 1 << 20, Filter: "x"})
	p := greetAs(t, addr, "edge", 3)
	tag := p.tag("x")
	long := make([]string, native.MaxHops)
	for i := range long {
		long[i] = fmt.Sprint("n", i)
	}
	long[len(long)-1] = "a"
	var batch []byte
	for _, b := range [][]byte{
		path(0, "a"), path(1, "hub", "a"), path(2, long...), path(3, "z", "a"),
		by(0, 0, tag, "\x01"), by(0, 1, tag, "\x02"), by(0, 2, tag, "\x03"), by(0, 3, tag, "\x04"), p.pub(tag, []byte("\x05")),
		path(1, "y", "a"), by(0, 1, tag, "\x06"),
		native.AppendPing(nil, false, 1),
	} {
		batch = append(batch, b...)
	}
	p.write(batch)
	sub.expectFrom(p.id, "\x01\x04\x05\x06")
	if s := h.Snapshot(); s.Dropped["loop"] != 1 || s.Dropped["hops"] != 1 {
		t.Errorf("dropped %v", s.Dropped)
	}
}

// TestRefusedBehindForwarded: a forwarded message that is refused costs the messages before and behind it nothing, nor the connection.
func TestRefusedBehindForwarded(t *testing.T) {
	s := openStream(t, newEngine(t), "s", "stored")
	h, addr := serve(t, broker.Config{Node: "hub", Identify: edge, Stored: []broker.Stored{s}})
	sub := greet(t, addr)
	sub.subscribe(native.SubFrame{ID: 1, Window: 1 << 20, Filter: "#"})
	p := greetAs(t, addr, "edge", 3)
	batch := path(0, "a")
	for _, name := range []string{"x", "stored"} {
		tag := p.tag(name)
		longKey := native.AppendExtendedPub(nil, native.PubHeader{Flags: native.FlagForwarded, Type: ferry.CBOR, Tag: tag, Time: 1},
			native.AppendTLV(nil, native.TLVKey, make([]byte, native.MaxKey+1)), []byte("\x03"))
		for _, b := range [][]byte{by(0, 0, tag, "\x01"), by(0, 0, tag, "\xff"), by(0, 0, tag, "\x02"), longKey, by(0, 0, tag, "\x04")} {
			batch = append(batch, b...)
		}
	}
	p.write(batch)
	sub.expectFrom(p.id, "\x01\x02\x03\x04\x01\x02\x04")
	if s := h.Snapshot(); s.Dropped["invalid"] != 3 {
		t.Errorf("dropped %v", s.Dropped)
	}
}

// TestTrustValidation: only a client with the verb saves the node the validation.
func TestTrustValidation(t *testing.T) {
	for token, validated := range map[string]uint64{"trusted": 0, "edge": 1, "": 1} {
		h, addr := serve(t, broker.Config{Node: "hub", Identify: edge})
		p := greetAs(t, addr, token, 3)
		tag := p.tag("x")
		p.write(native.AppendPub(nil, native.PubHeader{Flags: native.FlagValid, Type: ferry.CBOR, Tag: tag, Source: p.id}, []byte("\xff")))
		p.write(native.AppendPing(nil, false, 1))
		for f := p.read(); f.Kind() != native.Ping; f = p.read() {
		}
		if n := h.Snapshot().Dropped["invalid"]; n != validated {
			t.Errorf("token %q: dropped %d", token, n)
		}
		eventually(t, "the validated messages are counted", func() bool { return h.Snapshot().Validated == validated })
	}
}

// privateCBOR is CBOR under a number that ferry does not define.
type privateCBOR struct{ cbor.Format }

func (privateCBOR) Name() string { return "private" }
func (privateCBOR) Descriptor() format.Descriptor {
	return format.Descriptor{Type: ferry.FirstPrivateType}
}

// TestInvalidIsNotTrusted: an invalid frame behind a valid one is read twice. The first time does not mark it as valid, which the node
// would trust the second time.
func TestInvalidIsNotTrusted(t *testing.T) {
	for _, number := range []ferry.Type{ferry.CBOR, ferry.FirstPrivateType} {
		h, addr := serve(t, broker.Config{Node: "hub", Identify: edge, Formats: []format.Format{cbor.Format{}, privateCBOR{}}})
		p := greetAs(t, addr, "trusted", 3)
		tag := p.tag("x")
		var batch []byte
		for _, payload := range []string{"\x01", "\xff", "\x02"} {
			batch = native.AppendPub(batch, native.PubHeader{Type: number, Tag: tag, Source: p.id}, []byte(payload))
		}
		p.write(native.AppendPing(batch, false, 1))
		for f := p.read(); f.Kind() != native.Ping; f = p.read() {
		}
		if s := h.Snapshot(); s.Dropped["invalid"] != 1 {
			t.Errorf("type %d: dropped %v, want the second message as invalid", number, s.Dropped)
		}
	}
}

// TestUntag: a client that gives its tags back may publish on more tags in turn than the node knows at a time.
func TestUntag(t *testing.T) {
	h, addr := serve(t, broker.Config{Node: "hub", Identify: edge, MaxTags: 10})
	p := greetAs(t, addr, "", 3)
	for i := range 100 {
		tag := p.tag(fmt.Sprint("t/", i))
		p.write(append(p.pub(tag, nil), native.AppendUntag(nil, tag)...))
	}
	tag := p.tag("last")
	p.write(native.AppendUntag(nil, tag))
	p.write(native.AppendUntag(nil, tag)) // a second one has no effect
	p.write(native.AppendPing(nil, false, 1))
	if f := p.read(); f.Kind() != native.Ping {
		t.Errorf("got %v", f.Kind())
	}
	if s := h.Snapshot(); len(s.Tags) > 1 || s.Freed.In.Messages != 100 {
		t.Errorf("%d tags in use, %+v", len(s.Tags), s.Freed)
	}
	p.write(p.pub(tag, nil))
	if g := p.goaway(); g.Code != native.CodeForbidden {
		t.Errorf("PUB behind UNTAG: got %v %q", g.Code, g.Reason)
	}
}
