package grpc_test

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/grpc"
)

// TestDrainUnderLoad: a server that is told to stop while 50 clients call it completes each call that it has begun. All others
// are Unsent, so their clients can call elsewhere.
func TestDrainUnderLoad(t *testing.T) {
	t.Parallel()
	r := newRig(t, newService(), &grpc.Config{MaxStreams: 30}, nil)
	var done, unsent atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for {
				_, resp, err := invoke(t.Context(), r.conn, head(echoMethod), []byte("a"))
				if err == nil {
					done.Add(1)
					continue
				}
				wantCode(t, err, call.Unavailable)
				if !resp.Unsent {
					t.Errorf("a call was lost: %v", err)
				}
				unsent.Add(1)
				return
			}
		})
	}
	for done.Load() < 500 {
		time.Sleep(time.Millisecond)
	}
	if err := r.listener.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	all.Wait()
	if unsent.Load() != 50 {
		t.Errorf("%d calls ended as Unsent, want 50", unsent.Load())
	}
}

// finishing counts the calls whose Finish has returned.
type finishing struct {
	service
	finished atomic.Int32
}

func (f *finishing) Serve(ctx context.Context, m call.Method, s call.ServerStream) {
	f.service.Serve(ctx, m, s)
	f.finished.Add(1)
}

// TestUnreadResponses: handlers wait while their large responses do, so the server queues only a part of each.
func TestUnreadResponses(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("response"), 1<<17)
	f := &finishing{service: newService()}
	f.unary("test.Echo.Large", func(context.Context, call.ServerStream) ([]byte, *call.Status, call.Metadata) { return large, nil, nil })
	r := newRig(t, f, nil, &grpc.Config{StreamWindow: 1 << 16})
	var streams []call.ClientStream
	for range 5 {
		s, err := r.conn.Open(t.Context(), head("test.Echo.Large"))
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
		if err := s.Send(nil); err != nil {
			t.Fatal(err)
		}
		if err := s.CloseSend(); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range streams {
		if _, err := s.Header(); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(50 * time.Millisecond) // a server that does not wait would have finished by now
	if n := f.finished.Load(); n != 0 {
		t.Errorf("%d handlers have finished, but the client has read nothing", n)
	}
	streams[0].Cancel()
	for _, s := range streams[1:] {
		if got, err := s.Recv(); err != nil || !bytes.Equal(got, large) {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
	}
	for f.finished.Load() < 5 {
		time.Sleep(time.Millisecond)
	}
}
