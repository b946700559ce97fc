package broker_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/ferry/broker"
	"example.com/ferry/protocol/native"
)

// request asks for a tag and returns the broker's result.
func (p *peer) request(name string) native.ResultFrame {
	p.t.Helper()
	p.write(native.AppendTag(nil, native.TagFrame{Ref: 1, Name: name}))
	return p.result()
}

// result returns the next result.
func (p *peer) result() native.ResultFrame {
	p.t.Helper()
	for {
		f := p.read()
		if f == nil {
			p.t.Fatal("the connection ended")
		}
		if f.Kind() == native.Result {
			return p.parseResult(f)
		}
	}
}

// TestTagsAreFreed: after a publisher has left, others can use its tags, even if a subscription matches all of them.
func TestTagsAreFreed(t *testing.T) {
	const most = 8
	h, addr := serve(t, broker.Config{MaxTags: most})
	tap := greet(t, addr)
	tap.subscribe(native.SubFrame{ID: 1, Window: 1 << 20, Filter: "#"})
	for round := range 5 {
		p := greet(t, addr)
		for i := range most {
			tag := p.tag(fmt.Sprintf("round/%d/%d", round, i))
			p.write(p.pub(tag, fmt.Appendf(nil, "%d/%d", round, i)))
		}
		p.settled()
		if v := p.request("one/more"); v.Code != native.CodeLimit {
			t.Errorf("tag %d: got %v, want a limit of %d", most+1, v, most)
		}
		_ = p.conn.Close()
		eventually(t, "the publisher's connection has ended", func() bool { return h.Snapshot().Connections == 1 && len(h.Snapshot().Tags) == 0 })
	}
	names, got := map[uint32]string{}, 0
	for got < 5*most {
		switch f := tap.read(); f.Kind() {
		case native.Tag:
			v, err := native.ParseTag(f)
			if err != nil {
				t.Fatal(err)
			}
			names[v.Ref] = v.Name
		case native.Pub:
			if name := names[f.Tag()]; name != "round/"+string(f.Payload()) {
				t.Errorf("message %q came on tag %q", f.Payload(), name)
			}
			got++
		}
	}
	s := h.Snapshot()
	if s.Freed.In.Messages != 5*most || s.Freed.Out.Messages != 5*most || s.Subscriptions[0].Out.Messages != 5*most {
		t.Errorf("%+v are counted for freed tags and %+v for the subscription, want %d messages each", s.Freed, s.Subscriptions[0].Out, 5*most)
	}
}

// TestTagWithQueueIsKept: a tag whose messages wait for a subscriber is not freed until they are delivered.
func TestTagWithQueueIsKept(t *testing.T) {
	h, addr := serve(t, broker.Config{MaxTags: 1})
	slow, first := greet(t, addr), greet(t, addr)
	slow.subscribe(native.SubFrame{ID: 1, Window: 100, Filter: "a"})
	tag := first.tag("a")
	for i := range 9 {
		first.write(first.pub(tag, fmt.Appendf(make([]byte, 0, 90), "%090d", i)))
	}
	first.settled()
	_ = first.conn.Close()
	eventually(t, "the publisher's connection has ended", func() bool { return h.Snapshot().Connections == 1 })
	second := greet(t, addr)
	if v := second.request("b"); v.Code != native.CodeLimit {
		t.Errorf("a tag was granted while another one has messages queued: %v", v)
	}
	for i := 0; i < 9; {
		if f := slow.read(); f.Kind() == native.Pub {
			if want := fmt.Sprintf("%090d", i); string(f.Payload()) != want {
				t.Fatalf("got %s, want %s", f.Payload(), want)
			}
			slow.write(native.AppendCredit(nil, native.CreditFrame{Sub: 1, Tag: f.Tag(), Bytes: uint32(len(f))}))
			i++
		}
	}
	slow.settled()
	if v := second.request("b"); v.Code != native.CodeOK {
		t.Errorf("the tag was not freed after its last message: %v", v)
	}
}

// TestOneIdentityLeavesTagsToOthers: an identity with a wildcard grant does not get the last of the tags.
func TestOneIdentityLeavesTagsToOthers(t *testing.T) {
	known, err := broker.NewIdentities([]broker.Credential{
		{Identity: broker.Identity{Name: "greedy", Publish: []string{"#"}}, TokenHash: broker.HashToken([]byte("greedy"))},
		{Identity: broker.Identity{Name: "modest", Publish: []string{"#"}}, TokenHash: broker.HashToken([]byte("modest"))},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, addr := serve(t, broker.Config{MaxTags: 64, Identify: known.Identify})
	login := func(token string) *peer {
		p := connect(t, addr)
		p.write(native.AppendHello(nil, native.HelloFrame{MinVersion: 1, MaxVersion: 1, Token: []byte(token)}))
		if f := p.read(); f.Kind() != native.Welcome {
			t.Fatalf("%s: got %v", token, f.Kind())
		}
		return p
	}
	granted := 0
	for range 3 { // connections of one identity share its bound
		greedy := login("greedy")
		for i := range 64 {
			v := greedy.request(fmt.Sprint("greedy/", granted, "/", i))
			if v.Code == native.CodeOK {
				granted++
			} else if v.Code != native.CodeLimit || !strings.Contains(v.Reason, "greedy") {
				t.Fatalf("refused with %v", v)
			}
		}
	}
	if granted != 60 {
		t.Errorf("one identity got %d of 64 tags, want 60", granted)
	}
	modest := login("modest")
	for i := range 4 {
		modest.tag(fmt.Sprint("modest/", i))
	}
}
