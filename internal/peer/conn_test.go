package peer_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// TestHostileFrames: a frame that an end does not accept ends the connection with a reason. Earlier frames are handled.
func TestHostileFrames(t *testing.T) {
	for _, c := range []struct {
		name   string
		bytes  []byte
		code   native.Code
		reason string
	}{
		{"HELLO again", hello, native.CodeProtocol, "HELLO frame from a client"},
		{"WELCOME", native.AppendWelcome(nil, welcome), native.CodeProtocol, "WELCOME frame from a client"},
		{"JOIN on the control stream", native.AppendJoin(nil, 0), native.CodeProtocol, "JOIN frame from a client"},
		{"a kind without a handler", native.AppendUnsub(nil, 1), native.CodeProtocol, "UNSUB frame from a client"},
		{"the last kind of the table", []byte{0, 0, 0, 4, 31, 0, 0, 0}, native.CodeProtocol, "kind 31 frame"},
		{"the first kind behind the table", []byte{0, 0, 0, 4, 32, 0, 0, 0}, native.CodeProtocol, "kind 32 frame"},
		{"kind 255", []byte{0, 0, 0, 4, 255, 0, 0, 0}, native.CodeProtocol, "kind 255 frame"},
		{"a frame that is too large", []byte{255, 255, 255, 255, 9, 0, 0, 0}, native.CodeTooLarge, "at most 65536"},
		{"a frame without a header", []byte{0, 0, 0, 1, 3}, native.CodeProtocol, "shorter than its header"},
		{"a TAG that ends early", []byte{0, 0, 0, 6, 5, 0, 0, 0, 0, 0}, native.CodeProtocol, "ends early"},
		{"a PING that ends early", []byte{0, 0, 0, 6, 3, 0, 0, 0, 0, 0}, native.CodeProtocol, "ends early"},
		{"a GOAWAY that ends early", []byte{0, 0, 0, 4, 4, 0, 0, 0}, native.CodeProtocol, "ends early"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, w := open(t, peer.Config{})
			w.write(append(native.AppendTag(nil, native.TagFrame{Name: "first"}), c.bytes...))
			if g := w.goaway(); g.Code != c.code || !strings.Contains(g.Reason, c.reason) {
				t.Errorf("got GOAWAY %v %q, want %v with %q", g.Code, g.Reason, c.code, c.reason)
			}
			<-n.done
			if got := n.log.String(); got != "TAG first" && got != "TAG first, TAG " || n.State() != peer.Closed {
				t.Errorf("handled %q, state %v", got, n.State())
			}
		})
	}
}

// TestPing: the response to a PING is sent after all earlier frames were handled.
func TestPing(t *testing.T) {
	n, w := open(t, peer.Config{})
	b := native.AppendPub(nil, native.PubHeader{}, []byte("a"))
	b = native.AppendPing(b, false, 42)
	w.write(native.AppendPing(b, true, 43)) // matches no PING of this end, so it is ignored
	f := w.read()
	if v, err := native.ParsePing(f); err != nil || v != 42 || f.Flags() != native.FlagAck {
		t.Errorf("got PING %d with flags %d, %v", v, f.Flags(), err)
	}
	if got, want := n.log.String(), "PUB a, before pong"; got != want {
		t.Errorf("handled %q, want %q", got, want)
	}
	n.Close(nil)
	<-n.done
}

// TestPeerDraining: when Serve has returned, it is known that the peer has announced its end, even if OnDrain has done nothing yet.
func TestPeerDraining(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	n, w := open(t, peer.Config{OnDrain: func() { <-release }})
	if n.PeerDraining() {
		t.Error("the peer is draining before it has said so")
	}
	w.write(native.AppendGoaway(nil, native.GoawayFrame{Code: native.CodeDraining}))
	_ = w.conn.Close()
	<-n.done
	if !n.PeerDraining() {
		t.Error("the GOAWAY draining of the peer is not known")
	}
}

// TestDrain: the node announces that it is stopping. The client confirms its messages and leaves. Both ends close
// without an error.
func TestDrain(t *testing.T) {
	near, far := pair(t)
	var client *peer.Conn
	client = peer.New(near, peer.Config{Remote: "node", OnDrain: func() {
		if err := client.Barrier(t.Context()); err != nil {
			t.Errorf("Barrier: %v", err)
		}
		client.Leave()
	}})
	var calls log
	nodes := make(chan *node)
	go func() {
		nodes <- serveNode(t, far, peer.Config{
			OnClosing: func(why error) { calls.add("closing %v", why) }, OnClosed: func() { calls.add("closed") },
		})
	}()
	if _, err := client.Connect(native.HelloFrame{}); err != nil {
		t.Fatal(err)
	}
	n := <-nodes
	client.Control().Lock()
	client.Control().Append(native.AppendPub(nil, native.PubHeader{}, []byte("last")))
	client.Control().Unlock()
	served := make(chan error, 1)
	go func() { served <- peer.Serve(client, &kinds, func() *receiver { return &receiver{&log{}} }) }()
	n.Drain("stopping")
	n.Drain("stopping") // a second call sends nothing
	<-n.done
	if err := <-served; !peer.IsClean(err) {
		t.Errorf("the client ended with %v", err)
	}
	if !peer.IsClean(n.err) || n.log.String() != "PUB last, before pong" || calls.String() != "closing EOF, closed" {
		t.Errorf("the node ended with %v after %q and %q", n.err, n.log, &calls)
	}
	if n.State() != peer.Closed || client.State() != peer.Closed {
		t.Errorf("states %v and %v", n.State(), client.State())
	}
}

// TestPeerError: the reason in the peer's GOAWAY ends Serve, and is not sent back.
func TestPeerError(t *testing.T) {
	n, w := open(t, peer.Config{})
	w.write(native.AppendGoaway(nil, native.GoawayFrame{Code: native.CodeForbidden, Reason: "no"}))
	if g := w.goaway(); g.Code != native.CodeOK {
		t.Errorf("got GOAWAY %v", g)
	}
	<-n.done
	var e *native.Error
	if !errors.As(n.err, &e) || e.Code != native.CodeForbidden {
		t.Errorf("ended with %v", n.err)
	}
}

// TestClosingDiscards: frames that arrive while a connection is closing reach no handler.
func TestClosingDiscards(t *testing.T) {
	closing := make(chan struct{})
	n, w := open(t, peer.Config{Linger: 200 * time.Millisecond, OnClosing: func(error) { close(closing) }})
	n.Tell(func(b []byte) []byte {
		return append(b, native.AppendPub(nil, native.PubHeader{}, make([]byte, 1<<20))...)
	})
	n.Close(&native.Error{Code: native.CodeTimeout}) // cannot be written: the pipe holds 64 KiB
	<-closing
	if n.State() != peer.Closing {
		t.Errorf("state %v", n.State())
	}
	for range 100 { // until the socket is closed
		if _, err := w.conn.Write(native.AppendTag(nil, native.TagFrame{Name: "late"})); err != nil {
			break
		}
	}
	<-n.done
	if n.log.String() != "" {
		t.Errorf("handled %q", n.log)
	}
}

// TestUnreadResponses: a peer that sends requests and reads no response is cut off.
func TestUnreadResponses(t *testing.T) {
	n, w := open(t, peer.Config{MaxResponses: 10 << 10, Linger: time.Millisecond})
	pings := []byte{}
	for range 100 {
		pings = native.AppendPing(pings, false, 1)
	}
	for {
		if _, err := w.conn.Write(pings); err != nil {
			break
		}
	}
	<-n.done
	var e *native.Error
	if !errors.As(n.err, &e) || e.Code != native.CodeLimit {
		t.Errorf("ended with %v", n.err)
	}
}

// TestStandstill: a connection is closed after silence, after a partial frame, and after a blocked write.
func TestStandstill(t *testing.T) {
	limits := peer.Limits{Silence: 30 * time.Second, HalfFrame: 10 * time.Second, Write: 20 * time.Second}
	for _, c := range []struct {
		name   string
		write  []byte
		after  time.Duration
		reason string // "" means that the connection continues
	}{
		{"quiet", nil, 29 * time.Second, ""},
		{"silent", nil, 31 * time.Second, "nothing was heard of the client for 30s"},
		{"half a frame", hello[:9], 11 * time.Second, "half a frame"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, w := open(t, peer.Config{})
			now := time.Now()
			if c.write != nil {
				w.write(c.write)
			}
			for i := range 200 { // until the half frame was read
				n.Check(now.Add(time.Duration(i)*time.Microsecond), limits)
				time.Sleep(time.Millisecond)
				if c.write == nil {
					break
				}
			}
			n.Check(now.Add(c.after), limits)
			if c.reason == "" {
				if n.State() != peer.Established {
					t.Errorf("state %v", n.State())
				}
				n.Close(nil)
				<-n.done
				return
			}
			if g := w.goaway(); g.Code != native.CodeTimeout || !strings.Contains(g.Reason, c.reason) {
				t.Errorf("got %v %q", g.Code, g.Reason)
			}
			<-n.done
		})
	}
	n, w := open(t, peer.Config{Linger: time.Millisecond})
	n.Tell(func(b []byte) []byte { return append(b, make([]byte, 1<<20)...) })
	for n.Control().Blocked(time.Now()) == 0 {
		time.Sleep(time.Millisecond)
	}
	n.Check(time.Now().Add(21*time.Second), limits)
	<-n.done
	if n.err == nil || !strings.Contains(n.err.Error(), "has read nothing for 20s") {
		t.Errorf("a blocked write: ended with %v", n.err)
	}
	_ = w
}
