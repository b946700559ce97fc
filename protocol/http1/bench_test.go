package http1

import (
	"strings"
	"testing"
)

// typical is a request of 400 bytes with eight fields.
var typical = []byte("GET /api/v1/devices/boiler-7/readings?from=1602168089&limit=50 HTTP/1.1\r\n" +
	"Host: edge-gateway.example.com:8080\r\n" +
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0\r\n" +
	"Accept: application/json, text/plain;q=0.9\r\n" +
	"Accept-Encoding: gzip, deflate, br\r\n" +
	"Accept-Language: en-US,en;q=0.5\r\n" +
	"Cookie: session=8d1f0c9be2a74f6c9d31\r\n" +
	"X-Request-Id: 5f2b7f0e-11d2-4a2e\r\n" +
	"Referer: https://example.com/ui/\r\n\r\n")

// kept is typical with the keep-alive option, which load generators and old browsers add.
var kept = []byte(strings.Replace(string(typical), "Referer:", "Connection: keep-alive\r\nReferer:", 1))

var answered = []byte("HTTP/1.1 200 OK\r\nServer: origin\r\nDate: Thu, 08 Oct 2020 12:01:29 GMT\r\nContent-Type: application/json\r\n" +
	"Content-Length: 1024\r\nConnection: keep-alive\r\n\r\n")

func BenchmarkParseRequest(b *testing.B) {
	var h Head
	b.SetBytes(int64(len(typical)))
	b.ReportAllocs()
	for b.Loop() {
		if n, err := ParseRequest(typical, &h, nil); n != len(typical) || err != nil {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkParseResponse(b *testing.B) {
	var h Head
	b.SetBytes(int64(len(answered)))
	b.ReportAllocs()
	for b.Loop() {
		if n, err := ParseResponse(answered, &h, MethodGet, nil); n != len(answered) || err != nil {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkAppendRequest(b *testing.B) {
	for _, row := range []struct {
		name string
		data []byte
		edit *RequestEdit
	}{
		{"as it came", typical, nil},
		{"without Connection", kept, nil},
		{"forwarded for", kept, &RequestEdit{ForwardedFor: "192.0.2.7", Proto: "https"}},
		{"prefix and host", kept, &RequestEdit{Host: "10.0.0.7:80", Strip: 4, Prefix: "/v2"}},
	} {
		b.Run(row.name, func(b *testing.B) {
			var h Head
			if _, err := ParseRequest(row.data, &h, nil); err != nil {
				b.Fatal(err)
			}
			out := make([]byte, 0, 1024)
			b.ReportAllocs()
			for b.Loop() {
				out = AppendRequest(out[:0], row.data, &h, row.edit)
			}
		})
	}
}

func BenchmarkChunked(b *testing.B) {
	head := "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	chunks := []byte(strings.Repeat("400\r\n"+strings.Repeat("x", 1024)+"\r\n", 16) + "0\r\n\r\n")
	var h Head
	if _, err := ParseRequest([]byte(head), &h, nil); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(chunks)))
	b.ReportAllocs()
	for b.Loop() {
		body := h.Body(nil)
		if n, err := body.Take(chunks); n != len(chunks) || err != nil {
			b.Fatal(n, err)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	var h Head
	var body Body
	out := make([]byte, 0, 2048)
	chunked := []byte("POST / HTTP/1.1\r\nHost: a\r\nTrailer: X\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\nConnection: close, x, TE\r\n" +
		"X: 1\r\n\r\n5;a=b\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n")
	edits, err := NewEdits([]Pair{{"X-Node", "7"}}, []Pair{{"X-Add", "1"}}, []string{"Referer"})
	if err != nil {
		t.Fatal(err)
	}
	edit := &RequestEdit{Host: "b", ForwardedFor: "192.0.2.7", Proto: "https", KeepForwarded: true, Via: "ferry", Fields: edits, Prefix: "/v2"}
	for _, row := range []struct {
		name string
		f    func() error
	}{
		{"typical request", func() error {
			_, err := ParseRequest(typical, &h, nil)
			out = AppendRequest(out[:0], typical, &h, edit)
			return err
		}},
		{"chunked request", func() error {
			n, err := ParseRequest(chunked, &h, nil)
			if err != nil {
				return err
			}
			out = AppendRequest(out[:0], chunked, &h, edit)
			body = h.Body(nil)
			_, err = body.Take(chunked[n:])
			return err
		}},
		{"response", func() error {
			_, err := ParseResponse(answered, &h, MethodGet, nil)
			out = AppendResponse(out[:0], answered, &h, &ResponseEdit{KeepAlive: true, Via: "ferry", Fields: edits})
			return err
		}},
	} {
		var err error
		if n := testing.AllocsPerRun(100, func() { err = row.f() }); n != 0 || err != nil {
			t.Errorf("%s: %v allocations, error %v, want none", row.name, n, err)
		}
	}
}
