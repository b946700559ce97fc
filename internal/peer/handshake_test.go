package peer_test

import (
	"errors"
	"strings"
	"testing"

	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// TestVersions: each end states a range of versions; both use the highest common version.
func TestVersions(t *testing.T) {
	for _, c := range []struct {
		client, node [2]uint8
		want         uint8 // 0: refused
	}{
		{[2]uint8{1, 1}, [2]uint8{1, 1}, 1},
		{[2]uint8{1, 1}, [2]uint8{1, 2}, 1},
		{[2]uint8{1, 2}, [2]uint8{1, 1}, 1},
		{[2]uint8{1, 2}, [2]uint8{1, 2}, 2},
		{[2]uint8{2, 2}, [2]uint8{1, 3}, 2},
		{[2]uint8{2, 3}, [2]uint8{1, 1}, 0},
		{[2]uint8{1, 1}, [2]uint8{2, 3}, 0},
		{[2]uint8{3, 1}, [2]uint8{1, 3}, 0},
	} {
		near, far := pair(t)
		client := peer.New(near, peer.Config{Remote: "node", Lowest: c.client[0], Highest: c.client[1]})
		server := peer.New(far, peer.Config{Remote: "client", Lowest: c.node[0], Highest: c.node[1]})
		accepted := make(chan struct{})
		go func() {
			defer close(accepted)
			if _, err := server.Accept(); err != nil {
				server.Refuse(err)
				return
			}
			server.Welcome(welcome)
			go func() { _ = peer.Serve(server, &kinds, func() *receiver { return &receiver{&log{}} }) }()
		}()
		_, err := client.Connect(native.HelloFrame{})
		<-accepted
		var e *native.Error
		switch {
		case c.want == 0:
			if !errors.As(err, &e) || e.Code != native.CodeVersion || server.State() != peer.Closed {
				t.Errorf("client %v, node %v: got %v, node %v", c.client, c.node, err, server.State())
			}
		case err != nil || client.Version() != c.want || server.Version() != c.want:
			t.Errorf("client %v, node %v: speak %d and %d, %v, want %d", c.client, c.node, client.Version(), server.Version(), err, c.want)
		}
		server.Close(nil)
	}
}

// TestHostileClientInHandshake: if a client begins with anything but a HELLO, the node refuses it with a reason.
func TestHostileClientInHandshake(t *testing.T) {
	for _, c := range []struct {
		name   string
		bytes  []byte
		code   native.Code
		reason string
	}{
		{"text", []byte("GET / HTTP/1.1\r\n\r\n"), native.CodeProtocol, "not a ferry client"},
		{"zeros", make([]byte, 100), native.CodeProtocol, "not a ferry client"},
		{"a HELLO without magic", append([]byte{0, 0, 0, 16, 1, 0, 0, 0}, "0123456789ab"...), native.CodeProtocol, "FRRY"},
		{"a HELLO that ends early", hello[: len(hello)-2 : len(hello)-2], native.CodeOK, ""},
		{"a longer frame than a HELLO may be", []byte{0, 0, 64, 0, 1, 0, 0, 0}, native.CodeProtocol, "not a ferry client"},
		{"PUB", native.AppendPub(nil, native.PubHeader{}, nil), native.CodeProtocol, "PUB frame before HELLO"},
		{"WELCOME", native.AppendWelcome(nil, welcome), native.CodeProtocol, "WELCOME frame before HELLO"},
		{"a kind that does not exist", []byte{0, 0, 0, 4, 200, 0, 0, 0}, native.CodeProtocol, "kind 200 frame before HELLO"},
		{"version 0", native.AppendHello(nil, native.HelloFrame{}), native.CodeVersion, "this node speaks 1"},
		{"versions of the future", native.AppendHello(nil, native.HelloFrame{MinVersion: 9, MaxVersion: 12}), native.CodeVersion, "client speaks versions 9 to 12"},
	} {
		t.Run(c.name, func(t *testing.T) {
			near, far := pair(t)
			w := &wire{t: t, conn: near}
			go func() {
				w.write(c.bytes)
				if cw, ok := near.(interface{ CloseWrite() error }); ok && c.code == native.CodeOK {
					_ = cw.CloseWrite()
				}
			}()
			n := peer.New(far, peer.Config{Remote: "client"})
			_, err := n.Accept()
			if err == nil {
				t.Fatal("it was accepted")
			}
			n.Refuse(err)
			if g := w.goaway(); g.Code != c.code || !strings.Contains(g.Reason, c.reason) {
				t.Errorf("got GOAWAY %v %q, want %v with %q", g.Code, g.Reason, c.code, c.reason)
			}
			if n.State() != peer.Closed {
				t.Errorf("state %v", n.State())
			}
			n.Close(nil) // has no effect: the connection is closed
		})
	}
}

// TestHostileNodeInHandshake: a client refuses anything but a WELCOME with usable limits.
func TestHostileNodeInHandshake(t *testing.T) {
	with := func(change func(*native.WelcomeFrame)) []byte {
		w := welcome
		w.Version = 1
		change(&w)
		return native.AppendWelcome(nil, w)
	}
	for _, c := range []struct {
		name  string
		bytes []byte
		want  string
	}{
		{"nothing", nil, "is this a ferry node"},
		{"text", []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), "too large"},
		{"PING", native.AppendPing(nil, false, 1), "PING frame before WELCOME"},
		{"a later version", with(func(w *native.WelcomeFrame) { w.Version = native.Version + 1 }), "chose version 4, this end speaks 1 to 3"},
		{"version 0", with(func(w *native.WelcomeFrame) { w.Version = 0 }), "chose version 0"},
		{"no heartbeat", with(func(w *native.WelcomeFrame) { w.Heartbeat = 0 }), "heartbeat of 0 ms"},
		{"frames too small for a PUB", with(func(w *native.WelcomeFrame) { w.MaxFrame = 23 }), "frames of 23 bytes"},
		{"a refusal", native.AppendGoaway(nil, native.GoawayFrame{Code: native.CodeLimit, Reason: "full"}), "limit reached: full"},
	} {
		near, far := pair(t)
		go func() {
			_, _ = far.Write(c.bytes)
			_, _ = far.Read(make([]byte, 100))
			_ = far.Close()
		}()
		client := peer.New(near, peer.Config{Remote: "node"})
		if _, err := client.Connect(native.HelloFrame{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	near, _ := pair(t)
	client := peer.New(near, peer.Config{Remote: "node"})
	if _, err := client.Connect(native.HelloFrame{Token: make([]byte, native.MaxHandshake)}); err == nil {
		t.Error("a token longer than a HELLO was sent")
	}
}

// TestHugeLimitsAreBounded: limits that do not fit in an int of 32 bits are reduced.
func TestHugeLimitsAreBounded(t *testing.T) {
	near, far := pair(t)
	w := welcome
	w.Version, w.MaxFrame, w.Window = 1, 1<<32-1, 1<<32-1
	go func() { _, _ = far.Write(native.AppendWelcome(nil, w)) }()
	got, err := peer.New(near, peer.Config{Remote: "node"}).Connect(native.HelloFrame{})
	if err != nil || got.MaxFrame != 1<<30 || got.Window != 1<<30 {
		t.Errorf("got %+v, %v", got, err)
	}
}
