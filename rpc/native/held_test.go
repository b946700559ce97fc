package native

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/internal/held"
)

// TestLastMessageWithoutCredit: a caller that gives no credit for the last message does not hold the handler for ever. Meanwhile, the message counts.
func TestLastMessageWithoutCredit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 200 << 10
		finished := false
		e := newEnd(t, Protocol{WriteTimeout: time.Second}, 0, serveFunc{bidiShape, func(_ context.Context, s call.ServerStream) {
			if err := s.Send(make([]byte, 2<<10)); err != nil { // more than the window of a stream
				t.Error(err)
			}
			s.Finish(make([]byte, size), nil, nil)
			finished = true
		}})
		counted := func() int {
			e.mu.Lock()
			defer e.mu.Unlock()
			return e.account.Held()
		}
		e.mustGet(namedMethod(0, "a.A.B"))
		e.mustGet(wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagNoMessage, Call: 1}))
		synctest.Wait()
		if n := counted(); n < size-32<<10 { // all but its last piece
			t.Errorf("%d bytes count while %d wait for credit", n, size)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := counted(); !finished || n != 0 {
			t.Errorf("after the timeout: finished %v, and %d bytes count", finished, n)
		}
	})
}

// TestExpandedRequestWaitBounded: a compressed request does not wait for room without an end.
func TestExpandedRequestWaitBounded(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	first, gate, second := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	e := newEnd(t, Protocol{Window: size, MaxMessage: size, WriteTimeout: 20 * time.Millisecond}, 0, serveFunc{unaryShape, func(_ context.Context, s call.ServerStream) {
		if _, err := s.Recv(); err != nil {
			second <- err
		} else {
			close(first)
			<-gate
		}
		s.Finish(nil, nil, nil)
	}})
	e.mustGet(namedMethod(0, "a.A.B"))
	packed := zeros(t, size)
	e.mustGet(wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagEnd | wire.FlagCompressed, Compression: wire.Gzip, Call: 1, Message: packed}))
	<-first
	e.mustGet(wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagEnd | wire.FlagCompressed, Compression: wire.Gzip, Call: 3, Message: packed}))
	select {
	case err := <-second:
		if call.StatusOf(err).Code != call.ResourceExhausted {
			t.Errorf("got %v, want ResourceExhausted", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the request waits after 30 s")
	}
	close(gate)
}

// TestServerHolds: what all connections of a server hold together is bounded. A call that holds little goes on, and nothing is counted once
// the calls have ended or their connections are lost.
func TestServerHolds(t *testing.T) {
	t.Parallel()
	const piece = 32 << 10
	server := held.NewServer(6 * piece) // a third connection would need as much as the two leave free
	results := make(chan error, 1)
	var ends []*endOf
	for range 3 {
		e := newEnd(t, Protocol{}, 0, serveFunc{unaryShape, func(_ context.Context, s call.ServerStream) {
			_, err := s.Recv()
			s.Finish(nil, nil, nil)
			results <- err
		}})
		e.account = held.New(server, maxLimit)
		e.mustGet(namedMethod(0, "a.A.B"))
		ends = append(ends, e)
	}
	inProgress := func(e *endOf) bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.incoming[1] != nil
	}
	within := func(what string, done func() bool) {
		t.Helper()
		for late := time.Now().Add(30 * time.Second); !done(); time.Sleep(time.Millisecond) {
			if time.Now().After(late) {
				t.Fatalf("waited 30 s for %s", what)
			}
		}
	}
	for _, e := range ends { // two of them take what is allowed
		e.mustGet(wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagEnd | wire.FlagMore, Call: 1, Message: make([]byte, piece)}))
		for range 3 {
			e.mustGet(wire.AppendData(nil, wire.DataFrame{Flags: wire.FlagMore, Call: 1, Message: make([]byte, piece)}))
		}
	}
	within("the third call to be refused", func() bool { return !inProgress(ends[2]) })
	if !inProgress(ends[0]) || !inProgress(ends[1]) {
		t.Error("calls within the limit were refused")
	}
	ends[2].mustGet(wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagEnd, Call: 3, Message: make([]byte, 100)}))
	select {
	case err := <-results:
		if err != nil {
			t.Errorf("a small call: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("a small call is not served")
	}
	for _, e := range ends {
		e.onClosing(nil)
	}
	within("nothing to be counted", func() bool { return server.Used() == 0 })
}
