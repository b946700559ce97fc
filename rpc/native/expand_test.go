package native

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/internal/compress"
	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
)

// zeros returns n bytes of zeros, compressed.
func zeros(t *testing.T, n int) []byte {
	t.Helper()
	packed, err := compress.Append(nil, make([]byte, n), "gzip")
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// TestExpandedRequests has a client whose short requests expand to the limit. Handlers hold a window of them at once, not more.
func TestExpandedRequests(t *testing.T) {
	t.Parallel()
	const size, calls = 1 << 20, 16
	var held, most atomic.Int64
	var done sync.WaitGroup
	done.Add(calls)
	e := newEnd(t, Protocol{Window: 2 * size, MaxMessage: size}, 0, serveFunc{unaryShape, func(_ context.Context, s call.ServerStream) {
		defer done.Done()
		data, err := s.Recv()
		if err != nil || len(data) != size {
			t.Errorf("got %d bytes, %v", len(data), err)
		}
		for n := held.Add(int64(len(data))); ; {
			if last := most.Load(); n <= last || most.CompareAndSwap(last, n) {
				break
			}
		}
		time.Sleep(5 * time.Millisecond) // time for others to exceed the bound; it holds at any time
		held.Add(-int64(len(data)))
		s.Finish(nil, nil, nil)
	}})
	e.mustGet(namedMethod(0, "a.A.B"))
	packed := zeros(t, size)
	for i := range uint32(calls) {
		e.mustGet(wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagEnd | wire.FlagCompressed, Compression: wire.Gzip, Call: 2*i + 1, Message: packed}))
	}
	done.Wait()
	if most.Load() > 2*size {
		t.Errorf("handlers held %d bytes at once, in a window of %d", most.Load(), 2*size)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.expanded != 0 {
		t.Errorf("%d bytes are counted after all calls have ended", e.expanded)
	}
}

// TestExpandedStream reads a stream of requests that each take the whole window, and a request that is too long. A request is
// counted until the next one is read.
func TestExpandedStream(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	ended := make(chan error, 1)
	e := newEnd(t, Protocol{Window: size, MaxMessage: size}, 0, serveFunc{bidiShape, func(_ context.Context, s call.ServerStream) {
		var err error
		for err == nil {
			_, err = s.Recv()
		}
		s.Finish(nil, nil, nil)
		ended <- err
	}})
	e.mustGet(namedMethod(0, "a.A.B"))
	for i, last := range []int{size, size + 1} {
		id := uint32(2*i + 1)
		e.mustGet(wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagNoMessage, Compression: wire.Gzip, Call: id}))
		for range 3 {
			e.mustGet(wire.AppendData(nil, wire.DataFrame{Flags: wire.FlagCompressed, Call: id, Message: zeros(t, size)}))
		}
		e.mustGet(wire.AppendData(nil, wire.DataFrame{Flags: wire.FlagCompressed | wire.FlagEnd, Call: id, Message: zeros(t, last)}))
		err := <-ended
		if last == size && !errors.Is(err, io.EOF) || last > size && call.StatusOf(err).Code != call.ResourceExhausted {
			t.Errorf("after a last request of %d bytes: %v", last, err)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.expanded != 0 {
		t.Errorf("%d bytes are counted after all calls have ended", e.expanded)
	}
}

// TestExpandedRequestWaits ends a call that waits for another call's request to be released.
func TestExpandedRequestWaits(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	holds, release, waited := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	e := newEnd(t, Protocol{Window: size, MaxMessage: size}, 0, serveFunc{unaryShape, func(_ context.Context, s call.ServerStream) {
		if s.Head().ID == 1 {
			_, _ = s.Recv()
			close(holds)
			<-release
			s.Finish(nil, nil, nil)
			return
		}
		_, err := s.Recv()
		s.Finish(nil, nil, nil)
		waited <- err
	}})
	defer close(release)
	e.mustGet(namedMethod(0, "a.A.B"))
	for _, id := range []uint32{1, 3} {
		e.mustGet(wire.AppendCall(nil, wire.CallFrame{Flags: wire.FlagEnd | wire.FlagCompressed, Compression: wire.Gzip, Call: id, Message: zeros(t, size)}))
		if id == 1 {
			<-holds
		}
	}
	e.mustGet(wire.AppendCancel(nil, wire.CancelFrame{Call: 3}))
	if err := <-waited; call.StatusOf(err).Code != call.Canceled {
		t.Errorf("got %v, want CANCELLED", err)
	}
}
