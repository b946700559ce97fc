package http1

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"example.com/ferry/protocol/httprule"
)

func writtenLines(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

func mustRequest(t *testing.T, text string) ([]byte, *Head) {
	t.Helper()
	data, h := []byte(writtenLines(text)), &Head{}
	if n, err := ParseRequest(data, h, nil); n == 0 || err != nil {
		t.Fatalf("%q: %d, %v, want a whole head", data, n, err)
	}
	return data, h
}

func mustResponse(t *testing.T, text string, requestMethod Method) ([]byte, *Head) {
	t.Helper()
	data, h := []byte(writtenLines(text)), &Head{}
	if n, err := ParseResponse(data, h, requestMethod, nil); n == 0 || err != nil {
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
		{"expect without a body", "PUT / HTTP/1.1\nHost: x\nExpect: 100-continue\n\n", "PUT 0 /  x framing 0 0 keep true expect false upgrade false"},
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
			if h.Upgrade && string(h.UpgradeTo(d)) != "websocket" {
				t.Errorf("upgrade to %q, want websocket", h.UpgradeTo(d))
			}
			if name := string(h.MethodName.Of(d)); h.Method != MethodOf([]byte(name)) || h.Method == MethodOther {
				t.Errorf("method %d of %s", h.Method, name)
			}
		})
	}
}

func TestResponseFraming(t *testing.T) {
	for _, row := range []struct {
		name, text    string
		requestMethod Method
		framing       Framing
		length        int64
		keep          bool
	}{
		{"length", "HTTP/1.1 200 OK\nContent-Length: 3\n\n", MethodGet, Length, 3, true},
		{"HEAD", "HTTP/1.1 200 OK\nContent-Length: 3\n\n", MethodHead, BodyNone, 0, true},
		{"304", "HTTP/1.1 304 Not Modified\nContent-Length: 3\n\n", MethodGet, BodyNone, 0, true},
		{"204", "HTTP/1.1 204 No Content\n\n", MethodGet, BodyNone, 0, true},
		{"100", "HTTP/1.1 100 Continue\n\n", MethodPost, BodyNone, 0, true},
		{"101", "HTTP/1.1 101 Switching Protocols\nConnection: upgrade\nUpgrade: websocket\n\n", MethodGet, Tunnel, 0, true},
		{"CONNECT 200", "HTTP/1.1 200 OK\nContent-Length: 3\n\n", MethodConnect, Tunnel, 0, true},
		{"CONNECT 403", "HTTP/1.1 403 Forbidden\nContent-Length: 3\n\n", MethodConnect, Length, 3, true},
		{"chunked and close", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nConnection: close\n\n", MethodGet, Chunked, 0, false},
		{"until close", "HTTP/1.1 200 OK\n\n", MethodGet, UntilClose, 0, false},
		{"1.0", "HTTP/1.0 200 OK\nContent-Length: 3\n\n", MethodGet, Length, 3, false},
		{"1.0 keep-alive", "HTTP/1.0 200 OK\nContent-Length: 3\nConnection: keep-alive\n\n", MethodGet, Length, 3, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, h := mustResponse(t, row.text, row.requestMethod)
			if h.Framing != row.framing || h.Length != row.length || h.KeepAlive != row.keep {
				t.Errorf("got framing %d, %d bytes, keep-alive %v, want %d, %d, %v", h.Framing, h.Length, h.KeepAlive, row.framing, row.length, row.keep)
			}
		})
	}
}

// TestReuse parses several messages with the same Head. Their order is the one in which old values are most likely to remain.
func TestReuse(t *testing.T) {
	var h Head
	var out []byte
	for _, c := range corpora {
		_, samples := corpus(t, c.file)
		for _, s := range samples {
			fresh := forward(s.raw, c.responses, s.requestMethod(), nil)
			var n int
			var err error
			if c.responses {
				n, err = ParseResponse(s.raw, &h, s.requestMethod(), nil)
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

func TestFind(t *testing.T) {
	d, h := mustRequest(t, "GET / HTTP/1.1\nHost: x\nTraceParent: 00-1-2-01\nA: 1\n\n")
	if f, ok := h.Find(httprule.Traceparent); !ok || string(f.Value.Of(d)) != "00-1-2-01" {
		t.Errorf("traceparent: %v, %v", f, ok)
	}
	if f, ok := h.Find(httprule.Cookie); ok {
		t.Errorf("a cookie where there is none: %v", f)
	}
	if got := h.Get(d, "b"); got != nil {
		t.Errorf("field b: %q, want nil", got)
	}
}

func TestClassify(t *testing.T) {
	names := []string{
		"", "Host", "Connection", "Content-Length", "Transfer-Encoding", "Expect", "Upgrade", "Keep-Alive", "TE", "Trailer", "Proxy",
		"Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "X-Forwarded-For", "X-Forwarded-Proto",
		"X-Forwarded-Client-Cert", "Via", "Traceparent", "Authorization", "Cookie", "Set-Cookie", "Content-Type", "Content-Encoding", "Content-Range", "Cache-Control",
	}
	for id, name := range names[1:] {
		for _, n := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
			if got := httprule.FieldID([]byte(n)); got != httprule.ID(id+1) {
				t.Errorf("%s is %d, want %d", n, got, id+1)
			}
			for i := range n {
				other := []byte(n)
				other[i] ^= 0x01
				if got := httprule.FieldID(other); got != httprule.Other {
					t.Errorf("%s is %d, want Other", other, got)
				}
			}
		}
	}
}

// TestSkipText compares skipText, which tests eight bytes at a time, with a search byte by byte, for each byte at each offset.
func TestSkipText(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			data := []byte(strings.Repeat("a\t\x80\xff ~", 4))[:20]
			data[at] = byte(c)
			for from := range data {
				if got, want := httprule.PastText(data, from), httprule.Past(data, from, httprule.TextChar); got != want {
					t.Fatalf("%q from %d: %d, want %d", data, from, got, want)
				}
			}
		}
	}
}

func TestContentLength(t *testing.T) {
	for _, row := range []struct {
		text   string
		method Method
		want   int64
	}{
		{"HTTP/1.1 200 OK\nContent-Length: 5\n\n", MethodGet, 5},
		{"HTTP/1.1 200 OK\nContent-Length: 5\n\n", MethodHead, 5},
		{"HTTP/1.1 200 OK\nContent-Length: 0\n\n", MethodGet, 0},
		{"HTTP/1.1 304 Not Modified\nContent-Length: 5\n\n", MethodGet, 5},
		{"HTTP/1.1 304 Not Modified\n\n", MethodGet, -1},
		{"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n", MethodGet, -1},
		{"HTTP/1.1 200 OK\n\n", MethodHead, -1},
	} {
		if _, h := mustResponse(t, row.text, row.method); h.ContentLength() != row.want {
			t.Errorf("%q: %d bytes, want %d", row.text, h.ContentLength(), row.want)
		}
	}
}
