package native_test

import (
	"bufio"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
	"example.com/ferry/transport/tcp"
	"example.com/ferry/transport/unix"
)

// drivers are the ways in which a server's connections are driven.
func drivers(t *testing.T, run func(t *testing.T, tr transport.Transport, addr string)) {
	t.Run("loop", func(t *testing.T) { run(t, tcp.New(nil), "127.0.0.1:0") })
	t.Run("goroutines", func(t *testing.T) { run(t, memory.New(nil), "server") })
	t.Run("unix", func(t *testing.T) { run(t, unix.New(nil), filepath.Join(t.TempDir(), "s")) })
}

// wireClient writes and reads single frames.
type wireClient struct {
	t    *testing.T
	conn net.Conn
	buf  []byte
}

// listen serves the echo service.
func listen(t *testing.T, p native.Protocol, tr transport.Transport, addr string) call.Listener {
	t.Helper()
	l, err := p.Listen(t.Context(), tr, addr, echo{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// connect connects without a HELLO.
func connect(t *testing.T, tr transport.Transport, l call.Listener) *wireClient {
	t.Helper()
	conn, err := tr.Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(60 * time.Second))
	return &wireClient{t: t, conn: conn}
}

// greet says HELLO and announces the method echo.Echo.Say as number 0.
func (c *wireClient) greet() {
	c.t.Helper()
	c.write(wire.AppendHello(nil, wire.HelloFrame{MinVersion: 1, MaxVersion: wire.Version, Name: "test", Limits: wire.CallLimits{StreamWindow: 1 << 16}}))
	w, err := wire.ParseWelcome(c.read())
	if err != nil || w.Version != wire.Version {
		c.t.Fatalf("got %+v, %v", w, err)
	}
	c.write(wire.AppendMethod(nil, wire.MethodFrame{Method: "echo.Echo.Say", Content: "application/json"}))
}

func (c *wireClient) write(b []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// read returns the next frame, or nil at the end of the connection.
func (c *wireClient) read() wire.Frame {
	c.t.Helper()
	for {
		f, err := wire.Split(c.buf, wire.DefaultMaxFrame)
		if err != nil {
			c.t.Fatal(err)
		}
		if f != nil {
			c.buf = c.buf[len(f):]
			return f
		}
		b := make([]byte, 64<<10)
		n, err := c.conn.Read(b)
		c.buf = append(c.buf, b[:n]...)
		if err != nil && n == 0 {
			var late net.Error
			if errors.As(err, &late) && late.Timeout() {
				c.t.Fatal(err)
			}
			return nil
		}
	}
}

// reply reads a REPLY.
func (c *wireClient) reply() wire.ReplyFrame {
	c.t.Helper()
	f := c.read()
	if f == nil || f.Kind() != wire.Reply {
		c.t.Fatalf("got %x, want REPLY", []byte(f))
	}
	r, err := wire.ParseReply(f)
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

// TestSessionOfTheSpecification plays the client of the connection with calls in docs/native.md.
func TestSessionOfTheSpecification(t *testing.T) {
	drivers(t, func(t *testing.T, tr transport.Transport, addr string) {
		p := native.Protocol{MaxCalls: 100, Window: 4 << 20, StreamWindow: 64 << 10, Heartbeat: 10 * time.Second}
		c := connect(t, tr, listen(t, p, tr, addr))
		file, err := os.Open("../../protocol/native/testdata/calls.txt")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		title := ""
		for lines := bufio.NewScanner(file); lines.Scan(); {
			line := lines.Text()
			if text, ok := strings.CutPrefix(line, "# "); ok {
				title = text
				continue
			}
			frame, err := hex.DecodeString(line)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(title, "client: ") {
				c.write(frame)
			} else if got := c.read(); hex.EncodeToString(got) != line {
				t.Fatalf("%s:\ngot  %x\nwant %s", title, []byte(got), line)
			}
		}
		if f := c.read(); f != nil {
			t.Errorf("behind the last frame the server sent %x", []byte(f))
		}
	})
}

func callFrame(id uint32, flags byte, message string) []byte {
	return wire.AppendCall(nil, wire.CallFrame{Flags: flags, Call: id, Message: []byte(message)})
}

// TestMalformedConnections sends what ends a connection.
func TestMalformedConnections(t *testing.T) {
	for _, each := range []struct {
		name  string
		bytes []byte
		want  wire.Code
	}{
		{"call number of the server", callFrame(2, wire.FlagEnd, "x"), wire.CodeProtocol},
		{"call number 0", callFrame(0, wire.FlagEnd, "x"), wire.CodeProtocol},
		{"number in use", append(callFrame(1, wire.FlagMore|wire.FlagEnd, "x"), callFrame(1, wire.FlagEnd, "x")...), wire.CodeProtocol},
		{"method without a name", wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagEnd, Call: 1, Method: 7}), wire.CodeProtocol},
		{"PUB", wire.AppendPub(nil, wire.PubHeader{}, nil), wire.CodeProtocol},
		{"TAG", wire.AppendTag(nil, wire.TagFrame{Ref: 1, Name: "a"}), wire.CodeProtocol},
		{"frame without a message within one", append(callFrame(1, wire.FlagMore|wire.FlagEnd, "x"),
			wire.AppendData(nil, wire.DataFrame{Flags: wire.FlagNoMessage | wire.FlagEnd, Call: 1})...), wire.CodeProtocol},
		{"malformed extension", wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagEnd, Call: 1, Extension: []byte{1, 0, 9, 0}}), wire.CodeProtocol},
		{"frame above the limit", []byte{0, 0xff, 0, 0}, wire.CodeTooLarge},
		{"more calls than allowed", append(append(callFrame(1, 0, "x"), callFrame(3, 0, "x")...), callFrame(5, 0, "x")...), wire.CodeCredit},
		{"more bytes than the window", append(append(callFrame(1, wire.FlagMore|wire.FlagEnd, strings.Repeat("x", 1000)),
			callFrame(3, wire.FlagMore|wire.FlagEnd, strings.Repeat("x", 1000))...), callFrame(5, wire.FlagEnd, "x")...), wire.CodeCredit},
	} {
		t.Run(each.name, func(t *testing.T) {
			drivers(t, func(t *testing.T, tr transport.Transport, addr string) {
				p := native.Protocol{MaxCalls: 2, Window: 1000, StreamWindow: 100}
				if each.name == "more bytes than the window" {
					p.MaxCalls = 10
				}
				c := connect(t, tr, listen(t, p, tr, addr))
				c.greet()
				if each.name == "more calls than allowed" { // of a method that does not return
					c.write(wire.AppendMethod(nil, wire.MethodFrame{Method: "echo.Echo.Wait", Content: "x"}))
				}
				c.write(each.bytes)
				for {
					f := c.read()
					if f == nil {
						t.Fatal("the connection ended without GOAWAY")
					}
					if f.Kind() != wire.Goaway {
						continue // responses to calls before
					}
					if g, err := wire.ParseGoaway(f); err != nil || g.Code != each.want {
						t.Errorf("got %+v, %v, want %v", g, err, each.want)
					}
					break
				}
				if f := c.read(); f != nil {
					t.Errorf("behind GOAWAY the server sent %x", []byte(f))
				}
			})
		})
	}
}

// TestFramesThatCross sends frames of calls that the server does not know any more. The connection goes on.
func TestFramesThatCross(t *testing.T) {
	drivers(t, func(t *testing.T, tr transport.Transport, addr string) {
		c := connect(t, tr, listen(t, native.Protocol{}, tr, addr))
		c.greet()
		c.write(wire.AppendData(nil, wire.DataFrame{Call: 9, Message: []byte("x")}))
		c.write(wire.AppendCancel(nil, wire.CancelFrame{Call: 9, Code: 1}))
		c.write(wire.AppendCallCredit(nil, wire.CallCreditFrame{Call: 9, Bytes: 1 << 31}))
		c.write(wire.AppendReply(nil, wire.ReplyFrame{Call: 2, Message: []byte("of no call")}))
		c.write(wire.AppendData(nil, wire.DataFrame{Call: 4, Message: []byte("of no call")}))
		c.write(callFrame(1, wire.FlagEnd, "x"))
		if r := c.reply(); r.Call != 1 || string(r.Message) != "x" {
			t.Errorf("got %+v", r)
		}
		c.write(callFrame(1, wire.FlagEnd, "y")) // REPLY has freed the number
		if r := c.reply(); r.Call != 1 || string(r.Message) != "y" {
			t.Errorf("got %+v", r)
		}
		c.write(wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagEnd | wire.FlagCompressed, Compression: 9, Call: 3, Message: []byte("x")}))
		if r := c.reply(); r.Call != 3 || call.Code(r.Code) != call.Unimplemented {
			t.Errorf("an unknown compression: got %+v", r)
		}
		c.write(wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagEnd | wire.FlagCompressed, Compression: wire.Gzip, Call: 5, Message: []byte("no gzip")}))
		if r := c.reply(); r.Call != 5 || r.Code == 0 {
			t.Errorf("a message that cannot be decompressed: got %+v", r)
		}
	})
}

// TestFirstFrames connects with what is no HELLO of version 2.
func TestFirstFrames(t *testing.T) {
	for _, each := range []struct {
		name  string
		bytes []byte
		want  wire.Code
	}{
		{"version 1", wire.AppendHello(nil, wire.HelloFrame{MinVersion: 1, MaxVersion: 1}), wire.CodeVersion},
		{"PING", wire.AppendPing(nil, false, 1), wire.CodeProtocol},
		{"HTTP", []byte("GET / HTTP/1.1\r\n\r\n"), wire.CodeProtocol},
		{"nothing", nil, wire.CodeTimeout},
		{"wrong token", wire.AppendHello(nil, wire.HelloFrame{MinVersion: 2, MaxVersion: 2, Token: []byte("guess")}), wire.CodeUnauthenticated},
	} {
		t.Run(each.name, func(t *testing.T) {
			drivers(t, func(t *testing.T, tr transport.Transport, addr string) {
				p := native.Protocol{HandshakeTimeout: 200 * time.Millisecond, Log: slog.New(slog.DiscardHandler), Authenticate: func(native.Credentials) (string, error) {
					return "", errors.New("no such token")
				}}
				if each.want != wire.CodeTimeout {
					p.HandshakeTimeout = 0
				}
				c := connect(t, tr, listen(t, p, tr, addr))
				if len(each.bytes) > 0 {
					c.write(each.bytes)
				}
				f := c.read()
				if f == nil {
					t.Fatal("the connection ended without GOAWAY")
				}
				if g, err := wire.ParseGoaway(f); err != nil || g.Code != each.want || strings.Contains(g.Reason, "guess") {
					t.Errorf("got %+v, %v, want %v", g, err, each.want)
				}
				if f := c.read(); f != nil {
					t.Errorf("behind GOAWAY the server sent %x", []byte(f))
				}
			})
		})
	}
}

// TestIdleConnections measures what an idle connection costs the server.
func TestIdleConnections(t *testing.T) {
	l := listen(t, native.Protocol{}, tcp.New(nil), "127.0.0.1:0")
	connect(t, tcp.New(nil), l).greet()
	used := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	const count = 500
	conns := make([]*wireClient, 0, count)
	goroutines, before := runtime.NumGoroutine(), used()
	for range count {
		c := connect(t, tcp.New(nil), l)
		c.greet()
		c.write(callFrame(1, wire.FlagEnd, "x"))
		if r := c.reply(); r.Code != 0 {
			t.Fatal(r)
		}
		c.buf = nil
		conns = append(conns, c)
	}
	if each := (int64(used()) - int64(before)) / count; each > 4<<10 {
		t.Errorf("an idle connection and its client need %d bytes, want at most 4096", each)
	} else {
		t.Logf("an idle connection and its client need %d bytes", each)
	}
	if n := runtime.NumGoroutine() - goroutines; n > 20 {
		t.Errorf("%d idle connections have %d goroutines", count, n)
	}
	runtime.KeepAlive(conns)
}
