package peer_test

import (
	"errors"
	"fmt"
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
func (r *receiver) BeforePong(uint64) bool {
	r.log.add("before pong")
	return true
}

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
