package peer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
)

// pair returns both ends of a connection over transport/memory.
func pair(t *testing.T) (dialed, accepted transport.Conn) {
	t.Helper()
	network := memory.New(nil)
	l, err := network.Listen(t.Context(), "node")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if dialed, err = network.Dial(t.Context(), "node"); err != nil {
		t.Fatal(err)
	}
	if accepted, err = l.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = dialed.Close(), accepted.Close() })
	late := time.Now().Add(30 * time.Second)
	_, _ = dialed.SetDeadline(late), accepted.SetDeadline(late)
	return dialed, accepted
}

// log lists the frames that a connection's receivers have handled.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, ", ")
}

// receiver logs its calls.
type receiver struct{ log *log }

func (r *receiver) BatchBegins() {}
func (r *receiver) BatchEnds()   {}
func (r *receiver) BeforePong()  { r.log.add("before pong") }

func (r *receiver) Pubs(batch []byte, _ *bufpool.Buf) (int, error) {
	f := native.Frame(batch[:native.Size(batch)])
	r.log.add("PUB %s", f.Payload())
	return len(f), nil
}

// kinds accepts TAG on the control stream and SELECT on any stream.
var kinds = peer.Table[*receiver]{
	native.Tag: {Handle: func(r *receiver, f native.Frame) error {
		v, err := native.ParseTag(f)
		r.log.add("TAG %s", v.Name)
		return err
	}},
	native.Select: {OnData: true, Handle: func(r *receiver, f native.Frame) error {
		v, err := native.ParseNumber(f)
		r.log.add("SELECT %d", v)
		return err
	}},
}

// node is the accepting end of a connection, served by peer.Serve.
type node struct {
	*peer.Conn
	log  *log
	err  error         // result of Serve
	done chan struct{} // closed when Serve has returned
}

var welcome = native.WelcomeFrame{Streams: 2, Source: 7, MaxFrame: 64 << 10, Window: 1 << 20, Heartbeat: 1000}

// serveNode does the node's part of the handshake and serves raw.
func serveNode(t *testing.T, raw transport.Conn, cfg peer.Config) *node {
	t.Helper()
	cfg.Remote = "client"
	n := &node{Conn: peer.New(raw, cfg), log: &log{}, done: make(chan struct{})}
	if _, err := n.Accept(); err != nil {
		t.Fatal(err)
	}
	n.Welcome(welcome)
	n.serve()
	return n
}

func (n *node) serve() {
	go func() {
		defer close(n.done)
		n.err = peer.Serve(n.Conn, &kinds, func() *receiver { return &receiver{n.log} })
	}()
}

// wire is the other end of a connection. It reads and writes single frames.
type wire struct {
	t    *testing.T
	conn net.Conn
	buf  []byte
}

func (w *wire) write(b []byte) {
	w.t.Helper()
	if _, err := w.conn.Write(b); err != nil {
		w.t.Fatal(err)
	}
}

// read returns the next frame, or nil at the end of the stream.
func (w *wire) read() native.Frame {
	w.t.Helper()
	for {
		f, err := native.Split(w.buf, native.DefaultMaxFrame)
		if err != nil {
			w.t.Fatal(err)
		}
		if f != nil {
			w.buf = w.buf[len(f):]
			return f
		}
		b := make([]byte, 4096)
		n, err := w.conn.Read(b)
		w.buf = append(w.buf, b[:n]...)
		if n == 0 && err != nil {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				w.t.Fatal(err)
			}
			return nil
		}
	}
}

// goaway reads until the end of the stream and returns the last GOAWAY.
func (w *wire) goaway() (last native.GoawayFrame) {
	w.t.Helper()
	for f := w.read(); f != nil; f = w.read() {
		if f.Kind() == native.Goaway {
			var err error
			if last, err = native.ParseGoaway(f); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	return last
}

var hello = native.AppendHello(nil, native.HelloFrame{MinVersion: 1, MaxVersion: 1})

// open returns a node that has accepted a client, and the client's wire.
func open(t *testing.T, cfg peer.Config) (*node, *wire) {
	t.Helper()
	near, far := pair(t)
	w := &wire{t: t, conn: near}
	w.write(hello)
	n := serveNode(t, far, cfg)
	if f := w.read(); f.Kind() != native.Welcome {
		t.Fatalf("got %v, want WELCOME", f.Kind())
	}
	return n, w
}

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
		{"a later version", with(func(w *native.WelcomeFrame) { w.Version = native.Version + 1 }), "chose version 3, this end speaks 1 to 2"},
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

// multi adds data streams to a connection of package memory.
type multi struct {
	transport.Conn
	accept chan net.Conn // streams that the peer opens
	open   chan net.Conn // peer's ends of the streams opened by this end
}

func (m *multi) AcceptStream(ctx context.Context) (net.Conn, error) {
	select {
	case s := <-m.accept:
		return s, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (m *multi) OpenStream(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case m.open <- far:
		return near, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestDataStreams: frames of data streams reach the handlers that allow data streams. Other frames on data streams end
// the connection.
func TestDataStreams(t *testing.T) {
	join := native.AppendJoin(nil, 0)
	join = join[:len(join):len(join)] // so that append makes a copy
	for _, c := range []struct {
		name    string
		streams []string // the bytes that are written to each
		handled string
		reason  string // "": no error
	}{
		{"JOIN and PUB", []string{string(native.AppendPub(join, native.PubHeader{}, []byte("x")))}, "PUB x", ""},
		{"SELECT", []string{string(native.AppendSelect(join, 5))}, "SELECT 5", ""},
		{"PING", []string{string(native.AppendPing(join, false, 5))}, "before pong", ""},
		{"the end before JOIN", []string{""}, "", ""},
		{"no JOIN", []string{string(native.AppendSelect(nil, 5))}, "", "does not begin with JOIN"},
		{"TAG", []string{string(native.AppendTag(join, native.TagFrame{}))}, "", "TAG frame on a data stream"},
		{"GOAWAY", []string{string(native.AppendGoaway(join, native.GoawayFrame{}))}, "", "GOAWAY frame on a data stream"},
		{"a third stream", []string{string(join), string(join), string(join)}, "", "more than 2 data streams"},
	} {
		t.Run(c.name, func(t *testing.T) {
			near, far := pair(t)
			w := &wire{t: t, conn: near}
			w.write(hello)
			m := &multi{Conn: far, accept: make(chan net.Conn), open: make(chan net.Conn, 1)}
			n := serveNode(t, m, peer.Config{})
			if f, err := native.ParseWelcome(w.read()); err != nil || f.Streams != 2 {
				t.Fatalf("%d streams, %v", f.Streams, err)
			}
			for _, b := range c.streams {
				stream, theirs := net.Pipe()
				m.accept <- theirs
				if b != "" {
					_, _ = stream.Write([]byte(b))
				}
				_ = stream.Close()
			}
			if c.reason != "" {
				if g := w.goaway(); !strings.Contains(g.Reason, c.reason) {
					t.Errorf("got GOAWAY %v %q, want %q", g.Code, g.Reason, c.reason)
				}
			} else {
				for range 2000 {
					if n.log.String() == c.handled {
						break
					}
					time.Sleep(time.Millisecond)
				}
				n.Close(nil)
			}
			<-n.done
			if got := n.log.String(); got != c.handled {
				t.Errorf("handled %q, want %q", got, c.handled)
			}
		})
	}
}

// TestWriterOpensAStream: frames appended for a data stream arrive on that stream, after a JOIN.
func TestWriterOpensAStream(t *testing.T) {
	near, far := pair(t)
	w := &wire{t: t, conn: near}
	w.write(hello)
	m := &multi{Conn: far, accept: make(chan net.Conn), open: make(chan net.Conn, 1)}
	n := serveNode(t, m, peer.Config{})
	first := n.Writer(1, func(fw *peer.FrameWriter) {
		fw.Lock()
		fw.Append(native.AppendSelect(nil, 9))
		fw.Unlock()
	})
	if n.Writer(1, nil) != first || len(n.Writers()) != 2 {
		t.Error("the stream was opened twice")
	}
	stream := &wire{t: t, conn: <-m.open}
	for _, want := range []native.Kind{native.Join, native.Select} {
		if f := stream.read(); f == nil || f.Kind() != want {
			t.Errorf("got %v, want %v", f, want)
		}
	}
	n.Close(nil)
	if f := stream.read(); f != nil {
		t.Errorf("got %v behind the end", f.Kind())
	}
	<-n.done
	late := n.Writer(0, nil)
	late.Lock()
	if !late.Closed() {
		t.Error("a stream was opened on a closed connection")
	}
	late.Unlock()
}

// TestBarrierEndsWithTheConnection: the error of Barrier names the lost connection.
func TestBarrierEndsWithTheConnection(t *testing.T) {
	n, w := open(t, peer.Config{})
	go func() {
		w.read()
		_ = w.conn.Close()
	}()
	if err := n.Barrier(t.Context()); err == nil || !strings.Contains(err.Error(), "before the client confirmed") {
		t.Errorf("got %v", err)
	}
	<-n.done
	if !errors.Is(n.err, io.EOF) && n.err == nil {
		t.Errorf("ended with %v", n.err)
	}
}

// TestLargeFirstFrameOfADataStream: the first frame of a data stream is JOIN. A longer one is refused by its header.
func TestLargeFirstFrameOfADataStream(t *testing.T) {
	near, far := pair(t)
	w := &wire{t: t, conn: near}
	_ = near.SetDeadline(time.Now().Add(5 * time.Second))
	w.write(hello)
	m := &multi{Conn: far, accept: make(chan net.Conn), open: make(chan net.Conn, 1)}
	n := &node{Conn: peer.New(m, peer.Config{Remote: "client"}), log: &log{}, done: make(chan struct{})}
	if _, err := n.Accept(); err != nil {
		t.Fatal(err)
	}
	limits := welcome
	limits.MaxFrame = 1 << 20
	n.Welcome(limits)
	n.serve()
	stream, theirs := net.Pipe()
	defer stream.Close()
	m.accept <- theirs
	go func() { _, _ = stream.Write(native.AppendPub(nil, native.PubHeader{}, make([]byte, 600<<10))) }()
	if g := w.goaway(); g.Code != native.CodeTooLarge {
		t.Errorf("got GOAWAY %v %q", g.Code, g.Reason)
	}
	_ = theirs.Close() // as the end of a connection ends its streams
	<-n.done
}

// failingMulti is a connection whose data streams cannot be opened.
type failingMulti struct {
	*multi
	begun chan struct{} // closed by the test once OpenStream may fail
}

func (m *failingMulti) OpenStream(context.Context) (net.Conn, error) {
	<-m.begun
	return nil, errors.New("no more streams")
}

// TestUnopenedStreamKeepsItsFrames: frames that wait for a data stream which cannot be opened were never sent. TakeUnsent
// returns them.
func TestUnopenedStreamKeepsItsFrames(t *testing.T) {
	near, far := pair(t)
	w := &wire{t: t, conn: near}
	w.write(hello)
	m := &failingMulti{multi: &multi{Conn: far, accept: make(chan net.Conn)}, begun: make(chan struct{})}
	n := serveNode(t, m, peer.Config{})
	fw := n.Writer(1, nil)
	fw.Lock()
	fw.Append(native.AppendSelect(nil, 9))
	fw.Unlock()
	close(m.begun)
	<-n.done
	var left []byte
	fw.TakeUnsent(func(frames []byte) { left = append(left, frames...) })
	if string(left) != string(native.AppendSelect(nil, 9)) {
		t.Errorf("%x is left, want SELECT 9; the connection ended with %v", left, n.err)
	}
}
