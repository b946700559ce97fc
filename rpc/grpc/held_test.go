package grpc_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/internal/compress"
	"example.com/ferry/internal/h2conn"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/grpc"
)

// reading is a service whose method reads its request, counts it, and holds it until gate is closed. Its response has size bytes.
type reading struct {
	service
	held, most, ended atomic.Int64
	gate              chan struct{}
}

func newReading(size int) *reading {
	r := &reading{service: service{}, gate: make(chan struct{})}
	r.unary(echoMethod, func(ctx context.Context, s call.ServerStream) ([]byte, *call.Status, call.Metadata) {
		m, err := s.Recv()
		if err != nil {
			return nil, call.StatusOf(err), nil
		}
		n := r.held.Add(int64(len(m)))
		for old := r.most.Load(); n > old && !r.most.CompareAndSwap(old, n); old = r.most.Load() {
		}
		select {
		case <-r.gate:
		case <-ctx.Done():
		}
		r.held.Add(-int64(len(m)))
		return make([]byte, size), nil, nil
	})
	return r
}

func (r *reading) Serve(ctx context.Context, m call.Method, s call.ServerStream) {
	r.service.Serve(ctx, m, s)
	r.ended.Add(1)
}

// TestExpandedRequestsCount: small requests that become large ones wait for each other when their connection holds as much as it may, and
// all are served in the end.
func TestExpandedRequestsCount(t *testing.T) {
	t.Parallel()
	const size, calls = 1 << 20, 32
	svc := newReading(0)
	r := newRig(t, svc, &grpc.Config{MaxHeld: 4 * size, MaxMessage: size}, nil)
	data, done := make([]byte, size), make(chan error, calls)
	for range calls {
		go func() {
			h := head(echoMethod)
			h.Compression = compress.Gzip
			_, _, err := invoke(t.Context(), r.conn, h, data)
			done <- err
		}()
	}
	within(t, "4 requests to be held", func() bool { return svc.held.Load() >= 3*size })
	close(svc.gate)
	for range calls {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if most := svc.most.Load(); most > 4*size {
		t.Errorf("handlers held %d bytes of requests at once, want at most %d", most, 4*size)
	}
}

// TestExpandedRequestsWaitBounded: a compressed request does not wait for others without an end.
func TestExpandedRequestsWaitBounded(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	svc := newReading(0)
	r := newRig(t, svc, &grpc.Config{MaxHeld: size, MaxMessage: size, RequestTimeout: 50 * time.Millisecond}, nil)
	invokeGzip := func() error {
		h := head(echoMethod)
		h.Compression = compress.Gzip
		_, _, err := invoke(t.Context(), r.conn, h, make([]byte, size))
		return err
	}
	first := make(chan error, 1)
	go func() { first <- invokeGzip() }()
	within(t, "the first request", func() bool { return svc.held.Load() == size })
	wantCode(t, invokeGzip(), call.ResourceExhausted)
	close(svc.gate)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if err := invokeGzip(); err != nil {
		t.Errorf("a call after those: %v", err)
	}
}

// TestServerHolds: the connections of a listener share a limit, and a connection that holds little is served beyond it.
func TestServerHolds(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	svc := newReading(0)
	r := newRig(t, svc, &grpc.Config{MaxServerHeld: 4 * size}, nil)
	results := make(chan error, 8)
	for range cap(results) {
		conn := r.dial(t, nil)
		go func() {
			_, _, err := invoke(t.Context(), conn, head(echoMethod), make([]byte, size))
			results <- err
		}()
	}
	for range 3 { // 4 may be held, and one on its way
		wantCode(t, <-results, call.ResourceExhausted)
	}
	small := make(chan error, 1)
	conn := r.dial(t, nil)
	go func() {
		_, _, err := invoke(t.Context(), conn, head(echoMethod), make([]byte, 1000))
		small <- err
	}()
	close(svc.gate)
	if err := <-small; err != nil {
		t.Errorf("a small call: %v", err)
	}
}

// TestShares: a connection that takes all the memory that it gets leaves room to another one.
func TestShares(t *testing.T) {
	t.Parallel()
	const size, calls = 1 << 20, 12
	svc := newReading(0)
	svc.unary("test.Echo.Other", func(_ context.Context, s call.ServerStream) ([]byte, *call.Status, call.Metadata) {
		_, err := s.Recv()
		return []byte{}, call.StatusOf(err), nil
	})
	r := newRig(t, svc, &grpc.Config{MaxServerHeld: 8 * size}, nil)
	results := make(chan error, calls)
	for range calls {
		go func() {
			_, _, err := invoke(t.Context(), r.conn, head(echoMethod), make([]byte, size))
			results <- err
		}()
	}
	for range calls / 3 {
		wantCode(t, <-results, call.ResourceExhausted)
	}
	if _, _, err := invoke(t.Context(), r.dial(t, nil), head("test.Echo.Other"), make([]byte, size)); err != nil {
		t.Errorf("a call of another connection: %v", err)
	}
	close(svc.gate)
}

// TestUnreadEnds: what a client with a small window leaves of many small responses counts for its connection, and is given up in the end. Not
// with unary calls: the objects that those leave for other tests would belong to this bubble.
func TestUnreadEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size, calls = 20 << 10, 20
		svc := newReading(size)
		svc.service[echoMethod].serverStreams = true
		close(svc.gate)
		r := newRig(t, svc, &grpc.Config{MaxHeld: calls * size / 2, ResponseTimeout: 3 * time.Second}, nil)
		nc, err := r.transport.Dial(t.Context(), r.addr)
		if err != nil {
			t.Fatal(err)
		}
		c := newRawClientWith(t, nc, &h2conn.Config{HTTP2: http2.Config{StreamWindow: 1}})
		c.holdWindow = true
		for range calls {
			c.begin(t, request(message(0, "a")))
		}
		synctest.Wait()
		large := request(message(0, strings.Repeat("a", 1<<16-1)))
		if got := c.send(t, large); got.get("grpc-status") != "8" {
			t.Errorf("while %d bytes wait, a large call gets status %q and reset %v, want 8", calls*size, got.get("grpc-status"), got.reset)
		}
		for range calls {
			if got := c.next(t); got.reset == 0 {
				t.Errorf("an unread response gets status %q, want a reset", got.get("grpc-status"))
			}
		}
		if got := c.send(t, large); got.reset == 0 {
			t.Errorf("after them, a large call gets status %q, want its response to wait for the window", got.get("grpc-status"))
		}
	})
}

// TestSlowResponse: a client that takes a little of a large response in each response_timeout gets all of it.
func TestSlowResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 160 << 10
		svc := newReading(size)
		svc.service[echoMethod].serverStreams = true // not with unary calls, see TestUnreadEnds
		close(svc.gate)
		r := newRig(t, svc, &grpc.Config{ResponseTimeout: 3 * time.Second}, nil)
		nc, err := r.transport.Dial(t.Context(), r.addr)
		if err != nil {
			t.Fatal(err)
		}
		c := newRawClientWith(t, nc, &h2conn.Config{HTTP2: http2.Config{StreamWindow: 4 << 10}})
		c.pause = 2 * time.Second
		c.begin(t, request(message(0, "a")))
		select {
		case got := <-c.done:
			if len(got.body) != size+5 || got.get("grpc-status") != "0" {
				t.Errorf("got %d bytes, status %q and reset %v", len(got.body), got.get("grpc-status"), got.reset)
			}
		case <-time.After(time.Hour):
			t.Error("waited an hour for the end of the response")
		}
	})
}

// TestUnreadResponse: a client that gives no window for a large response does not hold the handler for ever. A client that takes some of it
// from time to time gets all.
func TestUnreadResponse(t *testing.T) {
	t.Parallel()
	const size = 2 << 20
	svc := newReading(size)
	close(svc.gate)
	r := newRig(t, svc, &grpc.Config{ResponseTimeout: 3 * time.Second}, nil)
	nc, err := r.transport.Dial(t.Context(), r.addr)
	if err != nil {
		t.Fatal(err)
	}
	c := newRawClient(t, nc)
	c.holdWindow = true
	if got := c.send(t, request(message(0, "a"))); got.reset == 0 {
		t.Errorf("a client that takes nothing gets %d bytes and status %q, want a reset", len(got.body), got.get("grpc-status"))
	}
	within(t, "the handler to end", func() bool { return svc.ended.Load() == 1 })
	c.holdWindow = false
	if got := c.send(t, request(message(0, "a"))); len(got.body) != size+5 || got.get("grpc-status") != "0" {
		t.Errorf("the next call gets %d bytes, status %q and reset %v", len(got.body), got.get("grpc-status"), got.reset)
	}
}

// within waits until done returns true.
func within(t *testing.T, what string, done func() bool) {
	t.Helper()
	for late := time.Now().Add(30 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("waited 30 s for %s", what)
		}
	}
}
