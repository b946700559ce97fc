package broker_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/protocol/native"
	"example.com/ferry/transport/tcp"
)

// client is a credential whose token is its name.
func client(name string, publish, subscribe []string) broker.Credential {
	return broker.Credential{Identity: broker.Identity{Name: name, Publish: publish, Subscribe: subscribe}, TokenHash: broker.HashToken([]byte(name))}
}

func identities(t *testing.T, list ...broker.Credential) *broker.Identities {
	t.Helper()
	known, err := broker.NewIdentities(list)
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// login connects with a token and returns the WELCOME.
func login(t *testing.T, addr, token string) (*peer, native.WelcomeFrame) {
	t.Helper()
	p := connect(t, addr)
	p.write(native.AppendHello(nil, native.HelloFrame{MinVersion: 1, MaxVersion: 1, Token: []byte(token)}))
	w, err := native.ParseWelcome(p.read())
	if err != nil {
		t.Fatalf("%s: %v", token, err)
	}
	p.id = ferry.SourceID(w.Source)
	return p, w
}

// next returns the next frame of a kind.
func (p *peer) next(kind native.Kind) native.Frame {
	p.t.Helper()
	for {
		f := p.read()
		if f == nil {
			p.t.Fatalf("the connection ended before a %v", kind)
		}
		if f.Kind() == kind {
			return f
		}
	}
}

// TestSetIdentitiesClosesConnections: clients whose credential is gone are closed, those whose credential is the same stay.
func TestSetIdentitiesClosesConnections(t *testing.T) {
	all := []string{"#"}
	b, addr := serve(t, broker.Config{Identify: identities(t, client("stays", all, all), client("removed", all, all), client("rotated", all, all)).Identify})
	stays, _ := login(t, addr, "stays")
	removed, _ := login(t, addr, "removed")
	rotated, _ := login(t, addr, "rotated")
	tag := stays.tag("a")

	other := client("rotated", all, all)
	other.TokenHash = broker.HashToken([]byte("another token"))
	b.SetIdentities(identities(t, client("stays", all, all), other, client("removed as well", all, all)))
	for name, p := range map[string]*peer{"removed": removed, "rotated": rotated} {
		if g := p.goaway(); g.Code != native.CodeUnauthenticated {
			t.Errorf("%s: got %+v, want GOAWAY unauthenticated", name, g)
		}
	}
	stays.subscribe(native.SubFrame{ID: 1, Window: 1 << 20, Filter: "a"})
	stays.write(stays.pub(tag, []byte("still here")))
	stays.next(native.Pub)
	login(t, addr, "another token")
	refused := connect(t, addr)
	refused.write(native.AppendHello(nil, native.HelloFrame{MinVersion: 1, MaxVersion: 1, Token: []byte("removed")}))
	if g := refused.goaway(); g.Code != native.CodeUnauthenticated {
		t.Errorf("a removed client that connects again got %+v", g)
	}
}

// TestSetIdentitiesChangesGrants: a lost grant ends its subscriptions and publishing on its tags; all others go on.
func TestSetIdentitiesChangesGrants(t *testing.T) {
	wide, narrow := []string{"a/#", "b/#"}, []string{"a/#"}
	b, addr := serve(t, broker.Config{Identify: identities(t, client("c", wide, wide)).Identify})
	p, _ := login(t, addr, "c")
	p.subscribe(native.SubFrame{ID: 1, Window: 1 << 20, Filter: "a/#"})
	p.subscribe(native.SubFrame{ID: 2, Window: 1 << 20, Filter: "b/#"})
	a, forbidden := p.tag("a/1"), p.tag("b/1")

	b.SetIdentities(identities(t, client("c", narrow, narrow)))
	if v := p.result(); v.Kind != native.Sub || v.Ref != 2 || v.Code != native.CodeForbidden {
		t.Errorf("got %+v, want a RESULT that ends SUB 2", v)
	}
	p.write(p.pub(forbidden, []byte("secret")))
	notice, err := native.ParseNotice(p.next(native.Notice))
	if err != nil || notice.Tag != forbidden || notice.Count != 1 || notice.Code != native.CodeForbidden {
		t.Errorf("got %+v, %v, want a NOTICE that the message was dropped", notice, err)
	}
	p.write(p.pub(a, []byte("allowed")))
	if f := p.next(native.Pub); string(f.Payload()) != "allowed" {
		t.Errorf("got %q", f.Payload())
	}
	if v := p.request("b/2"); v.Code != native.CodeForbidden {
		t.Errorf("a new TAG got %+v, want forbidden", v)
	}
	if s := b.Snapshot(); s.Dropped["forbidden"] != 1 || len(s.Subscriptions) != 1 {
		t.Errorf("got %d dropped and %d subscriptions, want 1 and 1", s.Dropped["forbidden"], len(s.Subscriptions))
	}

	b.SetIdentities(identities(t, client("c", wide, wide)))
	p.subscribe(native.SubFrame{ID: 2, Window: 1 << 20, Filter: "b/#"})
	p.write(p.pub(forbidden, []byte("allowed again")))
	if f := p.next(native.Pub); string(f.Payload()) != "allowed again" {
		t.Errorf("got %q", f.Payload())
	}
}

// TestPrepareLimits: WELCOME and refusals follow the limits of the moment, and connections keep what they were told.
func TestPrepareLimits(t *testing.T) {
	b, addr := serve(t, broker.Config{Window: 4 << 10, MaxConnections: 1})
	first, w := login(t, addr, "")
	if w.Window != 4<<10 {
		t.Errorf("got a window of %d", w.Window)
	}
	set, err := b.PrepareLimits(broker.Config{Window: 8 << 10, MaxConnections: 2, Heartbeat: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	set()
	if _, w = login(t, addr, ""); w.Window != 8<<10 || w.Heartbeat != 5000 {
		t.Errorf("got a window of %d and a heartbeat of %d ms after the change", w.Window, w.Heartbeat)
	}
	third := connect(t, addr)
	third.write(native.AppendHello(nil, native.HelloFrame{MinVersion: 1, MaxVersion: 1}))
	if g := third.goaway(); g.Code != native.CodeLimit {
		t.Errorf("got %+v, want limit reached", g)
	}
	tag := first.tag("a")
	for range 3 { // each message spends the whole window of 4 KiB, which comes back
		first.write(first.pub(tag, make([]byte, 4<<10)))
		if v, err := native.ParseCredit(first.next(native.Credit)); err != nil || v.Bytes > 5<<10 {
			t.Fatalf("got %+v, %v", v, err)
		}
	}
	if _, err := b.PrepareLimits(broker.Config{MaxFrame: 1 << 10}); err == nil {
		t.Error("another MaxFrame was accepted")
	}
	if _, err := b.PrepareLimits(broker.Config{CallStreamWindow: 1 << 10}); err == nil {
		t.Error("another CallStreamWindow was accepted")
	}
}

// TestPrepareCallLimits: each connection keeps the limits of calls that WELCOME has told it.
func TestPrepareCallLimits(t *testing.T) {
	b, addr := serve(t, broker.Config{})
	server := greetCalls(t, addr, "", 8)
	if code := server.offer(native.OfferFrame{ID: 1, Service: "a.A"}); code != native.CodeOK {
		t.Fatalf("got %v", code)
	}
	before := greetCalls(t, addr, "", 0)
	set, err := b.PrepareLimits(broker.Config{MaxCalls: 1})
	if err != nil {
		t.Fatal(err)
	}
	set()
	for id := uint32(1); id < 5; id += 2 {
		before.call(id, "a.A.B", 0)
		server.served()
	}
	after := greetCalls(t, addr, "", 0)
	after.call(1, "a.A.B", 0)
	server.served()
	after.call(3, "a.A.B", 0)
	if g := after.goaway(); g.Code != native.CodeCredit {
		t.Errorf("a second call in a limit of one: got %+v, want credit exceeded", g)
	}
	before.wantOpen()
}

// TestDrainListener: the clients of a removed listener leave without a loss, those of another one do not notice.
func TestDrainListener(t *testing.T) {
	b, addr := serve(t, broker.Config{Log: slog.New(slog.DiscardHandler)})
	inner, err := tcp.New(nil).Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := b.NewListener(inner, broker.ValidateFull)
	served := make(chan error, 1)
	go func() { served <- l.Serve(context.Background()) }()
	removed := inner.Addr().String()

	watcher := greet(t, addr)
	watcher.subscribe(native.SubFrame{ID: 1, Window: 1 << 20, Filter: "a"})
	subscriber, publisher := greet(t, removed), greet(t, removed)
	subscriber.subscribe(native.SubFrame{ID: 1, Window: 1 << 20, Filter: "#"})
	tag := publisher.tag("a")
	drained := make(chan error, 1)
	go func() { drained <- l.Drain(t.Context()) }()
	for name, p := range map[string]*peer{"subscriber": subscriber, "publisher": publisher} {
		if g := p.goaway(); g.Code != native.CodeDraining {
			t.Errorf("%s: got %+v, want GOAWAY draining", name, g)
		}
	}
	if f := subscriber.read(); f != nil {
		t.Errorf("the subscriber got a %v after GOAWAY, want the end of the connection", f.Kind())
	}
	select {
	case err := <-drained:
		t.Fatalf("Drain did not wait for the publisher: %v", err)
	default:
	}
	publisher.write(publisher.pub(tag, []byte("the last one")))
	publisher.settled()
	publisher.write(native.AppendGoaway(nil, native.GoawayFrame{}))
	if err := <-drained; err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if f := watcher.next(native.Pub); string(f.Payload()) != "the last one" {
		t.Errorf("got %q", f.Payload())
	}
	greet(t, addr)
}

// TestDrainListenerEnds: a client that does not leave is disconnected when the context ends.
func TestDrainListenerEnds(t *testing.T) {
	b, _ := serve(t, broker.Config{})
	inner, err := tcp.New(nil).Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := b.NewListener(inner, broker.ValidateFull)
	go func() { _ = l.Serve(context.Background()) }()
	publisher := greet(t, inner.Addr().String())
	publisher.tag("a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for publisher.read() != nil {
		continue
	}
}

// TestSetValidation: a change applies to clients that are connected.
func TestSetValidation(t *testing.T) {
	b, _ := serve(t, broker.Config{})
	inner, err := tcp.New(nil).Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := b.NewListener(inner, broker.ValidateOff)
	served := make(chan error, 1)
	go func() { served <- l.Serve(context.Background()) }()
	t.Cleanup(func() {
		_ = inner.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	p := greet(t, inner.Addr().String())
	p.subscribe(native.SubFrame{ID: 1, Window: 1 << 20, Filter: "a"})
	tag := p.tag("a")
	broken := func() []byte {
		return native.AppendPub(nil, native.PubHeader{Tag: tag, Source: p.id, Type: 3}, []byte{0xa1})
	}
	p.write(broken())
	p.next(native.Pub)
	l.SetValidation(broker.ValidateFull)
	p.write(broken())
	if v, err := native.ParseNotice(p.next(native.Notice)); err != nil || v.Code != native.CodeInvalid {
		t.Errorf("got %+v, %v, want a NOTICE of an invalid payload", v, err)
	}
}
