package proxy

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"example.com/ferry/protocol/websocket"
	"example.com/ferry/proxy/upstream"
)

// webSocketServer accepts WebSockets. It says hello, responds to each message once it may, and echoes a Close frame.
func webSocketServer(t *testing.T, may <-chan bool) string {
	return serve(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		accept, _ := websocket.Accept([]byte(r.Header.Get("Sec-WebSocket-Key")))
		fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n", accept)
		var got []byte
		b := make([]byte, 4096)
		for {
			n, frame, err := websocket.Next(got, 1<<16)
			switch {
			case err != nil:
				return
			case n == 0:
				n, err := in.Read(b)
				if got = append(got, b[:n]...); err != nil {
					return
				}
				continue
			case frame.Opcode == websocket.Close:
				_, _ = c.Write(websocket.AppendFrame(nil, websocket.Close, frame.Payload))
				return
			}
			<-may
			_, _ = c.Write(websocket.AppendFrame(nil, frame.Opcode, frame.Payload))
			got = got[n:]
		}
	})
}

// webSocketClient is the client's end, over one version of HTTP.
type webSocketClient struct {
	conn   net.Conn
	in     io.Reader
	frames *frames
}

func dialWebSocket(t *testing.T, addr string, version int) *webSocketClient {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if version == 1 {
		in := bufio.NewReader(conn)
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
		if r, err := http.ReadResponse(in, nil); err != nil || r.StatusCode != 101 {
			t.Fatal(r, err)
		}
		return &webSocketClient{conn, in, nil}
	}
	f := newFrames(t, conn)
	f.head(1, false, ":method", "CONNECT", ":protocol", "websocket", ":scheme", "http", ":authority", "a", ":path", "/", "sec-websocket-version", "13")
	if status, err := f.status(1); status != "200" {
		t.Fatal(status, err)
	}
	return &webSocketClient{conn, &dataReader{frames: f}, f}
}

func (c *webSocketClient) write(p []byte) {
	if c.frames == nil {
		_, _ = c.conn.Write(p)
	} else {
		_ = c.frames.WriteData(1, false, p)
	}
}

// dataReader reads the content of DATA frames.
type dataReader struct {
	frames *frames
	rest   []byte
}

func (r *dataReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		frame, err := r.frames.ReadFrame()
		if err != nil {
			return 0, err
		}
		if data, ok := frame.(*http2.DataFrame); ok {
			r.rest = append(r.rest, data.Data()...)
			if len(r.rest) == 0 && data.StreamEnded() {
				return 0, io.EOF
			}
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// masked returns a frame of a client with a mask of zeros.
func masked(o websocket.Opcode, payload string) []byte {
	return append([]byte{0x80 | byte(o), 0x80 | byte(len(payload)), 0, 0, 0, 0}, payload...)
}

// TestShutdownOfWebSockets: a shutdown lets messages of WebSockets pass in both directions. A WebSocket that its ends close lets it return at once; one that is
// left is ended by a Close frame, between two messages.
func TestShutdownOfWebSockets(t *testing.T) {
	t.Parallel()
	for version := 1; version <= 2; version++ {
		for _, byClient := range []bool{true, false} {
			t.Run(fmt.Sprintf("HTTP/%d, ended by the client %v", version, byClient), func(t *testing.T) {
				t.Parallel()
				may := make(chan bool)
				p, err := New(&Config{
					Loops:     1,
					Listeners: []Listener{{Address: "127.0.0.1:0", Protocol: HTTP, Cluster: "web"}},
					Clusters:  []upstream.Config{cluster1("web", webSocketServer(t, may))},
				}, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				c := dialWebSocket(t, at(p, 0), version)
				c.write(masked(websocket.Text, "before"))
				timeout := 2 * time.Second
				if byClient {
					timeout = time.Minute
				}
				ctx, stop := context.WithTimeout(context.Background(), timeout)
				defer stop()
				ended := make(chan error, 1)
				go func() { ended <- p.Shutdown(ctx) }()
				for { // until the listener is closed
					probe, err := net.Dial("tcp", at(p, 0))
					if err != nil {
						break
					}
					probe.Close()
				}
				read := func(want []byte) {
					t.Helper()
					got := make([]byte, len(want))
					if _, err := io.ReadFull(c.in, got); err != nil || !bytes.Equal(got, want) {
						t.Fatalf("the client got %q, %v, want %q", got, err, want)
					}
				}
				may <- true
				read(websocket.AppendFrame(nil, websocket.Text, []byte("before")))
				c.write(masked(websocket.Text, "within"))
				may <- true
				read(websocket.AppendFrame(nil, websocket.Text, []byte("within")))
				code := []byte{3, 0xe9} // 1001
				if byClient {
					c.write(masked(websocket.Close, string(code)))
				}
				read(websocket.AppendFrame(nil, websocket.Close, code))
				if n, err := c.in.Read(make([]byte, 1)); n != 0 || err == nil {
					t.Errorf("behind the Close frame: %d bytes, %v", n, err)
				}
				c.conn.Close()
				if err := <-ended; err != nil {
					t.Errorf("Shutdown: %v", err)
				}
			})
		}
	}
}
