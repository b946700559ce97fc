package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestMetadata: what a client sends reaches the handler, and what the handler sets reaches the client.
func TestMetadata(t *testing.T) {
	t.Parallel()
	c := serve(t, nil, func(s *rpc.Server) {
		rpc.Handle(s, hello, func(ctx context.Context, in *helloRequest) (*helloResponse, error) {
			for _, err := range []error{
				rpc.SetHeader(ctx, "Served-By", "a"),
				rpc.SetTrailer(ctx, "cost", "5"),
			} {
				if err != nil {
					return nil, err
				}
			}
			for name, value := range map[string]string{"trailer-x": "x", "x": "é", "user-agent": "x"} {
				if rpc.SetHeader(ctx, name, value) == nil || rpc.SetTrailer(ctx, name, value) == nil {
					return nil, fmt.Errorf("%s is accepted, and the response would fail in some protocols", name)
				}
			}
			if rpc.Peer(ctx) == nil {
				return nil, errors.New("no peer")
			}
			return &helloResponse{strings.Join(rpc.Header(ctx).Values("user"), ",")}, nil
		})
	})
	ctx := rpc.WithMetadata(rpc.WithMetadata(t.Context(), "User", "Bo"), "user", "Al", "other", "x")
	var header, trailer call.Metadata
	out, err := rpc.Call[helloResponse](ctx, c, hello, &helloRequest{}, rpc.ReceiveHeader(&header), rpc.ReceiveTrailer(&trailer))
	if err != nil || out.Message != "Bo,Al" || header.Get("served-by") != "a" || trailer.Get("cost") != "5" {
		t.Errorf("got %v, %v, header %v, trailer %v", out, err, header, trailer)
	}
	for _, field := range [][]string{{"a b", "x"}, {"", "x"}, {"grpc-x", "x"}, {"Ferry-x", "x"}, {"trailer-x", "x"}, {"connect-x", "x"}, {"Date", "x"}, {"x", "a\nb"}, {"x", "é"}} {
		_, err := rpc.Call[helloResponse](rpc.WithMetadata(t.Context(), field...), c, hello, &helloRequest{})
		if !errors.Is(err, &call.Status{Code: call.InvalidArgument}) {
			t.Errorf("%q: got %v, want InvalidArgument", field, err)
		}
	}
	if _, err := rpc.Call[helloResponse](rpc.WithMetadata(t.Context(), "x-bin", "\x00\xff"), c, hello, &helloRequest{}); err != nil {
		t.Errorf("a binary value: %v", err)
	}
}

// TestMetadataAfterTheCall: a context that outlives its handler cannot change the response of another call.
func TestMetadataAfterTheCall(t *testing.T) {
	t.Parallel()
	var kept context.Context
	c := serve(t, nil, func(s *rpc.Server) {
		rpc.Handle(s, hello, func(ctx context.Context, in *helloRequest) (*helloResponse, error) {
			kept = ctx
			return sayHello(ctx, in)
		})
	})
	if _, err := rpc.Call[helloResponse](t.Context(), c, hello, &helloRequest{}); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"after the call": rpc.SetTrailer(kept, "a", "b"),
		"not a handler":  rpc.SetHeader(t.Context(), "a", "b"),
		"a bad name":     rpc.SetHeader(kept, "a b", "b"),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestTraceContext: a call that a handler makes carries the trace of the handler's own call, unless it sets another.
func TestTraceContext(t *testing.T) {
	t.Parallel()
	p := newDirect()
	inner, outer := rpc.NewServer(nil), rpc.NewServer(nil)
	rpc.Handle(inner, hello, func(ctx context.Context, _ *helloRequest) (*helloResponse, error) {
		return &helloResponse{rpc.Header(ctx).Get("traceparent") + " " + rpc.Header(ctx).Get("tracestate") + " " + rpc.Header(ctx).Get("user")}, nil
	})
	listen(t, p, inner, "inner")
	c := dial(t, p, "inner", nil)
	rpc.Handle(outer, hello, func(ctx context.Context, in *helloRequest) (*helloResponse, error) {
		if in.Name == "own" {
			ctx = rpc.WithMetadata(ctx, "traceparent", "mine")
		}
		return rpc.Call[helloResponse](ctx, c, hello, in)
	})
	listen(t, p, outer, "outer")
	front := dial(t, p, "outer", nil)
	ctx := rpc.WithMetadata(t.Context(), "traceparent", parent, "tracestate", "a=b", "user", "Bo")
	for name, want := range map[string]string{"": parent + " a=b ", "own": "mine  "} {
		if out, err := rpc.Call[helloResponse](ctx, front, hello, &helloRequest{name}); err != nil || out.Message != want {
			t.Errorf("%q: got %v, %v, want %q", name, out, err, want)
		}
	}
}

// trail records what happens to calls.
type trail struct {
	mu    sync.Mutex
	steps []string
}

func (r *trail) add(step string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = append(r.steps, step)
}

func (r *trail) CallStarted(ctx context.Context, info *rpc.Info) context.Context {
	r.add("start " + info.Method)
	return context.WithValue(ctx, trailKey{}, "span")
}

func (r *trail) CallEnded(ctx context.Context, _ *rpc.Info, end rpc.End) {
	if ctx.Value(trailKey{}) != "span" || end.SentMessages != 1 || end.ReceivedMessages != 1 || end.SentBytes == 0 || end.ReceivedBytes == 0 || end.Duration <= 0 {
		r.add("wrong end")
	}
	code := call.OK
	if end.Status != nil {
		code = end.Status.Code
	}
	r.add("end " + code.String())
}

type trailKey struct{}

// TestInterceptors: observer, interceptors, message hooks and handler run in order, at both ends.
func TestInterceptors(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"server", "client"} {
		r := new(trail)
		step := func(name string) rpc.Interceptor {
			return func(ctx context.Context, info *rpc.Info, next func(context.Context) error) error {
				if info.Client != (end == "client") || info.Content != "application/json" || (info.Peer == nil) != info.Client {
					r.add("wrong info")
				}
				if ctx.Value(trailKey{}) != "span" {
					r.add("not the observer's context")
				}
				info.OnMessage(func(sent bool, message any) error {
					switch m := message.(type) {
					case *helloRequest:
						r.add(name + " request " + m.Name)
					case *helloResponse:
						r.add(name + " response " + m.Message)
					}
					return nil
				})
				info.OnEnd(func(rpc.End) { r.add(name + " ended") })
				r.add(name + " in")
				err := next(ctx)
				r.add(name + " out")
				return err
			}
		}
		interceptors := []rpc.Interceptor{step("a"), step("b")}
		sc, cc := &rpc.ServerConfig{}, &rpc.ClientConfig{}
		if end == "server" {
			sc.Interceptors, sc.Observer = interceptors, r
		} else {
			cc.Interceptors, cc.Observer = interceptors, r
		}
		p := newDirect()
		srv := rpc.NewServer(sc)
		rpc.Handle(srv, hello, sayHello)
		l := listen(t, p, srv, "a")
		c := dial(t, p, "a", cc)
		if _, err := rpc.Call[helloResponse](t.Context(), c, hello, &helloRequest{"Bo"}); err != nil {
			t.Fatal(err)
		}
		if err := l.Drain(t.Context()); err != nil { // the server's observer may be told after the response has arrived
			t.Fatal(err)
		}
		want := []string{
			"start " + hello, "a in", "b in", "a request Bo", "b request Bo", "a response Hello, Bo", "b response Hello, Bo",
			"b out", "a out", "end OK", "a ended", "b ended",
		}
		if end == "server" { // the response is encoded after the interceptors have seen the error
			want = []string{
				"start " + hello, "a in", "b in", "a request Bo", "b request Bo", "b out", "a out",
				"a response Hello, Bo", "b response Hello, Bo", "end OK", "a ended", "b ended",
			}
		}
		if !slices.Equal(r.steps, want) {
			t.Errorf("%s: got %q, want %q", end, r.steps, want)
		}
	}
}

// TestInterceptorRefuses: the handler does not run.
func TestInterceptorRefuses(t *testing.T) {
	t.Parallel()
	refuse := func(context.Context, *rpc.Info, func(context.Context) error) error {
		return call.Errorf(call.PermissionDenied, "not you")
	}
	c := serve(t, &rpc.ServerConfig{Interceptors: []rpc.Interceptor{refuse}}, func(s *rpc.Server) {
		rpc.Handle(s, hello, func(context.Context, *helloRequest) (*helloResponse, error) {
			t.Error("the handler runs")
			return &helloResponse{}, nil
		})
	})
	if _, err := rpc.Call[helloResponse](t.Context(), c, hello, &helloRequest{}); !errors.Is(err, &call.Status{Code: call.PermissionDenied}) {
		t.Errorf("got %v, want PermissionDenied", err)
	}
}

// TestDeadline: it reaches the handler, whether it is the context's, an option or the client's default.
func TestDeadline(t *testing.T) {
	t.Parallel()
	p := newDirect()
	srv := rpc.NewServer(nil)
	rpc.Handle(srv, hello, func(ctx context.Context, _ *helloRequest) (*helloResponse, error) {
		if _, ok := ctx.Deadline(); !ok {
			return nil, errors.New("no deadline")
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	listen(t, p, srv, "a")
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	for name, f := range map[string]func() error{
		"context": func() error {
			_, err := rpc.Call[helloResponse](ctx, dial(t, p, "a", nil), hello, &helloRequest{})
			return err
		},
		"option": func() error {
			_, err := rpc.Call[helloResponse](t.Context(), dial(t, p, "a", nil), hello, &helloRequest{}, rpc.Timeout(time.Millisecond))
			return err
		},
		"default": func() error {
			_, err := rpc.Call[helloResponse](t.Context(), dial(t, p, "a", &rpc.ClientConfig{Timeout: time.Millisecond}), hello, &helloRequest{})
			return err
		},
	} {
		if err := f(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want DeadlineExceeded", name, err)
		}
	}
}
