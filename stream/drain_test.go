package stream_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
)

// scriptedNode is the node's end of one connection. The test reads and writes single frames.
type scriptedNode struct {
	t    *testing.T
	conn net.Conn
	buf  []byte
}

// welcomeNext accepts the next connection of l and sends its client WELCOME with the id source.
func welcomeNext(t *testing.T, l transport.Listener, id uint32) *scriptedNode {
	t.Helper()
	return welcomeWith(t, l, native.WelcomeFrame{Version: 1, Source: id, MaxFrame: 1 << 20, Window: 1 << 20, Heartbeat: 60_000})
}

func welcomeWith(t *testing.T, l transport.Listener, w native.WelcomeFrame) *scriptedNode {
	t.Helper()
	conn, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	n := &scriptedNode{t: t, conn: conn}
	n.expect(native.Hello)
	n.write(native.AppendWelcome(nil, w))
	return n
}

func (n *scriptedNode) write(b []byte) {
	n.t.Helper()
	if _, err := n.conn.Write(b); err != nil {
		n.t.Fatal(err)
	}
}

// expect reads the next frame and fails if its kind is another one.
func (n *scriptedNode) expect(kind native.Kind) native.Frame {
	n.t.Helper()
	f := n.next()
	if f.Kind() != kind {
		n.t.Fatalf("got %v, want %v", f.Kind(), kind)
	}
	return f
}

// next reads the next frame.
func (n *scriptedNode) next() native.Frame {
	n.t.Helper()
	for {
		f, err := native.Split(n.buf, 1<<20)
		if err != nil {
			n.t.Fatal(err)
		}
		if f != nil {
			n.buf = n.buf[len(f):]
			return f
		}
		b := make([]byte, 4096)
		m, err := n.conn.Read(b)
		n.buf = append(n.buf, b[:m]...)
		if m == 0 && err != nil {
			n.t.Fatalf("no further frame: %v", err)
		}
	}
}

// grant reads a TAG and responds with the tag number.
func (n *scriptedNode) grant(number uint32) {
	n.t.Helper()
	n.result(n.expect(native.Tag), number)
}

func (n *scriptedNode) result(tag native.Frame, number uint32) {
	n.t.Helper()
	v, err := native.ParseTag(tag)
	if err != nil {
		n.t.Fatal(err)
	}
	n.write(native.AppendResult(nil, native.ResultFrame{Kind: native.Tag, Ref: v.Ref, Value: number}))
}

// TestTagRequestedBeforeTheNodeDrains: the node sends GOAWAY before the result of a client's TAG. The client leaves,
// whether the node then grants the tag or withholds the result. It publishes on the next connection.
func TestTagRequestedBeforeTheNodeDrains(t *testing.T) {
	for _, granted := range []bool{true, false} {
		t.Run(fmt.Sprint("granted ", granted), func(t *testing.T) {
			network := memory.New(nil)
			l, err := network.Listen(t.Context(), "node")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			sent := make(chan error, 1)
			go func() {
				c, err := stream.Dial(t.Context(), network, "node", quiet(nil))
				if err == nil {
					t.Cleanup(func() { _ = c.Close() })
					err = c.Send(t.Context(), ferry.Message{Tag: "a", Payload: []byte("x")})
				}
				sent <- err
			}()
			first := welcomeNext(t, l, 1)
			tag := first.expect(native.Tag)
			first.write(native.AppendGoaway(nil, native.GoawayFrame{Code: native.CodeDraining}))
			ping, err := native.ParsePing(first.expect(native.Ping))
			if err != nil {
				t.Fatal(err)
			}
			if granted {
				first.result(tag, 0)
			}
			first.write(native.AppendPing(nil, true, ping))
			first.expect(native.Goaway)
			_ = first.conn.Close()

			second := welcomeNext(t, l, 2)
			second.grant(0)
			if f := second.expect(native.Pub); string(f.Payload()) != "x" {
				t.Errorf("got %q", f.Payload())
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
			_ = second.conn.Close() // so that the client's Close does not wait for the response to its PING
		})
	}
}

// TestStopWhileTheNodeDrains: a function that is stopped while the node drains sends UNSUB. Otherwise the node would
// wait until the function has received its queued messages.
func TestStopWhileTheNodeDrains(t *testing.T) {
	network := memory.New(nil)
	l, err := network.Listen(t.Context(), "node")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	started := make(chan *stream.Running, 1)
	clients := make(chan *stream.Client, 1)
	go func() {
		defer close(started)
		c, err := stream.Dial(t.Context(), network, "node", quiet(nil))
		if err != nil {
			return
		}
		clients <- c
		if r, err := c.Start(t.Context(), stream.Function{Observe: []string{"a"}, Handler: newCollector()}); err == nil {
			started <- r
		}
	}()
	n := welcomeNext(t, l, 1)
	sub, err := native.ParseSub(n.expect(native.Sub))
	if err != nil {
		t.Fatal(err)
	}
	n.write(native.AppendResult(nil, native.ResultFrame{Kind: native.Sub, Ref: sub.ID}))
	c, r := <-clients, <-started
	if r == nil {
		t.Fatal("the function was not started")
	}
	n.write(native.AppendGoaway(nil, native.GoawayFrame{Code: native.CodeDraining}))
	for c.Stats().Connected {
		time.Sleep(time.Millisecond)
	}
	r.Stop()
	if id, err := native.ParseNumber(n.expect(native.Unsub)); id != sub.ID || err != nil {
		t.Errorf("UNSUB %d, %v: want %d", id, err, sub.ID)
	}
	_ = n.conn.Close()
	_ = c.Close()
}
