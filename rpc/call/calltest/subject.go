package calltest

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"example.com/ferry/rpc/call"
	"example.com/ferry/transport"
)

// Subject is what Run tests. Protocol and Transport are required.
type Subject struct {
	Protocol  call.Protocol
	Transport transport.Transport // listens; dials too unless Dialer is set
	Dialer    transport.Transport

	// Addr returns an address to listen on. Nil means 127.0.0.1:0.
	Addr func(*testing.T) string

	// Content is the content type of the calls. Empty means application/octet-stream.
	Content string

	// Message returns a message of about size bytes, which the protocol can carry. Different seeds give different messages. Nil means
	// size arbitrary bytes.
	Message func(size int, seed byte) []byte

	// MaxMessage is the longest message that the protocol accepts, in bytes. Zero means 4 MiB.
	MaxMessage int

	// What the protocol does not have. Tests that need it are left out.
	UnaryOnly     bool // streams
	NoHeader      bool // headers and trailers of responses
	NoDetails     bool // details of a status
	NoCompression bool
	LateNotice    bool // a server that drains tells a connection with the response of a call, not before

	// Brief leaves out the tests that make many calls at once or send much. They take long under the race detector, and what they find
	// there hardly depends on the transport.
	Brief bool
}

// Run tests the protocol over the transport. Each test has a connection of its own.
func Run(t *testing.T, s Subject) {
	t.Helper()
	if s.Dialer == nil {
		s.Dialer = s.Transport
	}
	if s.Addr == nil {
		s.Addr = func(*testing.T) string { return "127.0.0.1:0" }
	}
	if s.Content == "" {
		s.Content = "application/octet-stream"
	}
	if s.Message == nil {
		s.Message = bytesOf
	}
	if s.MaxMessage == 0 {
		s.MaxMessage = 4 << 20
	}
	before := runtime.NumGoroutine()
	for _, each := range tests {
		if each.missing != nil && each.missing(&s) || each.load && s.Brief {
			continue
		}
		t.Run(each.name, func(t *testing.T) { each.run(newRig(t, &s)) })
	}
	within(t, "the goroutines to end", func() bool { return runtime.NumGoroutine() <= before+slack })
}

// slack is how many goroutines the runtime and idle timers may add.
const slack = 3

// test is one test of the contract.
type test struct {
	name    string
	run     func(*rig)
	missing func(*Subject) bool // the protocol lacks what the test needs
	load    bool                // left out if Brief
}

func needsStreams(s *Subject) bool     { return s.UnaryOnly }
func needsHeader(s *Subject) bool      { return s.NoHeader }
func needsDetails(s *Subject) bool     { return s.NoDetails }
func needsCompression(s *Subject) bool { return s.NoCompression }

// bytesOf returns blocks of 4 KiB that compress a little and differ in their first byte.
func bytesOf(size int, seed byte) []byte {
	b := make([]byte, size)
	x := uint32(seed) + 1
	for i := range min(size, 4096) {
		if i%64 < 48 {
			x = x*1664525 + 1013904223
			b[i] = byte(x >> 24)
		}
	}
	for i := 4096; i < size; i += 4096 {
		copy(b[i:], b[:4096])
		b[i] = byte(i >> 12)
	}
	return b
}

// patience bounds waits that should be short. Machines that run many tests at once are slow.
const patience = 60 * time.Second

// within waits until done returns true.
func within(t *testing.T, what string, done func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}

// rig is a server with one client's connection.
type rig struct {
	*testing.T
	subject *Subject
	service *service
	server  call.Listener
	conn    call.Conn
}

func newRig(t *testing.T, s *Subject) *rig {
	t.Helper()
	r := &rig{T: t, subject: s, service: newService()}
	var err error
	if r.server, err = s.Protocol.Listen(t.Context(), s.Transport, s.Addr(t), r.service); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.server.Close(); err != nil {
			t.Errorf("Close of the listener: %v", err)
		}
	})
	r.conn = r.dial()
	return r
}

func (r *rig) dial() call.Conn {
	r.Helper()
	conn, err := r.subject.Protocol.Dial(r.Context(), r.subject.Dialer, r.server.Addr().String())
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := conn.Close(ctx); err != nil {
			r.Errorf("Close of the connection: %v", err)
		}
	})
	return conn
}

func (r *rig) head(method string) *call.Head {
	return &call.Head{Method: prefix + method, Content: r.subject.Content}
}

// call makes a unary call and returns its response, which is not released.
func (r *rig) call(ctx context.Context, head *call.Head, data []byte) (call.Response, error) {
	var resp call.Response
	err := r.conn.Call(ctx, head, data, &resp)
	return resp, err
}

// begin makes a unary call on a goroutine of its own, and returns where its error will be.
func (r *rig) begin(ctx context.Context, method string) <-chan error {
	ended := make(chan error, 1)
	go func() {
		want := r.subject.Message(100, 1)
		resp, err := r.call(ctx, r.head(method), want)
		if err == nil && !bytes.Equal(resp.Data, want) {
			err = fmt.Errorf("got another response, %.100q", resp.Data)
		}
		resp.Release()
		ended <- err
	}()
	return ended
}

// wantNext reports a further call that does not succeed.
func (r *rig) wantNext() {
	r.Helper()
	resp, err := r.call(r.Context(), r.head("Echo"), r.subject.Message(10, 1))
	r.wantCode("the next call", err, call.OK)
	resp.Release()
}

// wantUnsent reports a call that the connection does not refuse before it is sent.
func (r *rig) wantUnsent(what string) {
	r.Helper()
	resp, err := r.call(r.Context(), r.head("Echo"), r.subject.Message(100, 1))
	r.wantCode(what, err, call.Unavailable)
	if !resp.Unsent {
		r.Errorf("%s: Unsent is not set", what)
	}
}

// wantCode reports a wrong code.
func (r *rig) wantCode(what string, err error, want call.Code) {
	r.Helper()
	_ = r.wantStatus(what, err, want)
}

// wantStatus reports a wrong code and returns the status, which is not nil.
func (r *rig) wantStatus(what string, err error, want call.Code) *call.Status {
	r.Helper()
	got := call.StatusOf(err)
	if got == nil {
		got = &call.Status{}
	}
	if got.Code != want {
		r.Errorf("%s: got %v, want %v", what, got, want)
	}
	return got
}
