package http1

import (
	"strings"
	"testing"
)

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
			if got := string(AppendRequest([]byte(">"), d, h, &row.edit)); got != ">"+writtenLines(row.want) {
				t.Errorf("got  %q\nwant %q", got[1:], writtenLines(row.want))
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
			if got := string(AppendResponse(nil, d, h, &row.edit)); got != writtenLines(row.want) {
				t.Errorf("got  %q\nwant %q", got, writtenLines(row.want))
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
