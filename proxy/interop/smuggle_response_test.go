package interop

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"example.com/ferry/proxy/proxytest"
)

// responses2 are responses of a server of HTTP/2 that a client of HTTP/1.1 could read as two, or that RFC 9113 forbids.
func responses2() []stream2 {
	const second = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled"
	ok := func(more ...string) []string { return append([]string{":status: 200"}, more...) }
	return []stream2{
		{name: "whole", fields: ok("content-length: 3"), data: []string{"abc"}, forwards: true},
		{name: "whole without a length", fields: ok(), data: []string{"a", "bc"}, forwards: true},
		{name: "whole with trailers", fields: ok(), data: []string{"abc"}, trailers: []string{"x: a"}, forwards: true},
		{name: "204 that ends later", fields: []string{":status: 204"}, data: []string{""}, forwards: true},
		{name: "304 that ends later", fields: []string{":status: 304", "content-length: 5"}, data: []string{""}, forwards: true},
		{name: "empty chunk in a body", fields: ok(), data: []string{"0\r\n\r\n" + second}, forwards: true},

		{name: "CR LF in a value", fields: ok("x: a\r\ncontent-length: 0\r\n\r\n" + second)},
		{name: "LF in a value", fields: ok("x: a\ntransfer-encoding: chunked"), data: []string{second}},
		{name: "NUL in a value", fields: ok("x: a\x00")},
		{name: "CR LF in a name", fields: ok("x\r\ncontent-length: 0")},
		{name: "colon in a name", fields: ok("content-length:0\r\nx: a")},
		{name: "upper case", fields: ok("Content-Length: 0")},
		{name: "transfer-encoding", fields: ok("transfer-encoding: chunked"), data: []string{"0\r\n\r\n" + second}},
		{name: "connection", fields: ok("connection: content-length", "content-length: 3"), data: []string{"abc"}},
		{name: "upgrade", fields: ok("upgrade: h2c")},
		{name: "longer than its length", fields: ok("content-length: 1"), data: []string{"a" + second}},
		{name: "longer than its length, later", fields: ok("content-length: 1"), data: []string{"a", second}, late: true},
		{name: "shorter than its length", fields: ok("content-length: 100"), data: []string{"a"}},
		{name: "two lengths", fields: ok("content-length: 1", "content-length: 80"), data: []string{"a"}},
		{name: "length +1", fields: ok("content-length: +1"), data: []string{"a"}},
		{name: "a list of lengths", fields: ok("content-length: 1, 1"), data: []string{"a"}},
		{name: "a length without a body", fields: ok("content-length: 5")},
		{name: "204 with a body", fields: []string{":status: 204"}, data: []string{second}, late: true},
		{name: "304 with a body", fields: []string{":status: 304"}, data: []string{second}, late: true},
		{name: "status 101", fields: []string{":status: 101"}, data: []string{second}},
		{name: "status with CR LF", fields: []string{":status: 200 OK\r\nContent-Length: 0\r\n\r\n" + second}},
		{name: "status of four digits", fields: []string{":status: 2000"}},
		{name: "status 099", fields: []string{":status: 099"}},
		{name: "no status", fields: []string{"x: a"}},
		{name: "two statuses", fields: []string{":status: 200", ":status: 404"}},
		{name: "pseudo-header field of requests", fields: ok(":path: /")},
		{name: "pseudo-header field after a field", fields: []string{"x: a", ":status: 200"}},
		{name: "interim response that ends", fields: []string{":status: 103"}},
		{name: "CR LF in trailers", fields: ok(), data: []string{"abc"}, trailers: []string{"x: a\r\n\r\n" + second}},
		{name: "status in trailers", fields: ok(), data: []string{"abc"}, trailers: []string{":status: 200"}},
		{name: "content-length in trailers", fields: ok(), data: []string{"abc"}, trailers: []string{"content-length: 0"}},
		{name: "body before the head", data: []string{second}},
	}
}

// serveFrames runs a server of HTTP/2 that responds with s to /case, and to other paths with status 200.
func serveFrames(t *testing.T, s stream2) string {
	return proxytest.Serve(t, func(conn net.Conn) {
		_ = conn.SetDeadline(time.Now().Add(patience))
		if _, err := io.CopyN(io.Discard, conn, int64(len(http2.ClientPreface))); err != nil {
			return
		}
		f := &frames{Framer: http2.NewFramer(conn, conn), conn: conn}
		f.AllowIllegalWrites = true
		f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		_ = f.WriteSettings()
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			switch frame := frame.(type) {
			case *http2.SettingsFrame:
				if !frame.IsAck() {
					_ = f.WriteSettingsAck()
				}
			case *http2.PingFrame:
				_ = f.WritePing(true, frame.Data)
			case *http2.MetaHeadersFrame:
				response := stream2{fields: []string{":status: 200"}, data: []string{"marked"}}
				if frame.PseudoValue("path") == "/case" {
					response = s
				}
				f.sendOn(frame.StreamID, response)
			}
		}
	})
}

// TestSmuggledResponses: a server of HTTP/2 sends each response to clients of both versions. A client gets the response, or 502, or the
// end of its stream or connection. It never gets a part of one as a response of its own. If the fault of a response arrives after a
// whole message, a client of HTTP/1.1 may have that message; the next response is right, or the connection ends.
func TestSmuggledResponses(t *testing.T) {
	const mark = "GET /mark HTTP/1.1\r\nHost: a\r\n\r\n"
	a := newAuthority(t)
	var origins []origin
	cases := map[string]stream2{}
	for _, s := range responses2() {
		name := strings.NewReplacer(" ", "-", ",", "", "+", "plus").Replace(s.name)
		cases[name] = s
		origins = append(origins, origin{name: name, address: serveFrames(t, s), protocol: "http2"})
	}
	g := a.gateway(t, "http", origins)
	for name, s := range cases {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", g.address(name, false))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(patience))
			if _, err := io.WriteString(conn, strings.Replace(mark, "/mark", "/case", 1)+mark); err != nil {
				t.Fatal(err)
			}
			_ = conn.(*net.TCPConn).CloseWrite()
			all, _ := io.ReadAll(conn) // the connection may be reset within a response
			in := bufio.NewReader(strings.NewReader(string(all)))
			status, body, _, err := readResponse(in, http.MethodGet)
			whole := err == nil && slices.Contains(s.fields, ":status: "+strconv.Itoa(status)) && body == s.body()
			early := s.late && whole // the fault arrived after the whole response
			switch {
			case early:
			case s.forwards && !whole:
				t.Errorf("the client of HTTP/1.1 got status %d, %q, %v", status, body, err)
			case !s.forwards && err == nil && status != http.StatusBadGateway:
				t.Errorf("the client of HTTP/1.1 got status %d, %q: %q", status, body, all)
			}
			_, ended := in.Peek(1)
			if err == nil && (!early || ended == nil) {
				status, body, _, err := readResponse(in, http.MethodGet)
				if rest, _ := io.ReadAll(in); err != nil || status != http.StatusOK || body != "marked" || len(rest) > 0 {
					t.Errorf("the marked request of HTTP/1.1 got status %d, %q, %v, and then %q: %q", status, body, err, rest, all)
				}
			}

			f := dialFrames(t, g.address(name, false))
			get := []string{":method: GET", ":scheme: http", ":path: /case", ":authority: a"}
			got := f.receive(f.send(stream2{fields: get}))
			switch {
			case s.forwards && (!slices.Contains(s.fields, ":status: "+got.status) || got.body != strings.Join(s.data, "") || !got.ended):
				t.Errorf("the client of HTTP/2 got %+v", got)
			case !s.forwards && got.ended && got.status != "502":
				t.Errorf("the client of HTTP/2 got %+v, want 502 or a reset", got)
			}
			get[2] = ":path: /mark"
			if got := f.receive(f.send(stream2{fields: get})); got.status != "200" || got.body != "marked" {
				t.Errorf("the marked request of HTTP/2 got %+v", got)
			}
			f.conn.Close()
		})
	}
	g.waitIdle()
}
