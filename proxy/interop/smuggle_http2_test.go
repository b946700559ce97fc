package interop

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"example.com/ferry/proxy/proxytest"
)

// stream2 is a request or a response of HTTP/2 as its frames. Nothing in it is checked.
type stream2 struct {
	name     string
	fields   []string // "name: value", without a table
	data     []string // DATA frames; nil ends the stream with the head
	trailers []string // ends the stream after the data
	forwards bool     // the other side gets it as one message
	tunnel   bool     // a server of HTTP/1.1 gets a request to upgrade, which it does not do
	late     bool     // the fault follows a whole message in the last DATA frame: a peer of HTTP/1.1 may get that message
}

// line returns the first line of a request without the version. A request to upgrade is a GET.
func (s stream2) line() string {
	values := map[string]string{}
	for _, f := range s.fields {
		name, value, _ := strings.Cut(f[1:], ": ")
		values[name] = value
	}
	return strings.Replace(values["method"], "CONNECT", "GET", 1) + " " + values["path"]
}

// body returns what the peer of HTTP/1.1 may get as the body.
func (s stream2) body() string {
	if s.late {
		return strings.Join(s.data[:len(s.data)-1], "")
	}
	return strings.Join(s.data, "")
}

// requests2 are requests that servers of HTTP/1.1 could read as two, or that RFC 9113 forbids.
func requests2() []stream2 {
	get := []string{":method: GET", ":scheme: http", ":path: /case", ":authority: a"}
	post := []string{":method: POST", ":scheme: http", ":path: /case", ":authority: a"}
	with := func(more ...string) []string { return slices.Concat(get, more) }
	posts := func(more ...string) []string { return slices.Concat(post, more) }
	replaced := func(prefix string, by ...string) []string {
		lines := slices.DeleteFunc(slices.Clone(get), func(l string) bool { return strings.HasPrefix(l, prefix) })
		return slices.Concat(by, lines)
	}
	const second = "GET /second HTTP/1.1\r\nHost: a\r\n\r\n"
	const chunks = "0\r\n\r\n" + second
	return []stream2{
		{name: "get", fields: get, forwards: true},
		{name: "post", fields: post, data: []string{second}, forwards: true},
		{name: "post with a length", fields: posts("content-length: 3"), data: []string{"a", "bc"}, forwards: true},
		{name: "body of an empty chunk and a request", fields: post, data: []string{chunks}, forwards: true},
		{name: "get with a body", fields: get, data: []string{second}, forwards: true},
		{name: "get with a length of 0 and a body", fields: []string{":method: GET", ":scheme: http", ":path: /late", ":authority: a", "content-length: 0"}, data: []string{second}, late: true},
		{name: "te: trailers", fields: with("te: trailers"), forwards: true},
		{name: "cookies", fields: with("cookie: a=b", "cookie: c=d"), forwards: true},
		{name: "host equal to :authority", fields: with("host: a"), forwards: true},
		{name: "host without :authority", fields: append(replaced(":authority"), "host: a"), forwards: true},
		{name: "OPTIONS *", fields: []string{":method: OPTIONS", ":scheme: http", ":path: *", ":authority: a"}, forwards: true},
		{name: "trailers", fields: post, data: []string{"a"}, trailers: []string{"x-end: 1"}, forwards: true},
		{name: "value with colons and commas", fields: with("x: a:b,c;d=\"e"), forwards: true},

		{name: "CR LF in a value", fields: with("x: a\r\ntransfer-encoding: chunked"), data: []string{chunks}},
		{name: "LF in a value", fields: with("x: a\ncontent-length: 0")},
		{name: "CR in a value", fields: with("x: a\rb")},
		{name: "NUL in a value", fields: with("x: a\x00b")},
		{name: "end of the head in a value", fields: with("x: a\r\n\r\n" + second)},
		{name: "CR LF in a name", fields: with("x\r\nhost: b")},
		{name: "colon and space in a name", fields: with("x: b\r\ny: c")},
		{name: "transfer-encoding in a name", fields: with("transfer-encoding:chunked\r\nx: a")},
		{name: "space in a name", fields: with("content-length : 5")},
		{name: "tab after a name", fields: with("transfer-encoding\t: chunked")},
		{name: "empty name", fields: with(": a")},
		{name: "upper case", fields: with("Content-Length: 5")},
		{name: "name beyond ASCII", fields: with("tr\xc3\xa4nsfer: chunked")},
		{name: "leading space in a value", fields: with("x:  a")},
		{name: "space before content-length", fields: with(" content-length: 5")},

		{name: "transfer-encoding", fields: posts("transfer-encoding: chunked"), data: []string{chunks}},
		{name: "transfer-encoding and content-length", fields: posts("transfer-encoding: chunked", "content-length: 5"), data: []string{chunks}},
		{name: "transfer-encoding: identity", fields: posts("transfer-encoding: identity"), data: []string{"a"}},
		{name: "connection", fields: with("connection: close")},
		{name: "connection that names content-length", fields: posts("connection: content-length", "content-length: 1"), data: []string{"a"}},
		{name: "keep-alive", fields: with("keep-alive: timeout=5")},
		{name: "proxy-connection", fields: with("proxy-connection: keep-alive")},
		{name: "upgrade", fields: with("upgrade: websocket")},
		{name: "te: chunked", fields: with("te: chunked")},
		{name: "te: trailers, chunked", fields: with("te: trailers, chunked")},

		{name: "longer than its length", fields: posts("content-length: 1"), data: []string{"a" + second}},
		{name: "longer than its length, later", fields: []string{":method: POST", ":scheme: http", ":path: /late", ":authority: a", "content-length: 1"}, data: []string{"a", second}, late: true},
		{name: "shorter than its length", fields: posts("content-length: 100"), data: []string{"a"}},
		{name: "a length without a body", fields: posts("content-length: 5")},
		{name: "shorter than its length, with trailers", fields: posts("content-length: 100"), data: []string{"a"}, trailers: []string{"x: a"}},
		{name: "two lengths", fields: posts("content-length: 1", "content-length: 2"), data: []string{"a"}},
		{name: "a length twice", fields: posts("content-length: 1", "content-length: 1"), data: []string{"a"}},
		{name: "a list of lengths", fields: posts("content-length: 1, 1"), data: []string{"a"}},
		{name: "length +1", fields: posts("content-length: +1"), data: []string{"a"}},
		{name: "length -1", fields: posts("content-length: -1"), data: []string{"a"}},
		{name: "length 0x1", fields: posts("content-length: 0x1"), data: []string{"a"}},
		{name: "length with a space", fields: posts("content-length: 1 0"), data: []string{"a"}},
		{name: "empty length", fields: posts("content-length: "), data: []string{"a"}},
		{name: "length that overflows", fields: posts("content-length: 18446744073709551617"), data: []string{"a"}},

		{name: ":method twice", fields: with(":method: POST")},
		{name: ":path twice", fields: with(":path: /b")},
		{name: ":path twice in order", fields: []string{":method: GET", ":scheme: http", ":path: /a", ":path: /b", ":authority: a"}},
		{name: ":authority twice", fields: []string{":method: GET", ":scheme: http", ":path: /", ":authority: a", ":authority: b"}},
		{name: "unknown pseudo-header field", fields: replaced(":none", ":version: HTTP/1.0")},
		{name: "pseudo-header field after a field", fields: append([]string{"x: a"}, get...)},
		{name: "pseudo-header field of responses", fields: replaced(":none", ":status: 200")},
		{name: "no :method", fields: replaced(":method")},
		{name: "no :path", fields: replaced(":path")},
		{name: "no :scheme", fields: replaced(":scheme")},
		{name: "no :authority", fields: replaced(":authority")},
		{name: "host that differs from :authority", fields: with("host: b")},
		{name: "two hosts", fields: append(replaced(":authority"), "host: a", "host: b")},
		{name: "host with a list", fields: append(replaced(":authority"), "host: a, b")},
		{name: ":authority with a space", fields: replaced(":authority", ":authority: a b")},
		{name: ":authority with CR LF", fields: replaced(":authority", ":authority: a\r\nx: b")},
		{name: ":authority with a path", fields: replaced(":authority", ":authority: a/b")},
		{name: ":authority with user information", fields: replaced(":authority", ":authority: b@a")},
		{name: "empty :authority", fields: replaced(":authority", ":authority: ")},

		{name: ":method with a space", fields: replaced(":method", ":method: GET /second HTTP/1.1")},
		{name: ":method with CR LF", fields: replaced(":method", ":method: GET / HTTP/1.1\r\nhost: a\r\n\r\nGET")},
		{name: "empty :method", fields: replaced(":method", ":method: ")},
		{name: ":path with a space", fields: replaced(":path", ":path: /case HTTP/1.1")},
		{name: ":path with a request", fields: replaced(":path", ":path: /case HTTP/1.1\r\nhost: a\r\n\r\nGET /second")},
		{name: ":path with a tab", fields: replaced(":path", ":path: /case\tHTTP/1.1")},
		{name: ":path with LF", fields: replaced(":path", ":path: /case\n")},
		{name: ":path with NUL", fields: replaced(":path", ":path: /case\x00")},
		{name: ":path with a fragment", fields: replaced(":path", ":path: /case#b")},
		{name: "absolute :path", fields: replaced(":path", ":path: http://b/case")},
		{name: "empty :path", fields: replaced(":path", ":path: ")},
		{name: ":path without a slash", fields: replaced(":path", ":path: case")},
		{name: "GET *", fields: replaced(":path", ":path: *")},
		{name: ":scheme with CR LF", fields: replaced(":scheme", ":scheme: http://b/ HTTP/1.1\r\nx: ")},
		{name: ":scheme with a path", fields: replaced(":scheme", ":scheme: http://b/second?")},
		{name: "empty :scheme", fields: replaced(":scheme", ":scheme: ")},

		{name: "CONNECT", fields: []string{":method: CONNECT", ":authority: a:80"}, data: []string{second}},
		{name: "CONNECT with :path", fields: []string{":method: CONNECT", ":authority: a:80", ":path: /", ":scheme: http"}},
		{name: ":protocol with GET", fields: with(":protocol: websocket")},
		{name: "extended CONNECT without :path", fields: []string{":method: CONNECT", ":protocol: websocket", ":scheme: http", ":authority: a"}},
		{name: "extended CONNECT of an unknown protocol", fields: []string{":method: CONNECT", ":protocol: chat", ":scheme: http", ":path: /case", ":authority: a"}, data: []string{second}},
		{name: ":protocol with CR LF", fields: []string{":method: CONNECT", ":protocol: websocket\r\nx: a", ":scheme: http", ":path: /case", ":authority: a"}, data: []string{second}},
		{name: "extended CONNECT with a length", fields: []string{":method: CONNECT", ":protocol: websocket", ":scheme: http", ":path: /case", ":authority: a", "content-length: 0"}, data: []string{second}, tunnel: true},
		{name: "extended CONNECT and a request before the response", fields: []string{":method: CONNECT", ":protocol: websocket", ":scheme: http", ":path: /case", ":authority: a"}, data: []string{second}, tunnel: true},

		{name: "pseudo-header field in trailers", fields: post, data: []string{"a"}, trailers: []string{":path: /second"}},
		{name: "CR LF in trailers", fields: post, data: []string{"a"}, trailers: []string{"x: a\r\n\r\n" + second}},
		{name: "transfer-encoding in trailers", fields: post, data: []string{"a"}, trailers: []string{"transfer-encoding: chunked"}},
		{name: "upper case in trailers", fields: post, data: []string{"a"}, trailers: []string{"X: a"}},
		{name: "content-length in trailers", fields: post, data: []string{"a"}, trailers: []string{"content-length: 1"}},
		{name: "host in trailers", fields: post, data: []string{"a"}, trailers: []string{"host: a"}},
	}
}

// recorder notes the requests that arrive on its connections, as net/http reads them from bytes of HTTP/1.1, with their bodies. What
// follows the last request on a connection, and is none, is noted too.
type recorder struct {
	address string
	mu      sync.Mutex
	lines   []string
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{}
	r.address = proxytest.Serve(t, r.serve)
	return r
}

func (r *recorder) serve(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(patience))
	for in := bufio.NewReader(conn); ; {
		req, err := http.ReadRequest(in)
		if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
			return
		}
		var netErr net.Error
		if errors.As(err, &netErr) {
			return
		}
		if err != nil {
			r.note("not a request: " + err.Error())
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return // the request was reset
		}
		line := req.Method + " " + req.RequestURI
		r.note(withBody(line, string(body)))
		if _, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s\n", len(line)+1, line); err != nil {
			return
		}
	}
}

// withBody appends a body to the first line of a request, if there is one.
func withBody(line, body string) string {
	if body == "" {
		return line
	}
	return fmt.Sprintf("%s %q", line, body)
}

func (r *recorder) note(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
}

func (r *recorder) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

// frames is a connection of HTTP/2 that sends any frames.
type frames struct {
	*http2.Framer
	conn  net.Conn
	block bytes.Buffer
	last  uint32 // stream
}

func dialFrames(t *testing.T, address string) *frames {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	f := &frames{Framer: http2.NewFramer(conn, conn), conn: conn}
	f.AllowIllegalWrites = true
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	_ = f.WriteSettings()
	return f
}

// headers sends lines of the form "name: value".
func (f *frames) headers(stream uint32, lines []string, end bool) {
	f.block.Reset()
	for _, line := range lines {
		at := strings.Index(line[min(1, len(line)):], ": ") + 1
		// A literal that is never indexed, without Huffman coding: RFC 7541, section 6.2.3.
		f.block.WriteByte(0x10)
		for _, s := range []string{line[:at], line[at+2:]} {
			n := len(s)
			if n < 127 {
				f.block.WriteByte(byte(n))
			} else { // at most 254 bytes
				f.block.Write([]byte{127, byte(n - 127)})
			}
			f.block.WriteString(s)
		}
	}
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: f.block.Bytes(), EndStream: end, EndHeaders: true})
}

// send sends a request and returns its stream.
func (f *frames) send(s stream2) uint32 {
	f.last += 2
	f.sendOn(f.last-1, s)
	return f.last - 1
}

// sendOn sends a request or a response on a stream.
func (f *frames) sendOn(stream uint32, s stream2) {
	if s.fields != nil {
		f.headers(stream, s.fields, s.data == nil && s.trailers == nil)
	}
	for i, d := range s.data {
		_ = f.WriteData(stream, i == len(s.data)-1 && s.trailers == nil, []byte(d))
	}
	if s.trailers != nil {
		f.headers(stream, s.trailers, true)
	}
}

// response2 is what a stream of HTTP/2 gets.
type response2 struct {
	status string
	body   string
	reset  http2.ErrCode
	ended  bool // with END_STREAM
	closed bool // the connection ended
}

// receive reads frames until the stream ends.
func (f *frames) receive(stream uint32) (got response2) {
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			got.closed = true
			return got
		}
		if s, ok := frame.(*http2.SettingsFrame); ok && !s.IsAck() {
			_ = f.WriteSettingsAck()
		}
		if frame.Header().StreamID != stream {
			continue
		}
		switch frame := frame.(type) {
		case *http2.RSTStreamFrame:
			got.reset = frame.ErrCode
			return got
		case *http2.MetaHeadersFrame:
			if s := frame.PseudoValue("status"); s != "" {
				got.status = s
			}
			got.ended = frame.StreamEnded()
		case *http2.DataFrame:
			got.body += string(frame.Data())
			got.ended = frame.StreamEnded()
		}
		if got.ended {
			return got
		}
	}
}

// TestSmugglingHTTP2 sends each request through ferry to a server of HTTP/1.1 and to one of HTTP/2, and then a marked one on the same
// connection. The server sees nothing of a request that ferry refuses, one request of each that ferry forwards, and the marked
// request. Both get their own responses. A refused request gets PROTOCOL_ERROR or a status of 400 and above.
//
// ferry forwards a body while it arrives. If more follows than content-length says, in a later frame, a server of HTTP/1.1 may have the
// whole request by then. It may respond before the fault arrives, or process the request later. It sees nothing of what follows.
func TestSmugglingHTTP2(t *testing.T) {
	raw, inGo := newRecorder(t), newRecordingServer(t)
	g := newAuthority(t).gateway(t, "http2", []origin{{name: "http1", address: raw.address, protocol: "http1"}, {name: "http2", address: inGo.address, protocol: "http2"}})
	for server, seen := range map[string]func() []string{"http1": raw.seen, "http2": inGo.seen} {
		t.Run(server, func(t *testing.T) {
			refused, before := 0, 0
			early := map[string]bool{} // requests of late cases that the server may have
			for i, s := range requests2() {
				f := dialFrames(t, g.address(server, false))
				got := f.receive(f.send(s))
				mark := fmt.Sprintf("GET /mark-%d", i)
				marked := response2{closed: true}
				if !got.closed {
					marked = f.receive(f.send(stream2{fields: []string{":method: GET", ":scheme: http", ":path: " + mark[4:], ":authority: a"}}))
				}
				if marked.status != "200" || marked.body != mark+"\n" || !marked.ended {
					t.Errorf("%s: the marked request got %+v", s.name, marked)
				}
				all := seen()
				lines := all[before:]
				before = len(all)
				if s.late && server == "http1" {
					early[withBody(s.line(), s.body())] = true
				}
				lines = slices.DeleteFunc(lines, func(l string) bool {
					is := early[l]
					delete(early, l)
					return is
				})
				want := []string{mark}
				switch {
				case s.tunnel && server == "http1":
					want = []string{s.line(), mark}
				case s.forwards:
					want = []string{withBody(s.line(), s.body()), mark}
				}
				if !slices.Equal(lines, want) {
					t.Errorf("%s: the server saw %q, want %q", s.name, lines, want)
				}
				switch {
				case s.late && server == "http1" && got.status == "200" && got.body == s.line()+"\n" && got.ended:
				case s.forwards && (got.status != "200" || got.body != s.line()+"\n" || !got.ended):
					t.Errorf("%s: got %+v, want the response", s.name, got)
				case !s.forwards && (got.reset != http2.ErrCodeProtocol && got.status < "400"):
					t.Errorf("%s: got %+v, want PROTOCOL_ERROR or a status of 400 and above", s.name, got)
				case !s.forwards:
					refused++
				}
				f.conn.Close()
			}
			t.Logf("%d cases, %d refused", len(requests2()), refused)
		})
	}
	g.waitIdle()
}
