package grpc_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"
	"testing"
	"time"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/grpc"
)

func TestUnary(t *testing.T) {
	t.Parallel()
	r := newRig(t, newService(), &grpc.Config{MaxMessage: 16 << 20}, &grpc.Config{MaxMessage: 16 << 20})
	noise := make([]byte, 5<<20)
	_, _ = rand.Read(noise[:len(noise)/2])
	for _, compression := range []string{"", "gzip", "zstd"} {
		for _, content := range []string{"application/protobuf", "application/json", "application/grpc+json"} {
			sizes := []int{0, 1, 255, 16379, 16380, 65536}
			if content == "application/protobuf" {
				sizes = append(sizes, len(noise))
			}
			for _, size := range sizes {
				data := noise[:size]
				h := &call.Head{Method: echoMethod, Content: content, Compression: compression}
				got, resp, err := invoke(t.Context(), r.conn, h, data)
				if err != nil || !bytes.Equal(got, data) || resp.Header != nil || resp.Trailer != nil {
					t.Errorf("%s %s %d bytes: got %d bytes, %v", content, compression, size, len(got), err)
				}
			}
		}
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	r := newRig(t, newService(), nil, nil)
	h := head(echoMethod)
	h.Metadata = call.Metadata{
		{Name: "x-header", Value: "one"},
		{Name: "x-header", Value: "two, three"},
		{Name: "x-trailer-bin", Value: "\x00\xff"},
		{Name: "x-trailer-bin", Value: ""},
		{Name: "authorization", Value: "Bearer x"},
	}
	_, resp, err := invoke(t.Context(), r.conn, h, []byte("a"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (call.Metadata{{Name: "x-header", Value: "one"}, {Name: "x-header", Value: "two, three"}}); !reflect.DeepEqual(resp.Header, want) {
		t.Errorf("header: got %q, want %q", resp.Header, want)
	}
	if want := (call.Metadata{{Name: "x-trailer-bin", Value: "\x00\xff"}, {Name: "x-trailer-bin", Value: ""}}); !reflect.DeepEqual(resp.Trailer, want) {
		t.Errorf("trailer: got %q, want %q", resp.Trailer, want)
	}
	for _, bad := range []call.Field{
		{Name: "", Value: "a"},
		{Name: "Upper", Value: "a"},
		{Name: ":path", Value: "/"},
		{Name: "grpc-status", Value: "0"},
		{Name: "te", Value: "a"},
		{Name: "content-type", Value: "a"},
		{Name: "x-text", Value: "é"},
		{Name: "x-text", Value: "a\r\nb"},
	} {
		h.Metadata = call.Metadata{bad}
		_, resp, err := invoke(t.Context(), r.conn, h, nil)
		wantCode(t, err, call.InvalidArgument)
		if !resp.Unsent {
			t.Errorf("%q: the call was sent", bad)
		}
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	r := newRig(t, newService(), nil, nil)
	for _, name := range []string{echoMethod, streamMethod} {
		for _, header := range []bool{false, true} {
			want := &call.Status{
				Code: call.NotFound, Message: "\t100 % é\n ",
				Details: []call.Detail{{Type: "type.googleapis.com/test.Why", Value: []byte("\x00\xff")}},
			}
			h := head(name)
			h.Metadata = call.Metadata{{Name: "x-fail-bin", Value: want.Message}, {Name: "x-trailer-bin", Value: "t"}}
			h.Metadata = append(h.Metadata, call.Field{Name: "x-fail", Value: "100 % sure"})
			want.Message = "100 % sure"
			if header {
				h.Metadata = append(h.Metadata, call.Field{Name: "x-header", Value: "h"})
			}
			s, err := r.conn.Open(t.Context(), h)
			if err != nil {
				t.Fatal(err)
			}
			if name == echoMethod {
				if err := errors.Join(s.Send(nil), s.CloseSend()); err != nil {
					t.Fatal(err)
				}
			}
			_, err = s.Recv()
			if got := call.StatusOf(err); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %+v, want %+v", name, got, want)
			}
			if s.Trailer().Get("x-trailer-bin") != "t" {
				t.Errorf("%s: trailer %v", name, s.Trailer())
			}
			got, err := s.Header()
			if header && (err != nil || got.Get("x-header") != "h") || !header && call.StatusOf(err).Code != call.NotFound {
				t.Errorf("%s: header %v, %v", name, got, err)
			}
		}
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	r := newRig(t, newService(), nil, nil)
	for _, compression := range []string{"", "gzip"} {
		h := head(streamMethod)
		h.Compression = compression
		h.Metadata = call.Metadata{{Name: "x-header", Value: "h"}}
		s, err := r.conn.Open(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		var sizes []int
		for i := range 300 {
			sizes = append(sizes, i*i*7%50_000)
		}
		sizes = append(sizes, 3<<20, 0, 1<<20, 5)
		var all sync.WaitGroup
		all.Go(func() {
			for i, size := range sizes {
				if err := s.Send(bytes.Repeat([]byte{byte(i)}, size)); err != nil {
					t.Errorf("message %d: %v", i, err)
				}
			}
			if err := s.CloseSend(); err != nil {
				t.Error(err)
			}
		})
		for i, size := range sizes {
			got, err := s.Recv()
			if err != nil || !bytes.Equal(got, bytes.Repeat([]byte{byte(i)}, size)) {
				t.Fatalf("message %d: got %d bytes, %v, want %d", i, len(got), err, size)
			}
		}
		if _, err := s.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("at the end: %v", err)
		}
		if h, err := s.Header(); err != nil || h.Get("x-header") != "h" {
			t.Errorf("header: %v, %v", h, err)
		}
		if err := s.Send(nil); !errors.Is(err, io.EOF) {
			t.Errorf("Send after the end: %v", err)
		}
		all.Wait()
	}
}

func TestUnknownMethod(t *testing.T) {
	t.Parallel()
	r := newRig(t, newService(), nil, nil)
	_, resp, err := invoke(t.Context(), r.conn, head("test.Echo.Nothing"), []byte("a"))
	wantCode(t, err, call.Unimplemented)
	if resp.Unsent {
		t.Error("the server has seen the call")
	}
	for _, name := range []string{"", "Hello", ".Hello", "a.", "a b.C", "a/b.C"} {
		_, _, err := invoke(t.Context(), r.conn, head(name), nil)
		wantCode(t, err, call.InvalidArgument)
	}
}

func TestParallel(t *testing.T) {
	t.Parallel()
	r := newRig(t, newService(), nil, nil)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			for j := range 40 {
				data := fmt.Append(nil, i, " ", j)
				got, _, err := invoke(t.Context(), r.conn, head(echoMethod), data)
				if err != nil || !bytes.Equal(got, data) {
					t.Errorf("got %q, %v, want %q", got, err, data)
				}
			}
		})
	}
	all.Wait()
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	r := newRig(t, newService(), nil, nil)
	byContext, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	h := head(hangMethod)
	h.Deadline = time.Now().Add(20 * time.Millisecond)
	_, _, err := invoke(t.Context(), r.conn, h, nil)
	wantCode(t, err, call.DeadlineExceeded)
	_, _, err = invoke(byContext, r.conn, head(hangMethod), nil)
	wantCode(t, err, call.DeadlineExceeded)
	_, resp, err := invoke(t.Context(), r.conn, h, nil)
	wantCode(t, err, call.DeadlineExceeded)
	if !resp.Unsent {
		t.Error("a call whose deadline has passed was sent")
	}
	h = head(streamMethod)
	h.Deadline = time.Now().Add(20 * time.Millisecond)
	s, err := r.conn.Open(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Recv()
	wantCode(t, err, call.DeadlineExceeded)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	seen := make(chan error, 1)
	svc := newService()
	svc.unary(hangMethod, func(ctx context.Context, _ call.ServerStream) ([]byte, *call.Status, call.Metadata) {
		seen <- nil
		<-ctx.Done()
		seen <- ctx.Err()
		return nil, call.StatusOf(ctx.Err()), nil
	})
	r := newRig(t, svc, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-seen
		cancel()
	}()
	_, _, err := invoke(ctx, r.conn, head(hangMethod), nil)
	wantCode(t, err, call.Canceled)
	if err := <-seen; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler's context: %v", err)
	}
	for _, how := range []string{"Cancel", "context"} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s, err := r.conn.Open(ctx, head(streamMethod))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send([]byte("a")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Recv(); err != nil {
			t.Fatal(err)
		}
		if how == "Cancel" {
			s.Cancel()
		} else {
			cancel()
		}
		_, err = s.Recv()
		wantCode(t, err, call.Canceled)
		if err := s.Send(nil); !errors.Is(err, io.EOF) {
			t.Errorf("Send: %v", err)
		}
	}
}
