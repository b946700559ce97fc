package http1

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	const start = "POST / HTTP/1.1\r\nHost: a\r\n"
	const chunked = start + "Transfer-Encoding: chunked\r\n\r\n"
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, row := range []struct {
		name   string
		limits Limits
		ok     string // the largest message that the limit accepts
		beyond string // a message with one byte or field more than the limit accepts
		status int
	}{
		{"request line", Limits{}, "GET /" + long(8192-16) + " HTTP/1.1\r\nHost: a\r\n\r\n", "GET /" + long(8192-15) + " HTTP/1.1\r\nHost: a\r\n\r\n", 414},
		{"malformed request line", Limits{}, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET /\x00" + long(8192) + " HTTP/1.1\r\nHost: a\r\n\r\n", 414},
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

// TestEndless sends heads and bodies that never end. Each must be refused as soon as it exceeds its limit.
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
