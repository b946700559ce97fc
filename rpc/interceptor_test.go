package rpc_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
)

// pair returns a client of a server with the methods of streams and Hello.
func pair(t *testing.T, sc *rpc.ServerConfig, cc *rpc.ClientConfig) (*rpc.Server, *rpc.Client) {
	t.Helper()
	p := newDirect()
	sc.Log, cc.Log = quiet, quiet
	srv := rpc.NewServer(sc)
	rpc.Handle(srv, hello, sayHello)
	streams(srv)
	listen(t, p, srv, "a")
	return srv, dial(t, p, "a", cc)
}

// panicking is an Observer that panics at the start or at the end of a call.
type panicking struct{ atStart bool }

func (p panicking) CallStarted(ctx context.Context, _ *rpc.Info) context.Context {
	if p.atStart {
		panic("at the start")
	}
	return ctx
}

func (p panicking) CallEnded(context.Context, *rpc.Info, rpc.End) { panic("at the end") }

// TestObserverPanics: the process lives, and a call that has ended is not changed.
func TestObserverPanics(t *testing.T) {
	t.Parallel()
	_, c := pair(t, &rpc.ServerConfig{Observer: panicking{atStart: true}}, &rpc.ClientConfig{})
	if _, err := greet(t.Context(), c); !errors.Is(err, &call.Status{Code: call.Internal}) {
		t.Errorf("a panic at the start: got %v, want Internal", err)
	}
	srv, c := pair(t, &rpc.ServerConfig{Observer: panicking{}}, &rpc.ClientConfig{Observer: panicking{}})
	if _, err := greet(t.Context(), c); err != nil {
		t.Errorf("a panic at the end: %v", err)
	}
	if err := srv.Drain(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestInterceptorSkipsHandler: a unary call has a response or an error.
func TestInterceptorSkipsHandler(t *testing.T) {
	t.Parallel()
	skip := func(context.Context, *rpc.Info, func(context.Context) error) error { return nil }
	_, c := pair(t, &rpc.ServerConfig{Interceptors: []rpc.Interceptor{skip}}, &rpc.ClientConfig{})
	if _, err := greet(t.Context(), c); !errors.Is(err, &call.Status{Code: call.Internal}) || !strings.Contains(err.Error(), "interceptor") {
		t.Errorf("got %v, want Internal", err)
	}
}

// TestMessageHook: an error of a message hook ends the call, whatever its shape and at both ends.
func TestMessageHook(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"client", "server"} {
		for _, sent := range []bool{false, true} {
			refuse := func(ctx context.Context, info *rpc.Info, next func(context.Context) error) error {
				info.OnMessage(func(s bool, _ any) error {
					if s == sent {
						return call.Errorf(call.FailedPrecondition, "refused")
					}
					return nil
				})
				return next(ctx)
			}
			sc, cc := &rpc.ServerConfig{}, &rpc.ClientConfig{}
			if end == "client" {
				cc.Interceptors = []rpc.Interceptor{refuse}
			} else {
				sc.Interceptors = []rpc.Interceptor{refuse}
			}
			_, c := pair(t, sc, cc)
			if _, err := greet(t.Context(), c); !errors.Is(err, &call.Status{Code: call.FailedPrecondition}) {
				t.Errorf("%s, sent %v: unary: got %v, want FailedPrecondition", end, sent, err)
			}
			for _, method := range []string{count, gather, chat} {
				s, err := rpc.Open[helloResponse, helloRequest](t.Context(), c, method)
				if err != nil {
					t.Fatal(err)
				}
				if err = s.Send(&helloRequest{"Bo"}); err == nil {
					err = s.CloseSend()
				}
				if err == nil {
					_, err = receive(s)
				}
				if !errors.Is(err, &call.Status{Code: call.FailedPrecondition}) {
					t.Errorf("%s, sent %v: %s: got %v, want FailedPrecondition", end, sent, method, err)
				}
			}
			for _, m := range c.Metrics().Methods {
				if m.InFlight != 0 {
					t.Errorf("%s, sent %v: %d calls of %s in flight", end, sent, m.InFlight, m.Method)
				}
			}
		}
	}
}

// TestStreamRefused: a stream that an interceptor refuses after it was opened is cancelled.
func TestStreamRefused(t *testing.T) {
	t.Parallel()
	refuse := func(ctx context.Context, _ *rpc.Info, next func(context.Context) error) error {
		return errors.Join(next(ctx), call.Errorf(call.PermissionDenied, "no"))
	}
	srv, c := pair(t, &rpc.ServerConfig{}, &rpc.ClientConfig{Interceptors: []rpc.Interceptor{refuse}})
	if _, err := rpc.Open[helloResponse, helloRequest](t.Context(), c, chat); !errors.Is(err, &call.Status{Code: call.PermissionDenied}) {
		t.Errorf("got %v, want PermissionDenied", err)
	}
	if err := srv.Drain(t.Context()); err != nil {
		t.Errorf("the stream keeps the server from draining: %v", err)
	}
}

// TestInterceptorSkipsOpen: a stream is open, or Open returns an error.
func TestInterceptorSkipsOpen(t *testing.T) {
	t.Parallel()
	for name, skip := range map[string]rpc.Interceptor{
		"without next": func(context.Context, *rpc.Info, func(context.Context) error) error { return nil },
		"without the error of next": func(ctx context.Context, _ *rpc.Info, next func(context.Context) error) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			_ = next(ctx)
			return nil
		},
	} {
		_, c := pair(t, &rpc.ServerConfig{}, &rpc.ClientConfig{Interceptors: []rpc.Interceptor{skip}})
		s, err := rpc.Open[helloResponse, helloRequest](t.Context(), c, chat)
		if err == nil {
			if _, err = s.Recv(); err == nil {
				s.Cancel()
			}
		}
		var status *call.Status
		if !errors.As(err, &status) {
			t.Errorf("%s: got %v, want a status", name, err)
		}
	}
}

// TestOnMessageOfStream: an error of OnMessage ends a client's stream, and the stream returns it as a status.
func TestOnMessageOfStream(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for _, whenSent := range []bool{false, true} {
		refuse := func(ctx context.Context, info *rpc.Info, next func(context.Context) error) error {
			info.OnMessage(func(sent bool, _ any) error {
				if sent == whenSent {
					return refused
				}
				return nil
			})
			return next(ctx)
		}
		_, c := pair(t, &rpc.ServerConfig{}, &rpc.ClientConfig{Interceptors: []rpc.Interceptor{refuse}})
		s, err := rpc.Open[helloResponse, helloRequest](t.Context(), c, chat)
		if err != nil {
			t.Fatal(err)
		}
		err = s.Send(&helloRequest{"Bo"})
		if !whenSent && err == nil {
			_, err = s.Recv()
		}
		var status *call.Status
		if !errors.As(err, &status) || status.Code != call.Unknown || status.Message != "refused" {
			t.Errorf("sent %v: got %v, want the status UNKNOWN: refused", whenSent, err)
		}
	}
}
