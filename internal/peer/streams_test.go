package peer_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
	"example.com/ferry/transport"
)

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
	_ = near.SetDeadline(time.Now().Add(time.Minute))
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
