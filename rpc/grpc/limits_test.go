package grpc_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/grpc"
)

// TestMaxStreams: calls beyond the server's limit wait in the client, in order, and none is refused.
func TestMaxStreams(t *testing.T) {
	t.Parallel()
	const limit, calls = 3, 40
	var running, most atomic.Int32
	gate := make(chan int)
	svc := newService()
	svc.unary(hangMethod, func(ctx context.Context, _ call.ServerStream) ([]byte, *call.Status, call.Metadata) {
		n := running.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		select {
		case <-gate:
		case <-ctx.Done():
		}
		running.Add(-1)
		return []byte{}, call.StatusOf(ctx.Err()), nil
	})
	r := newRig(t, svc, &grpc.Config{MaxStreams: limit}, nil)
	var all sync.WaitGroup
	for range limit {
		all.Go(func() {
			if _, _, err := invoke(t.Context(), r.conn, head(hangMethod), nil); err != nil {
				t.Error(err)
			}
		})
	}
	for running.Load() < limit {
		time.Sleep(time.Millisecond)
	}
	// A call that gives up while it waits was never sent.
	for range 5 {
		h := head(hangMethod)
		h.Deadline = time.Now().Add(5 * time.Millisecond)
		_, resp, err := invoke(t.Context(), r.conn, h, nil)
		wantCode(t, err, call.DeadlineExceeded)
		if !resp.Unsent {
			t.Error("a call that waits is not Unsent")
		}
	}
	for range calls {
		all.Go(func() {
			if _, _, err := invoke(t.Context(), r.conn, head(hangMethod), nil); err != nil {
				t.Error(err)
			}
		})
	}
	for range limit + calls {
		gate <- 1
	}
	all.Wait()
	if n := most.Load(); n != limit {
		t.Errorf("%d calls ran at once, want %d", n, limit)
	}
}

// TestWaitingCallsEnd: the end of the connection ends calls that wait for a stream.
func TestWaitingCallsEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, newService(), &grpc.Config{MaxStreams: 1}, nil)
	s, err := r.conn.Open(t.Context(), head(streamMethod))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan call.Response)
	go func() {
		_, resp, err := invoke(t.Context(), r.conn, head(echoMethod), nil)
		wantCode(t, err, call.Unavailable)
		ended <- resp
	}()
	if err := s.Send([]byte("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); err != nil {
		t.Fatal(err)
	}
	if err := r.listener.Close(); err != nil {
		t.Error(err)
	}
	if resp := <-ended; !resp.Unsent {
		t.Error("a call that waits is not Unsent")
	}
}

// TestCloseEndsWaitingCalls: Close lets the calls in progress end, and those that wait for a stream fail at once.
func TestCloseEndsWaitingCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t, newService(), &grpc.Config{MaxStreams: 1}, nil)
	s, err := r.conn.Open(t.Context(), head(streamMethod))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan call.Response)
	go func() {
		_, resp, err := invoke(t.Context(), r.conn, head(echoMethod), nil)
		wantCode(t, err, call.Unavailable)
		ended <- resp
	}()
	closed := make(chan error)
	go func() { closed <- r.conn.Close(t.Context()) }()
	if resp := <-ended; !resp.Unsent {
		t.Error("a call that waits is not Unsent")
	}
	if err := s.Send([]byte("a")); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Recv(); err != nil || string(got) != "a" {
		t.Errorf("the call in progress: got %q, %v", got, err)
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the call in progress: %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// TestMaxConnections: a connection beyond the limit is closed, and the next one is accepted once another has ended.
func TestMaxConnections(t *testing.T) {
	t.Parallel()
	r := newRig(t, newService(), &grpc.Config{MaxConnections: 1}, nil)
	if _, err := (grpc.Protocol{}).Dial(t.Context(), r.transport, r.addr); err == nil {
		t.Fatal("a second connection was accepted")
	}
	if _, _, err := invoke(t.Context(), r.conn, head(echoMethod), nil); err != nil {
		t.Errorf("the first connection: %v", err)
	}
	if err := r.conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for { // the server notices the end a moment later
		c, err := grpc.Protocol{}.Dial(t.Context(), r.transport, r.addr)
		if err == nil {
			_ = c.Close(t.Context())
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// TestIdleConnections: a server drains connections that are idle for long, by default. A negative timeout keeps them.
func TestIdleConnections(t *testing.T) {
	for timeout, stays := range map[time.Duration]bool{0: false, -1: true, time.Hour: true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, newService(), &grpc.Config{IdleTimeout: timeout}, nil)
			time.Sleep(31 * time.Minute)
			synctest.Wait()
			select {
			case <-r.conn.Closing():
				if stays {
					t.Errorf("IdleTimeout %v: the connection was drained", timeout)
				}
			default:
				if !stays {
					t.Errorf("IdleTimeout %v: the connection stays", timeout)
				}
			}
		})
	}
}

// TestMaxHeld: calls whose handlers do not read cannot make the server hold more than its limit. Other calls go on.
func TestMaxHeld(t *testing.T) {
	t.Parallel()
	svc := newService()
	svc.stream("test.Echo.Deaf", func(_ context.Context, s call.ServerStream) ([]byte, *call.Status, call.Metadata) {
		for {
			time.Sleep(5 * time.Millisecond)
			if err := s.Send(nil); err != nil { // the only way in which this handler learns of the end
				return nil, call.StatusOf(err), nil
			}
		}
	})
	r := newRig(t, svc, &grpc.Config{MaxHeld: 2 << 20}, nil)
	var streams []call.ClientStream
	for range 4 {
		s, err := r.conn.Open(t.Context(), head("test.Echo.Deaf"))
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
		go func() {
			for s.Send(make([]byte, 100_000)) == nil {
			}
		}()
	}
	var exhausted atomic.Int32
	done := make(chan int, len(streams))
	for _, s := range streams {
		go func() {
			var err error
			for err == nil {
				_, err = s.Recv()
			}
			if call.StatusOf(err).Code == call.ResourceExhausted {
				exhausted.Add(1)
			}
			done <- 1
		}()
	}
	<-done // windows of 1 MiB for each of 4 calls exceed the limit, so one of them must end
	if exhausted.Load() == 0 {
		t.Error("no call has ended with ResourceExhausted")
	}
	if _, _, err := invoke(t.Context(), r.conn, head(echoMethod), []byte("a")); err != nil {
		t.Error(err)
	}
	for _, s := range streams {
		s.Cancel()
	}
}
