package native

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/peer"
	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/internal/workers"
)

// endOf is one end of a connection without a socket.
type endOf struct {
	*session
	t *testing.T
	r *receiver
}

// newEnd returns a server's end if parity is 0, and a client's otherwise.
func newEnd(t *testing.T, p Protocol, parity uint32, service call.Service) *endOf {
	t.Helper()
	pool := &workers.Pool{}
	t.Cleanup(pool.Close)
	s := &session{}
	s.init(p.resolved(), wire.CallLimits{Calls: 8, Window: 1 << 20, StreamWindow: 1 << 10}, parity)
	s.service, s.workers = service, pool
	s.peer = peer.NewDriven(silent{}, peer.Config{Remote: "peer", WriteBuffer: writeBuffer, OnClosing: s.onClosing}, func() {})
	s.remote.Addr = silent{}.RemoteAddr()
	s.peer.Welcome(wire.WelcomeFrame{MaxFrame: maxFrame, Heartbeat: 1000})
	s.prepare(maxFrame)
	t.Cleanup(func() { s.peer.Ended(io.EOF) })
	return &endOf{session: s, t: t, r: s.newReceiver()}
}

// gets passes frames to the end, and returns its error.
func (e *endOf) gets(frames []byte) error {
	return peer.Dispatch(e.peer, &frameHandlers, e.r, frames, nil, false)
}

// mustGet passes frames to the end.
func (e *endOf) mustGet(frames []byte) {
	e.t.Helper()
	if err := e.gets(frames); err != nil {
		e.t.Fatal(err)
	}
}

func namedMethod(number uint16, name string) []byte {
	return wire.AppendMethod(nil, wire.MethodFrame{Number: number, Method: name, Content: "a/b"})
}

// serveFunc is a service with methods of one shape.
type serveFunc struct {
	shape func() (in, out bool)
	serve func(context.Context, call.ServerStream)
}

func (f serveFunc) Method(name string) call.Method {
	if strings.HasPrefix(name, "unknown") {
		return nil
	}
	return shaped{name, f}
}

func (f serveFunc) Serve(ctx context.Context, _ call.Method, s call.ServerStream) { f.serve(ctx, s) }

type shaped struct {
	name string
	f    serveFunc
}

func (m shaped) Name() string          { return m.name }
func (m shaped) Shape() (in, out bool) { return m.f.shape() }

func unaryShape() (in, out bool) { return false, false }
func bidiShape() (in, out bool)  { return true, true }

// TestCallBehindTheEnd has a CALL in the batch during which the connection begins to close. Its handler must not begin: its context
// would never end.
func TestCallBehindTheEnd(t *testing.T) {
	t.Parallel()
	e := newEnd(t, Protocol{}, 0, serveFunc{unaryShape, func(_ context.Context, s call.ServerStream) { s.Finish(nil, nil, nil) }})
	e.mustGet(namedMethod(0, "a.A.B"))
	e.onClosing(io.EOF)
	e.mustGet(wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagEnd | wire.FlagMore, Call: 1, Message: []byte("x")}))
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.incoming) != 0 {
		t.Error("a call has begun on a connection that is lost")
	}
}

// TestManyFields has a caller whose metadata has more fields than a call may have. Its connection goes on.
func TestManyFields(t *testing.T) {
	t.Parallel()
	served := make(chan int, 1)
	e := newEnd(t, Protocol{}, 0, serveFunc{unaryShape, func(_ context.Context, s call.ServerStream) {
		served <- len(s.Head().Metadata)
		s.Finish(nil, nil, nil)
	}})
	e.mustGet(namedMethod(0, "a.A.B"))
	var ext []byte
	for i := range maxFields + 1 {
		if i == maxFields {
			e.mustGet(wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagEnd, Call: 1, Extension: ext}))
			if n := <-served; n != maxFields {
				t.Errorf("the handler has %d fields, want %d", n, maxFields)
			}
		}
		ext = wire.AppendNamedTLV(ext, wire.TLVMetadata, "a", "")
	}
	e.mustGet(wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagEnd, Call: 3, Extension: ext}))
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.incoming[3] != nil {
		t.Error("a call with too many fields has begun")
	}
}

// TestPiecesAboveTheWindow begins calls with short pieces, and continues all of them.
func TestPiecesAboveTheWindow(t *testing.T) {
	t.Parallel()
	p := Protocol{Window: 1 << 20, MaxMessage: 1 << 20}
	e := newEnd(t, p, 0, serveFunc{unaryShape, func(_ context.Context, s call.ServerStream) { s.Finish(nil, nil, nil) }})
	e.mustGet(namedMethod(0, "a.A.B"))
	const calls = 64
	for i := range uint32(calls) {
		e.mustGet(wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagEnd | wire.FlagMore, Call: 2*i + 1, Message: []byte("x")}))
	}
	piece := make([]byte, 60<<10)
	var err error
	for i := 0; i < calls*8 && err == nil; i++ {
		err = e.gets(wire.AppendData(nil, wire.DataFrame{Flags: wire.FlagMore, Call: uint32(2*(i%calls) + 1), Message: piece}))
	}
	var fault *wire.Error
	if !errors.As(err, &fault) || fault.Code != wire.CodeCredit {
		t.Errorf("got %v for %d bytes of requests, want no credit", err, calls*8*len(piece))
	}
}

// TestRepeatedHeader sends a header with each DATA. Only the first one counts.
func TestRepeatedHeader(t *testing.T) {
	t.Parallel()
	e := newEnd(t, Protocol{}, 1, nil)
	s, err := e.Open(t.Context(), &call.Head{Method: "a.A.B"})
	if err != nil {
		t.Fatal(err)
	}
	ext, _ := appendMetadata(nil, wire.TLVMetadata, call.Metadata{{Name: "a", Value: "b"}})
	for range 3 {
		e.mustGet(wire.AppendData(nil, wire.DataFrame{Flags: wire.FlagNoMessage, Call: 1, Extension: ext}))
	}
	if md, err := s.Header(); err != nil || len(md) != 1 {
		t.Errorf("got header %v, %v, want one field", md, err)
	}
}

// TestManyUnknownMethods names methods that the service does not have, until their names take too much memory. Calls of other methods
// must go on: the caller may be a node with several clients.
func TestManyUnknownMethods(t *testing.T) {
	t.Parallel()
	served := make(chan string, 1)
	e := newEnd(t, Protocol{}, 0, serveFunc{unaryShape, func(_ context.Context, s call.ServerStream) {
		served <- s.Head().Method
		s.Finish(nil, nil, nil)
	}})
	for i := range uint16(wire.MaxMethods - 1) {
		e.mustGet(namedMethod(i, fmt.Sprintf("unknown.%d.%s", i, strings.Repeat("x", 200))))
	}
	e.mustGet(wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagEnd, Call: 1, Method: wire.MaxMethods - 2, Message: []byte("x")}))
	e.mustGet(namedMethod(wire.MaxMethods-1, "a.A.B"))
	e.mustGet(wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagEnd, Call: 3, Method: wire.MaxMethods - 1, Message: []byte("x")}))
	if got := <-served; got != "a.A.B" {
		t.Errorf("a call of %.20s has a handler", got)
	}
	if e.r.named > maxNames {
		t.Errorf("%d bytes of names are stored", e.r.named)
	}
}

// TestLongLastResponse ends a stream with a response in pieces, while the caller has used all of its window. The pieces wait for credit,
// and the header comes with the first piece.
func TestLongLastResponse(t *testing.T) {
	t.Parallel()
	long := make([]byte, 3*maxPiece)
	e := newEnd(t, Protocol{}, 0, serveFunc{bidiShape, func(_ context.Context, s call.ServerStream) {
		_ = s.SetHeader(call.Metadata{{Name: "a", Value: "b"}})
		if _, err := s.Recv(); err != nil {
			_ = s.Send(make([]byte, 2000)) // more than the window
		}
		s.Finish(long, nil, nil)
	}})
	e.mustGet(namedMethod(0, "a.A.B"))
	e.mustGet(wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagEnd, Call: 1, Message: []byte("x")}))
	first, err := wire.ParseData(e.untilReply())
	if err != nil {
		t.Fatal(err)
	}
	if md, err := parseMetadata(first.Extension, wire.TLVMetadata); err != nil || len(md) != 1 {
		t.Errorf("the first DATA has the header %v, %v", md, err)
	}
	e.mustGet(wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagEnd | wire.FlagNoMessage, Call: 3}))
	for waits := false; !waits; time.Sleep(time.Millisecond) {
		e.mu.Lock()
		in := e.incoming[3]
		waits = in != nil && in.sending.news.ch != nil
		e.mu.Unlock()
		if in == nil {
			t.Fatal("the response has not waited for credit")
		}
		e.peer.Control().TakeQueued(func([]byte, *bufpool.Buf) {}) // makes room for pieces
	}
	e.mustGet(wire.AppendCallCredit(nil, wire.CallCreditFrame{Call: 3, Bytes: 2000 + wire.MessageOverhead}))
	e.untilReply()
}

// untilReply waits for a REPLY, and returns the first frame that was sent. It drops all of them, and does not
// count WELCOME and CALLCREDIT.
func (e *endOf) untilReply() (first wire.Frame) {
	e.t.Helper()
	var sent []byte
	take := func(b []byte, _ *bufpool.Buf) { sent = append(sent, b...) }
	for late := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		e.peer.Control().TakeQueued(take)
		for rest := sent; len(rest) > 0; rest = rest[wire.Size(rest):] {
			switch f := wire.Frame(rest[:wire.Size(rest)]); f.Kind() {
			case wire.Welcome, wire.CallCredit:
				continue
			case wire.Reply:
				if first == nil {
					first = f
				}
				return first
			default:
				if first == nil {
					first = f
				}
			}
		}
		first = nil
		if time.Now().After(late) {
			e.t.Fatal("waited a minute for a REPLY")
		}
	}
}
