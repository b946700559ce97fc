package grpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"reflect"
	"testing"
	"time"

	"example.com/ferry/internal/grpcwire"
	"example.com/ferry/internal/h2conn"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/rpc/call"
)

// quiet is a Handler that does nothing.
type quiet struct{}

func (quiet) Headers(*http2.Stream, *http2.Head, bool)   {}
func (quiet) Data(*http2.Stream, []byte, bool)           {}
func (quiet) Reset(s *http2.Stream, _ http2.StreamError) { s.Release() }
func (quiet) Writable(*http2.Stream)                     {}
func (quiet) Sent(*http2.Stream)                         {}
func (quiet) GoAway(uint32, http2.Code)                  {}

// readAll returns the messages of data, which arrives in pieces of the given size, and the error at the end.
func readAll(data []byte, piece int, encoding string) (messages [][]byte, err error) {
	nc, other := net.Pipe()
	defer nc.Close()
	defer other.Close()
	l := &link{h2: h2conn.Server(nc, nil, quiet{}), cfg: &Config{MaxMessage: 1000}, server: true}
	p := newPipe(l)
	p.encoding = encoding
	for at := 0; at <= len(data); at += piece {
		l.h2.Lock()
		p.arrive(data[at:min(at+piece, len(data))])
		if at+piece > len(data) {
			p.end(nil)
		}
		l.h2.Unlock()
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		for err == nil {
			var m []byte
			if m, err = p.recv(ended); err == nil {
				messages = append(messages, bytes.Clone(m))
			}
		}
		if s := call.StatusOf(err); !errors.Is(err, io.EOF) && s.Code == call.Canceled {
			err = nil // nothing more has arrived
		}
		if err != nil {
			break
		}
	}
	l.h2.Lock()
	p.dropArrived()
	p.stopCounting()
	l.h2.Unlock()
	p.dropTaken()
	if l.account.Held() != 0 {
		panic("bytes are counted that are not held")
	}
	return messages, err
}

// FuzzMessages: however a stream is cut into pieces, the same messages come out of it, and the same error.
func FuzzMessages(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x02ab\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01c"), 3, false)
	f.Add([]byte("\x01\x00\x00\x00\x02ab"), 1, true)
	f.Add([]byte("\x00\x00\x00\x03\xe9ab"), 1, false)
	f.Add([]byte("\x02\x00\x00"), 2, false)
	f.Fuzz(func(t *testing.T, data []byte, piece int, compressed bool) {
		encoding := ""
		if compressed {
			encoding = "gzip"
		}
		whole, err := readAll(data, len(data)+1, encoding)
		if err == nil {
			t.Fatal("no error at the end")
		}
		pieces, err2 := readAll(data, max(1, piece%50), encoding)
		if !reflect.DeepEqual(whole, pieces) || err.Error() != err2.Error() {
			t.Errorf("as a whole %q, %v; in pieces %q, %v", whole, err, pieces, err2)
		}
		for _, m := range whole {
			if len(m) > 1000 {
				t.Errorf("a message of %d bytes", len(m))
			}
		}
	})
}

// FuzzHeaders: what is written can be read again, and nothing that a peer writes panics.
func FuzzHeaders(f *testing.F) {
	f.Add("a %41 é\n", int64(5e9), []byte("\x1a\x07\x0a\x01a\x12\x02bc"))
	f.Add("100%", int64(1), []byte("\x08\x05\x12\x01m"))
	f.Fuzz(func(t *testing.T, text string, n int64, details []byte) {
		if got := grpcwire.ReadPercent(grpcwire.AppendPercent(nil, text)); got != text {
			t.Errorf("grpc-message: got %q, want %q", got, text)
		}
		grpcwire.ReadPercent([]byte(text))
		var cache contentCache
		if r, ok := cache.received([]byte(text)); ok {
			if wire, status := wireType(r.content); status == nil {
				if again, ok := cache.received([]byte(wire)); !ok || again.content != r.content {
					t.Errorf("content type %q is %q on the wire and then %q", r.content, wire, again.content)
				}
			}
		}
		if d := time.Duration(n); d > 0 {
			wire := appendTimeout(nil, d)
			got, ok := parseTimeout(wire)
			if !ok || got < d || got-d > d/1_000_000+time.Nanosecond {
				t.Errorf("%v is %q on the wire and then %v", d, wire, got)
			}
		}
		parseTimeout([]byte(text))
		methodOf([]byte(text))
		if path, status := appendPath(nil, text); status == nil && methodOf(path) != text {
			t.Errorf("%q is %q on the wire and then %q", text, path, methodOf(path))
		}
		s := &call.Status{Code: call.Code(uint32(n)), Message: text, Details: []call.Detail{{Type: text, Value: details}, {}}}
		var read []call.Detail
		eachField(appendRPCStatus(nil, s), func(number int, value []byte) {
			if number == statusDetails {
				read = append(read, readDetail(value))
			}
		})
		if len(read) != 2 || read[0].Type != text || !bytes.Equal(read[0].Value, details) {
			t.Errorf("details: got %q, want %q %q", read, text, details)
		}
		readDetails(details)
		eachField(details, func(int, []byte) {})
	})
}
