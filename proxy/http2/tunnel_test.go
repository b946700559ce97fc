package http2

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"

	wire "example.com/ferry/protocol/http2"
)

// connect asks for a tunnel.
func (p *peer) connect(protocol, path string, end bool) (*wire.Stream, *exchangeOf) {
	p.tb.Helper()
	s, x := p.h2.Open(), &exchangeOf{}
	s.User = x
	e := s.BeginHeaders()
	e.Method([]byte("CONNECT"))
	e.Protocol([]byte(protocol))
	e.Scheme([]byte("http"))
	e.Authority([]byte("a"))
	e.Path([]byte(path))
	e.FieldString("sec-websocket-version", "13")
	e.FieldString("sec-websocket-key", "of the client")
	e.End(end)
	return s, x
}

// websocketServer accepts an upgrade, and then echoes bytes until the end, which it echoes too. The path may say what it
// does wrong.
func websocketServer(tb testing.TB) string {
	return proxytest.Script(tb, func(conn net.Conn, r *bufio.Reader) {
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			if req.Method != "GET" || req.Header.Get("Upgrade") != "websocket" || req.Header.Get("Connection") != "Upgrade" || len(req.Header["Sec-Websocket-Key"]) != 1 || req.ContentLength > 0 {
				tb.Errorf("the server got %s %v", req.Method, req.Header)
			}
			hash := sha1.Sum([]byte(req.Header.Get("Sec-Websocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
			accept, protocol := base64.StdEncoding.EncodeToString(hash[:]), "websocket"
			switch req.URL.Path {
			case "/refuses":
				_, _ = io.WriteString(conn, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
				continue
			case "/ignores":
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno")
				continue
			case "/key":
				accept = "wrong"
			case "/protocol":
				protocol = "other"
			}
			fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\nSec-WebSocket-Accept: %s\r\nX-Version: %s\r\n\r\nfirst ", protocol, accept, req.Header.Get("Sec-Websocket-Version"))
			_, _ = io.Copy(conn, r)
			return
		}
	})
}

func TestTunnels(t *testing.T) {
	r := start(t, setup{servers: []string{websocketServer(t)}, config: Config{HTTPConfig: exchange.HTTPConfig{BodyTimeout: proxytest.Patience}}})
	p := newPeer(t, r.addr)
	p.settle()
	s, x := p.connect("websocket", "/", false)
	s.Write([]byte("early "), false) // before the server has accepted
	p.until("the server accepts", func() bool { return x.status != 0 })
	if x.status != 200 || x.fields.Get("sec-websocket-accept") != nil || x.fields.Get("upgrade") != nil || string(x.fields.Get("x-version")) != "13" {
		t.Errorf("%d %v, want 200 without fields of HTTP/1.1", x.status, x.fields)
	}
	want := "first early "
	for i := range 100 {
		piece := fmt.Sprint(i, " ")
		s.Write([]byte(piece), false)
		want += piece
		p.until("the echo", func() bool { return string(x.body) == want || x.reset != nil })
	}
	if string(x.body) != want {
		t.Fatalf("%q, reset %v, want %q", x.body, x.reset, want)
	}
	s.Write([]byte("last"), true)
	p.over(x)
	if string(x.body) != want+"last" || !x.complete {
		t.Errorf("%q, complete %v, reset %v", x.body, x.complete, x.reset)
	}
	for _, row := range []struct {
		protocol, path string
		end            bool
		status         int
	}{
		{"websocket", "/refuses", false, 403},
		{"websocket", "/refuses", false, 403}, // on the same connection
		{"websocket", "/ignores", false, 502},
		{"websocket", "/key", false, 502},
		{"websocket", "/protocol", false, 502},
		{"connect-udp", "/", false, 501},
		{"websocket", "/", true, 400},
	} {
		s, x := p.connect(row.protocol, row.path, row.end)
		p.until("the response", func() bool { return x.complete })
		if x.status != row.status {
			t.Errorf("%s of %s: %d, want %d", row.protocol, row.path, x.status, row.status)
		}
		s.Release()
	}
	s, x = p.connect("websocket", "/", false)
	p.until("the server accepts", func() bool { return string(x.body) == "first " })
	s.Reset(wire.Cancel)
	p.flush()
	r.eventually("the request ends", func() bool {
		for _, c := range r.plan.Clusters {
			if c.Snapshot().Active > 0 {
				return false
			}
		}
		return true
	})
	p.conn.Close()
	r.settled()
}

// TestIdleTunnel: a tunnel ends when no byte moves for the body timeout.
func TestIdleTunnel(t *testing.T) {
	r := start(t, setup{servers: []string{websocketServer(t)}, config: Config{HTTPConfig: exchange.HTTPConfig{BodyTimeout: 10 * proxytest.Brief}}})
	p := newPeer(t, r.addr)
	_, x := p.connect("websocket", "/", false)
	p.over(x)
	if x.status != 200 || x.reset == nil {
		t.Errorf("%d, reset %v", x.status, x.reset)
	}
}

// TestTunnelLongerThanMaxBody: max_body bounds the bodies of requests. A tunnel carries more bytes.
func TestTunnelLongerThanMaxBody(t *testing.T) {
	r := start(t, setup{servers: []string{websocketServer(t)}, config: Config{MaxBody: 10, HTTPConfig: exchange.HTTPConfig{BodyTimeout: proxytest.Patience}}})
	p := newPeer(t, r.addr)
	p.settle()
	s, x := p.connect("websocket", "/", false)
	s.Write([]byte("twelve bytes"), false) // before the server has accepted
	p.until("the server accepts", func() bool { return x.status != 0 })
	s.Write([]byte(" and more bytes"), true)
	p.over(x)
	if got := string(x.body); x.status != 200 || got != "first twelve bytes and more bytes" || x.reset != nil {
		t.Errorf("%d %q, reset %v", x.status, got, x.reset)
	}
}

// TestTunnelEndedWhileConnecting: the client ends its side of a tunnel before there is a connection. The server gets the end after
// it has accepted the tunnel.
func TestTunnelEndedWhileConnecting(t *testing.T) {
	server := (&scriptedServer{
		config: wire.Config{ExtendedConnect: true},
		head: func(_ *scriptedConn, s *wire.Stream, _ *wire.Head, end bool) {
			if end {
				t.Error("the request for a tunnel ends with its head")
			}
			e := s.BeginHeaders()
			e.Status(200)
			e.End(false)
		},
		data: func(_ *scriptedConn, s *wire.Stream, _ []byte, end bool) { s.Write([]byte("ended"), end) },
	}).start(t)
	r := start(t, setup{servers: []string{server.addr}, connector: NewConnector(2), config: Config{HTTPConfig: exchange.HTTPConfig{BodyTimeout: proxytest.Patience}}})
	p := newPeer(t, r.addr)
	p.settle()
	s, x := p.connect("websocket", "/", false)
	s.Write(nil, true)
	p.over(x)
	if got := string(x.body); x.status != 200 || got != "ended" || x.reset != nil {
		t.Errorf("%d %q, reset %v", x.status, got, x.reset)
	}
}
