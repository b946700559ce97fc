package loop

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
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

// passFrame forwards one frame from a server to a client.
func passFrame(t *testing.T, g *Group, content []byte) {
	t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(content))), content...)
	go func() {
		conn, err := server.Accept()
		if err == nil {
			_, _ = conn.Write(frame)
			conn.Close()
		}
	}()
	conn := connect(t, listen(t, g, passers(addrOf(server))))
	defer conn.Close()
	if got, err := io.ReadAll(conn); err != nil || !bytes.Equal(got, frame) {
		t.Fatalf("got %d bytes of %d, or others: %v", len(got), len(frame), err)
	}
}
