package http1

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func lines(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

func mustRequest(t *testing.T, text string) ([]byte, *Head) {
	t.Helper()
	data, h := []byte(lines(text)), &Head{}
	if n, err := ParseRequest(data, h, nil); n == 0 || err != nil {
		t.Fatalf("%q: %d, %v, want a whole head", data, n, err)
	}
	return data, h
}

func mustResponse(t *testing.T, text string, asked Method) ([]byte, *Head) {
	t.Helper()
	data, h := []byte(lines(text)), &Head{}
	if n, err := ParseResponse(data, h, asked, nil); n == 0 || err != nil {
		t.Fatalf("%q: %d, %v, want a whole head", data, n, err)
	}
	return data, h
}

func TestHead(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"origin", "GET /a/b?c HTTP/1.1\nHost: x:1\n\n", "GET 0 /a/b c x:1 framing 0 0 keep true expect false upgrade false"},
		{"no query", "POST /a HTTP/1.1\nHost: x\nContent-Length: 7\n\n", "POST 0 /a  x framing 1 7 keep true expect false upgrade false"},
		{"absolute", "PUT http://y/p?q HTTP/1.1\nHost: x\nConnection: close\nTransfer-Encoding: chunked\n\n", "PUT 1 /p q y framing 2 0 keep false expect false upgrade false"},
		{"authority", "CONNECT y:443 HTTP/1.1\nHost: x\n\n", "CONNECT 2   y:443 framing 0 0 keep true expect false upgrade false"},
		{"asterisk", "OPTIONS * HTTP/1.1\nHost: x\n\n", "OPTIONS 3   x framing 0 0 keep true expect false upgrade false"},
		{"1.0", "GET / HTTP/1.0\n\n", "GET 0 /   framing 0 0 keep false expect false upgrade false"},
		{"1.0 keep-alive", "GET / HTTP/1.0\nConnection: Keep-Alive\n\n", "GET 0 /   framing 0 0 keep true expect false upgrade false"},
		{"1.0 both", "GET / HTTP/1.0\nConnection: keep-alive, close\n\n", "GET 0 /   framing 0 0 keep false expect false upgrade false"},
		{"expect", "PUT / HTTP/1.1\nHost: x\nExpect: 100-continue\nContent-Length: 1\n\n", "PUT 0 /  x framing 1 1 keep true expect true upgrade false"},
		{"upgrade", "GET / HTTP/1.1\nHost: x\nConnection: Upgrade\nUpgrade: websocket\n\n", "GET 0 /  x framing 0 0 keep true expect false upgrade true"},
		{"upgrade unnamed", "GET / HTTP/1.1\nHost: x\nUpgrade: websocket\n\n", "GET 0 /  x framing 0 0 keep true expect false upgrade false"},
		{"upgrade in 1.0", "GET / HTTP/1.0\nConnection: upgrade\nUpgrade: websocket\n\n", "GET 0 /   framing 0 0 keep false expect false upgrade false"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d, h := mustRequest(t, row.text)
			got := fmt.Sprintf("%s %d %s %s %s framing %d %d keep %v expect %v upgrade %v", h.MethodName.Of(d), h.Form, h.Path.Of(d),
				h.Query.Of(d), h.Authority.Of(d), h.Framing, h.Length, h.KeepAlive, h.Expect, h.Upgrade)
			if got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
			if name := string(h.MethodName.Of(d)); h.Method != methodOf([]byte(name)) || h.Method == MethodOther {
				t.Errorf("method %d of %s", h.Method, name)
			}
		})
	}
}

func TestResponseFraming(t *testing.T) {
	for _, row := range []struct {
		name, text string
		asked      Method
		framing    Framing
		length     int64
		keep       bool
	}{
		{"length", "HTTP/1.1 200 OK\nContent-Length: 3\n\n", MethodGet, Length, 3, true},
		{"HEAD", "HTTP/1.1 200 OK\nContent-Length: 3\n\n", MethodHead, NoBody, 0, true},
		{"304", "HTTP/1.1 304 Not Modified\nContent-Length: 3\n\n", MethodGet, NoBody, 0, true},
		{"204", "HTTP/1.1 204 No Content\n\n", MethodGet, NoBody, 0, true},
		{"100", "HTTP/1.1 100 Continue\n\n", MethodPost, NoBody, 0, true},
		{"101", "HTTP/1.1 101 Switching Protocols\nConnection: upgrade\nUpgrade: websocket\n\n", MethodGet, Tunnel, 0, true},
		{"CONNECT 200", "HTTP/1.1 200 OK\nContent-Length: 3\n\n", MethodConnect, Tunnel, 0, true},
		{"CONNECT 403", "HTTP/1.1 403 Forbidden\nContent-Length: 3\n\n", MethodConnect, Length, 3, true},
		{"chunked and close", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nConnection: close\n\n", MethodGet, Chunked, 0, false},
		{"until close", "HTTP/1.1 200 OK\n\n", MethodGet, UntilClose, 0, false},
		{"1.0", "HTTP/1.0 200 OK\nContent-Length: 3\n\n", MethodGet, Length, 3, false},
		{"1.0 keep-alive", "HTTP/1.0 200 OK\nContent-Length: 3\nConnection: keep-alive\n\n", MethodGet, Length, 3, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, h := mustResponse(t, row.text, row.asked)
			if h.Framing != row.framing || h.Length != row.length || h.KeepAlive != row.keep {
				t.Errorf("got framing %d, %d bytes, keep-alive %v, want %d, %d, %v", h.Framing, h.Length, h.KeepAlive, row.framing, row.length, row.keep)
			}
		})
	}
}

func TestAppendRequest(t *testing.T) {
	edits := func(set, add []Pair, remove ...string) *Edits {
		e, err := NewEdits(set, add, remove)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	const upgrade = "GET / HTTP/1.1\nHost: x\nUpgrade: websocket\nConnection: Upgrade\n\n"
	for _, row := range []struct {
		name, text string
		edit       RequestEdit
		want       string
	}{
		{"strip", "GET /api/x?q HTTP/1.1\nHost: x\n\n", RequestEdit{Strip: 4}, "GET /x?q HTTP/1.1\nHost: x\n\n"},
		{"strip all", "GET /api HTTP/1.1\nHost: x\n\n", RequestEdit{Strip: 4}, "GET / HTTP/1.1\nHost: x\n\n"},
		{"strip more than there is", "GET /api?q HTTP/1.1\nHost: x\n\n", RequestEdit{Strip: 40}, "GET /?q HTTP/1.1\nHost: x\n\n"},
		{"strip with the slash", "GET /api/x HTTP/1.1\nHost: x\n\n", RequestEdit{Strip: 5, Prefix: "/v2"}, "GET /v2/x HTTP/1.1\nHost: x\n\n"},
		{"prefix with a slash", "GET /api/x HTTP/1.1\nHost: x\n\n", RequestEdit{Strip: 4, Prefix: "/v2/"}, "GET /v2/x HTTP/1.1\nHost: x\n\n"},
		{"prefix alone", "GET /x HTTP/1.1\nHost: x\n\n", RequestEdit{Prefix: "/v2"}, "GET /v2/x HTTP/1.1\nHost: x\n\n"},
		{"prefix of an asterisk", "OPTIONS * HTTP/1.1\nHost: x\n\n", RequestEdit{Prefix: "/v2"}, "OPTIONS * HTTP/1.1\nHost: x\n\n"},
		{"prefix of a tunnel", "CONNECT y:1 HTTP/1.1\nHost: y:1\n\n", RequestEdit{Strip: 2}, "CONNECT y:1 HTTP/1.1\nHost: y:1\n\n"},
		{"host", "GET /x HTTP/1.1\nA: 1\nHost: x\nB: 2\n\n", RequestEdit{Host: "y:80"}, "GET /x HTTP/1.1\nHost: y:80\nA: 1\nB: 2\n\n"},
		{
			"forwarded, none trusted", "GET / HTTP/1.1\nHost: x\nX-Forwarded-For: 6.6.6.6\nX-Forwarded-Proto: https\n\n",
			RequestEdit{ForwardedFor: "1.2.3.4", Proto: "http"},
			"GET / HTTP/1.1\nHost: x\nX-Forwarded-For: 1.2.3.4\nX-Forwarded-Proto: http\n\n",
		},
		{
			"forwarded, trusted", "GET / HTTP/1.1\nHost: x\nX-Forwarded-For: a\nX-Forwarded-Proto: https\nx-forwarded-for: b, c\n\n",
			RequestEdit{ForwardedFor: "1.2.3.4", Proto: "http", KeepForwarded: true},
			"GET / HTTP/1.1\nHost: x\nX-Forwarded-Proto: https\nX-Forwarded-For: a, b, c, 1.2.3.4\n\n",
		},
		{
			"forwarded, trusted, but named by Connection", "GET / HTTP/1.1\nHost: x\nX-Forwarded-For: a\nConnection: x-forwarded-for\n\n",
			RequestEdit{ForwardedFor: "1.2.3.4", KeepForwarded: true},
			"GET / HTTP/1.1\nHost: x\nX-Forwarded-For: 1.2.3.4\n\n",
		},
		{"via", "GET / HTTP/1.0\nVia: 1.1 a\n\n", RequestEdit{Via: "ferry"}, "GET / HTTP/1.1\nHost: \nVia: 1.1 a\nVia: 1.0 ferry\n\n"},
		{"upgrade", upgrade, RequestEdit{Upgrade: true}, "GET / HTTP/1.1\nHost: x\nConnection: upgrade\nUpgrade: websocket\n\n"},
		{"no upgrade", upgrade, RequestEdit{}, "GET / HTTP/1.1\nHost: x\n\n"},
		{"no expect", "PUT / HTTP/1.1\nHost: x\nExpect: 100-continue\n\n", RequestEdit{NoExpect: true}, "PUT / HTTP/1.1\nHost: x\n\n"},
		{
			"edits", "GET / HTTP/1.1\nHost: x\nA: 1\nB_c: 1\nD: 1\nE: 1\nd: 2\n\n",
			RequestEdit{Fields: edits([]Pair{{"D", "9"}}, []Pair{{"A", "2"}}, "b_C", "no-such")},
			"GET / HTTP/1.1\nHost: x\nA: 1\nE: 1\nD: 9\nA: 2\n\n",
		},
		{"added only", "GET / HTTP/1.1\nHost: x\n\n", RequestEdit{Fields: edits(nil, []Pair{{"A", "2"}})}, "GET / HTTP/1.1\nHost: x\nA: 2\n\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d, h := mustRequest(t, row.text)
			if err := row.edit.Validate(); err != nil {
				t.Fatal(err)
			}
			if got := string(AppendRequest([]byte(">"), d, h, &row.edit)); got != ">"+lines(row.want) {
				t.Errorf("got  %q\nwant %q", got[1:], lines(row.want))
			}
		})
	}
}

func TestAppendResponse(t *testing.T) {
	const plain = "HTTP/1.1 200 OK\nContent-Length: 2\nConnection: close\n\n"
	for _, row := range []struct {
		name, text string
		edit       ResponseEdit
		want       string
	}{
		{"as it came", plain, ResponseEdit{}, "HTTP/1.1 200 OK\nContent-Length: 2\n\n"},
		{"close", plain, ResponseEdit{Close: true, KeepAlive: true}, "HTTP/1.1 200 OK\nContent-Length: 2\nConnection: close\n\n"},
		{"keep-alive", plain, ResponseEdit{KeepAlive: true}, "HTTP/1.1 200 OK\nContent-Length: 2\nConnection: keep-alive\n\n"},
		{"until close", "HTTP/1.0 200 OK\n\n", ResponseEdit{KeepAlive: true, Via: "ferry"}, "HTTP/1.1 200 OK\nVia: 1.0 ferry\nConnection: close\n\n"},
		{
			"decoded", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nTrailer: X\n\n",
			ResponseEdit{Decoded: true, KeepAlive: true},
			"HTTP/1.1 200 OK\nConnection: close\n\n",
		},
		{"nothing to decode", plain, ResponseEdit{Decoded: true, KeepAlive: true}, "HTTP/1.1 200 OK\nContent-Length: 2\nConnection: keep-alive\n\n"},
		{
			"upgraded", "HTTP/1.1 101 Go\nUpgrade: websocket\nConnection: upgrade\n\n",
			ResponseEdit{Upgrade: true},
			"HTTP/1.1 101 Go\nConnection: upgrade\nUpgrade: websocket\n\n",
		},
		{"100", "HTTP/1.1 100 Continue\n\n", ResponseEdit{Close: true}, "HTTP/1.1 100 Continue\n\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d, h := mustResponse(t, row.text, MethodGet)
			if got := string(AppendResponse(nil, d, h, &row.edit)); got != lines(row.want) {
				t.Errorf("got  %q\nwant %q", got, lines(row.want))
			}
		})
	}
}

func TestEditsRefused(t *testing.T) {
	for _, row := range []struct {
		name string
		err  func() error
	}{
		{"a space in a name", func() error { _, err := NewEdits(nil, []Pair{{"A b", "1"}}, nil); return err }},
		{"an empty name", func() error { _, err := NewEdits(nil, nil, []string{""}); return err }},
		{"a line's end in a value", func() error { _, err := NewEdits([]Pair{{"A", "1\r\nB: 2"}}, nil, nil); return err }},
		{"Content-Length", func() error { _, err := NewEdits([]Pair{{"Content-length", "1"}}, nil, nil); return err }},
		{"Connection", func() error { _, err := NewEdits(nil, nil, []string{"connection"}); return err }},
		{"Host", func() error { _, err := NewEdits(nil, []Pair{{"Host", "a"}}, nil); return err }},
		{"a host with a slash", func() error { return (&RequestEdit{Host: "a/b"}).Validate() }},
		{"a prefix without a slash", func() error { return (&RequestEdit{Prefix: "a"}).Validate() }},
		{"a prefix with a query", func() error { return (&RequestEdit{Prefix: "/a?b"}).Validate() }},
		{"a prefix with a space", func() error { return (&RequestEdit{Prefix: "/a b"}).Validate() }},
		{"a prefix with a bare percent", func() error { return (&RequestEdit{Prefix: "/a%"}).Validate() }},
		{"less than nothing to strip", func() error { return (&RequestEdit{Strip: -1}).Validate() }},
		{"another scheme", func() error { return (&RequestEdit{Proto: "ftp"}).Validate() }},
		{"a line's end in an address", func() error { return (&RequestEdit{ForwardedFor: "a\r\n"}).Validate() }},
		{"a space in a via", func() error { return (&RequestEdit{Via: "a b"}).Validate() }},
		{"a space in a response's via", func() error { return (&ResponseEdit{Via: "a b"}).Validate() }},
		{"a negative limit", func() error { return (&Limits{MaxHead: -1}).Validate() }},
		{"a limit beyond reason", func() error { return (&Limits{MaxTrailers: 1 << 30}).Validate() }},
		{"a negative body", func() error { return (&Limits{MaxBody: -1}).Validate() }},
	} {
		if err := row.err(); err == nil || !strings.HasPrefix(err.Error(), "http1: ") {
			t.Errorf("%s: error %v, want one that begins with http1", row.name, err)
		}
	}
	if err := (&Limits{}).Validate(); err != nil {
		t.Errorf("the zero limits: %v", err)
	}
}

func TestLimits(t *testing.T) {
	const start = "POST / HTTP/1.1\r\nHost: a\r\n"
	const chunked = start + "Transfer-Encoding: chunked\r\n\r\n"
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, row := range []struct {
		name   string
		limits Limits
		ok     string // the largest message
		beyond string // one byte or field more
		status int
	}{
		{"request line", Limits{}, "GET /" + long(8192-16) + " HTTP/1.1\r\nHost: a\r\n\r\n", "GET /" + long(8192-15) + " HTTP/1.1\r\nHost: a\r\n\r\n", 414},
		{"field line", Limits{}, start + "X: " + long(16384-5) + "\r\n\r\n", start + "X: " + long(16384-4) + "\r\n\r\n", 431},
		{"head", Limits{MaxHead: 100}, start + "X: " + long(100-len(start)-7) + "\r\n\r\n", start + "X: " + long(100-len(start)-6) + "\r\n\r\n", 431},
		{"fields", Limits{}, start + strings.Repeat("X: 1\r\n", 127) + "\r\n", start + strings.Repeat("X: 1\r\n", 128) + "\r\n", 431},
		{"body", Limits{MaxBody: 5}, start + "Content-Length: 5\r\n\r\nhello", start + "Content-Length: 6\r\n\r\nhello!", 413},
		{"chunks", Limits{MaxBody: 5}, chunked + "2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n", chunked + "2\r\nab\r\n4\r\ncdef\r\n0\r\n\r\n", 413},
		{"extensions", Limits{MaxExtensions: 8}, chunked + "1;abc\r\na\r\n1;abc\r\na\r\n0\r\n\r\n", chunked + "1;abc\r\na\r\n1;abc\r\na\r\n0;\r\n\r\n", 400},
		{"one extension", Limits{MaxExtensions: 8}, chunked + "1;abcdefg\r\na\r\n0\r\n\r\n", chunked + "1;" + long(400) + "\r\na\r\n0\r\n\r\n", 400},
		{"trailers", Limits{MaxTrailers: 9}, chunked + "0\r\nX: ab\r\n\r\n", chunked + "0\r\nX: abc\r\n\r\n", 431},
		{"trailer fields", Limits{MaxFields: 2}, chunked + "0\r\nX:\r\nX:\r\n\r\n", chunked + "0\r\nX:\r\nX:\r\nX:\r\n\r\n", 431},
	} {
		t.Run(row.name, func(t *testing.T) {
			if o := forward([]byte(row.ok), false, MethodOther, &row.limits); !o.whole || o.err != nil {
				t.Errorf("at the limit: %.300v, want it sent on", o)
			}
			raw := []byte(row.beyond)
			o := forward(raw, false, MethodOther, &row.limits)
			var e *Error
			if !errors.As(o.err, &e) || e.Status != row.status {
				t.Fatalf("beyond the limit: error %v, want status %d", o.err, row.status)
			}
			var cuts []int
			for i := 0; i < len(raw); i += 1 + len(raw)/500 {
				cuts = append(cuts, i)
			}
			if got := forward(raw, false, MethodOther, &row.limits, cuts...); fmt.Sprint(got.err) != fmt.Sprint(o.err) {
				t.Errorf("in pieces: error %v, want %v", got.err, o.err)
			}
		})
	}
}

// TestEndless feeds heads and bodies that never come to an end: each is refused as soon as it is beyond its limit.
func TestEndless(t *testing.T) {
	for _, row := range []struct {
		name, start, more string
		status            int
		most              int // bytes accepted before the refusal
	}{
		{"method", "", "x", 414, DefaultMaxRequestLine},
		{"target", "GET /", "x", 414, DefaultMaxRequestLine},
		{"value", "GET / HTTP/1.1\r\nX: ", "x", 431, DefaultMaxFieldLine + 16},
		{"fields", "GET / HTTP/1.1\r\n", "X: 1\r\n", 431, DefaultMaxFields*6 + 16},
	} {
		t.Run(row.name, func(t *testing.T) {
			var h Head
			data := []byte(row.start)
			for {
				if _, err := ParseRequest(data, &h, nil); err != nil {
					var e *Error
					if !errors.As(err, &e) || e.Status != row.status {
						t.Errorf("error %v, want status %d", err, row.status)
					}
					return
				}
				if len(data) > row.most {
					t.Fatalf("%d bytes and no error, want one beyond %d", len(data), row.most)
				}
				data = append(data, row.more...)
			}
		})
	}
}

// TestReuse parses one message after another with the same head, in the order that leaves most behind.
func TestReuse(t *testing.T) {
	var h Head
	var out []byte
	for _, c := range corpora {
		_, samples := corpus(t, c.file)
		for _, s := range samples {
			fresh := forward(s.raw, c.responses, s.asked(), nil)
			var n int
			var err error
			if c.responses {
				n, err = ParseResponse(s.raw, &h, s.asked(), nil)
			} else {
				n, err = ParseRequest(s.raw, &h, nil)
			}
			if n > 0 {
				if c.responses {
					out = AppendResponse(out[:0], s.raw, &h, nil)
				} else {
					out = AppendRequest(out[:0], s.raw, &h, nil)
				}
				if !bytes.HasPrefix(fresh.sent, out) {
					t.Errorf("%s: got %q, want the beginning of %q", s.name, out, fresh.sent)
				}
			}
			if err != nil && err.Error() != fresh.err.Error() {
				t.Errorf("%s: error %v, want %v", s.name, err, fresh.err)
			}
			if n == 0 && err == nil {
				h.Reset()
			}
		}
	}
}

func TestBodyEnd(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       error
	}{
		{"length", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhell", io.ErrUnexpectedEOF},
		{"chunks", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n0\n", io.ErrUnexpectedEOF},
		{"until close", "HTTP/1.1 200 OK\n\nhell", nil},
		{"none", "HTTP/1.1 204 No Content\n\n", nil},
	} {
		data, h := mustResponse(t, row.text, MethodGet)
		body := h.Body(nil)
		if _, err := body.Take(data[h.fieldsEnd+2:]); err != nil {
			t.Fatal(err)
		}
		if err := body.End(); !errors.Is(err, row.want) {
			t.Errorf("%s: End gives %v, want %v", row.name, err, row.want)
		}
	}
}

func TestAnswers(t *testing.T) {
	for _, status := range []int{400, 404, 408, 413, 414, 417, 431, 500, 501, 502, 503, 504, 505, 599} {
		want := status
		if status == 599 {
			want = 500
		}
		for _, closes := range []bool{false, true} {
			for _, method := range []string{"GET", "HEAD"} {
				asked := methodOf([]byte(method))
				in := bufio.NewReader(bytes.NewReader(AppendAnswer(nil, status, asked, closes)))
				r, err := http.ReadResponse(in, &http.Request{Method: method})
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(r.Body)
				if err != nil || r.StatusCode != want || r.Close != closes || (len(body) == 0) != (method == "HEAD") || in.Buffered() != 0 {
					t.Errorf("%d to %s: got %d, close %v, body %q, %d bytes behind it, %v", status, method, r.StatusCode, r.Close, body, in.Buffered(), err)
				}
				if r.Status != fmt.Sprintf("%d %s", want, http.StatusText(want)) && want != 413 && want != 414 {
					t.Errorf("%d: reason %q", status, r.Status)
				}
			}
		}
	}
}

func TestFind(t *testing.T) {
	d, h := mustRequest(t, "GET / HTTP/1.1\nHost: x\nTraceParent: 00-1-2-01\nA: 1\n\n")
	if f, ok := h.Find(Traceparent); !ok || string(f.Value.Of(d)) != "00-1-2-01" {
		t.Errorf("traceparent: %v, %v", f, ok)
	}
	if f, ok := h.Find(Cookie); ok {
		t.Errorf("a cookie where there is none: %v", f)
	}
	if got := h.Get(d, "b"); got != nil {
		t.Errorf("field b: %q, want nil", got)
	}
}

func TestClassify(t *testing.T) {
	names := []string{
		"", "Host", "Connection", "Content-Length", "Transfer-Encoding", "Expect", "Upgrade", "Keep-Alive", "TE", "Trailer", "Proxy",
		"Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "X-Forwarded-For", "X-Forwarded-Proto", "Via", "Traceparent",
		"Authorization", "Cookie", "Set-Cookie", "Content-Type", "Content-Encoding", "Content-Range", "Cache-Control",
	}
	for id, name := range names[1:] {
		for _, n := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
			if got := classify([]byte(n)); got != ID(id+1) {
				t.Errorf("%s is %d, want %d", n, got, id+1)
			}
			for i := range n {
				other := []byte(n)
				other[i] ^= 0x01
				if got := classify(other); got != Other {
					t.Errorf("%s is %d, want Other", other, got)
				}
			}
		}
	}
}

// TestSkipText compares the search by words with one by bytes, for each byte at each offset.
func TestSkipText(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			data := []byte(strings.Repeat("a\t\x80\xff ~", 4))[:20]
			data[at] = byte(c)
			for from := range data {
				if got, want := skipText(data, from), skip(data, from, isText); got != want {
					t.Fatalf("%q from %d: %d, want %d", data, from, got, want)
				}
			}
		}
	}
}
