package loop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestPassingWithoutPipe forwards a frame on a loop that cannot have a pipe. The bytes are copied.
func TestPassingWithoutPipe(t *testing.T) {
	g := start(t, Config{Loops: 1})
	l := g.Loops()[0]
	l.do(func() { l.sys.(*epoll).pipe.none = true })
	passFrame(t, g, noise(3, 3<<20))
	if sum, _ := g.Stats(); sum.Spliced != 0 {
		t.Errorf("%d bytes spliced", sum.Spliced)
	}
}

// TestPipeIsEmptyAndClosed looks at the pipe of a loop after its use, and at the descriptors after the loop's end.
func TestPipeIsEmptyAndClosed(t *testing.T) {
	before := openDescriptors(t)
	g, err := New(&Config{Loops: 1})
	if err != nil {
		t.Fatal(err)
	}
	passFrame(t, g, noise(4, 3<<20))
	l := g.Loops()[0]
	l.do(func() {
		p := l.sys.(*epoll).pipe
		if n := l.splicer.pending(int32(p.r)); !p.open || n != 0 {
			t.Errorf("open %v, %d bytes in the pipe", p.open, n)
		}
	})
	if err := g.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of all descriptors", func() bool { return openDescriptors(t) <= before })
}

// brokenPipe is a splicer whose pipe cannot be read back the first time.
type brokenPipe struct {
	*epoll
	broken bool
}

func (b *brokenPipe) unspliced(p []byte) (int, error) {
	if !b.broken {
		b.broken = true
		return b.epoll.unspliced(p[:0])
	}
	return b.epoll.unspliced(p)
}

// TestPipeCannotBeReadBack: bytes that stay in the pipe are lost, and so is the connection that they are for. The next connection gets
// its own bytes only.
func TestPipeCannotBeReadBack(t *testing.T) {
	g := start(t, Config{Loops: 1})
	l := g.Loops()[0]
	b := &brokenPipe{epoll: l.sys.(*epoll)}
	l.do(func() { l.splicer = b })
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	frame := append(binary.BigEndian.AppendUint32(nil, 64<<20), bytes.Repeat(noise(5, 1<<20), 64)...)
	go func() {
		if conn, err := server.Accept(); err == nil {
			defer conn.Close()
			_, _ = conn.Write(frame)
		}
	}()
	conn, buf := connectSlow(t, listen(t, g, passers(addrOf(server)))), make([]byte, 1<<20)
	fullOrEnded := func() (yes bool) {
		l.do(func() {
			yes = b.broken || l.stats.BytesOut >= int64(len(frame))
			for c := range l.All() {
				yes = yes || c.is(blocked)
			}
		})
		return yes
	}
	var got []byte
	for err == nil && len(got) < len(frame) {
		eventually(t, "a full socket, or the end", fullOrEnded)
		var n int
		n, err = conn.Read(buf)
		got = append(got, buf[:n]...)
	}
	if !errors.Is(err, unix.ECONNRESET) || !bytes.HasPrefix(frame, got) {
		t.Errorf("got %d bytes of %d, or others: %v; want a reset", len(got), len(frame), err)
	}
	eventually(t, "the end of both connections", func() bool { sum, _ := g.Stats(); return sum.Conns == 0 })
	l.do(func() {
		if !b.broken || b.pipe.open {
			t.Errorf("read back: %v, the pipe is open: %v", b.broken, b.pipe.open)
		}
	})
	passFrame(t, g, noise(6, 3<<20))
}

// TestPassingBetweenUnixSockets forwards a frame from and to Unix domain sockets.
func TestPassingBetweenUnixSockets(t *testing.T) {
	g := start(t, Config{Loops: 1})
	dir := t.TempDir()
	server, err := net.Listen("unix", filepath.Join(dir, "server"))
	if err != nil {
		t.Fatal(err)
	}
	front := Addr{Unix: filepath.Join(dir, "front")}
	if _, err := g.Listen(front, passers(Addr{Unix: server.Addr().String()})); err != nil {
		t.Fatal(err)
	}
	passFrom(t, server, front, noise(8, 3<<20))
}

// passFrame forwards one frame from a server to a client.
func passFrame(t *testing.T, g *Group, content []byte) {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	passFrom(t, server, listen(t, g, passers(addrOf(server))), content)
}

// passFrom sends one frame from server, and reads it from a connection to front.
func passFrom(t *testing.T, server net.Listener, front Addr, content []byte) {
	t.Helper()
	defer server.Close()
	frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(content))), content...)
	go func() {
		conn, err := server.Accept()
		if err == nil {
			_, _ = conn.Write(frame)
			conn.Close()
		}
	}()
	network, address := front.netAddress()
	conn, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || !bytes.Equal(got, frame) {
		t.Fatalf("got %d bytes of %d, or others: %v", len(got), len(frame), err)
	}
}
