package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry/codec/json"
	"example.com/ferry/codec/raw"
	"example.com/ferry/cpu"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
)

func TestCall(t *testing.T) {
	t.Parallel()
	c := serve(t, nil, func(s *rpc.Server) { rpc.Handle(s, hello, sayHello) })
	out, err := rpc.Call[helloResponse](t.Context(), c, hello, &helloRequest{"Bo"})
	if err != nil || out.Message != "Hello, Bo" {
		t.Fatalf("got %v, %v, want Hello, Bo", out, err)
	}
}

// TestCallErrors: every way in which a call can fail has its code and text, at both ends.
func TestCallErrors(t *testing.T) {
	t.Parallel()
	fail := func(err error) func(s *rpc.Server) {
		return func(s *rpc.Server) {
			rpc.Handle(s, hello, func(context.Context, *helloRequest) (*helloResponse, error) { return nil, err })
		}
	}
	run := func(f func()) func(s *rpc.Server) {
		return func(s *rpc.Server) {
			rpc.Handle(s, hello, func(context.Context, *helloRequest) (*helloResponse, error) { f(); return nil, nil })
		}
	}
	for _, row := range []struct {
		name     string
		register func(s *rpc.Server)
		code     call.Code
		text     string
	}{
		{"a status", fail(call.Errorf(call.NotFound, "no user 5")), call.NotFound, "no user 5"},
		{"a wrapped status", fail(fmt.Errorf("users: %w", call.Errorf(call.NotFound, "no user 5"))), call.NotFound, "no user 5"},
		{"another error", fail(errors.New("boom")), call.Unknown, "boom"},
		{"a status OK", fail(call.Errorf(call.OK, "fine")), call.Unknown, "with the code OK"},
		{"no method", func(*rpc.Server) {}, call.Unimplemented, "no method"},
		{"neither response nor error", run(func() {}), call.Internal, "neither a response nor an error"},
		{"a panic", run(func() { panic("boom") }), call.Internal, "panicked"},
		{"runtime.Goexit", run(func() { runtime.Goexit() }), call.Internal, "ended its goroutine"},
		{"a response that cannot be encoded", func(s *rpc.Server) {
			rpc.Handle(s, hello, func(context.Context, *helloRequest) (*fails, error) { return &fails{}, nil })
		}, call.Internal, "cannot be encoded"},
		{"a request that cannot be decoded", func(s *rpc.Server) {
			rpc.Handle(s, hello, func(context.Context, *struct{ Name int }) (*helloResponse, error) { return nil, nil })
		}, call.InvalidArgument, "cannot be decoded"},
		{"a panic of an encoder", func(s *rpc.Server) {
			rpc.Handle(s, hello, func(context.Context, *helloRequest) (*panics, error) { return &panics{}, nil })
		}, call.Internal, "panicked"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := serve(t, &rpc.ServerConfig{Log: quiet}, row.register)
			_, err := rpc.Call[helloResponse](t.Context(), c, hello, &helloRequest{"Bo"})
			if s := call.StatusOf(err); s == nil || s.Code != row.code || !strings.Contains(s.Message, row.text) {
				t.Errorf("got %v, want %v with %q", err, row.code, row.text)
			}
		})
	}
}

type fails struct{}

func (*fails) MarshalJSON() ([]byte, error) { return nil, errors.New("in MarshalJSON") }

type panics struct{}

func (*panics) MarshalJSON() ([]byte, error) { panic("in MarshalJSON") }

// TestPanicIsCounted: the server lives on, logs the stack and counts.
func TestPanicIsCounted(t *testing.T) {
	t.Parallel()
	p := newDirect()
	srv := rpc.NewServer(&rpc.ServerConfig{Log: quiet})
	rpc.Handle(srv, hello, func(_ context.Context, in *helloRequest) (*helloResponse, error) {
		if in.Name == "" {
			panic("no name")
		}
		return &helloResponse{}, nil
	})
	listen(t, p, srv, "a")
	c := dial(t, p, "a", nil)
	_, err := rpc.Call[helloResponse](t.Context(), c, hello, &helloRequest{})
	_, err2 := rpc.Call[helloResponse](t.Context(), c, hello, &helloRequest{"Bo"})
	if call.StatusOf(err).Code != call.Internal || err2 != nil {
		t.Fatalf("got %v, then %v", err, err2)
	}
	for _, m := range srv.Metrics().Methods {
		if m.Method == hello && (m.Panics != 1 || m.Codes[call.Internal] != 1 || m.Codes[call.OK] != 1 || m.InFlight != 0 || m.Latency.Count != 2) {
			t.Errorf("got %+v", m)
		}
	}
}

func TestRegistrationErrors(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, want string
		register   func(s *rpc.Server)
	}{
		{"no service", "write package.Service.Method", func(s *rpc.Server) { rpc.Handle(s, "Hello", sayHello) }},
		{"a slash", "write package.Service.Method", func(s *rpc.Server) { rpc.Handle(s, "greeter/Hello", sayHello) }},
		{"an empty part", "write package.Service.Method", func(s *rpc.Server) { rpc.Handle(s, "greeter..Hello", sayHello) }},
		{"twice", "registered twice", func(s *rpc.Server) { rpc.Handle(s, hello, sayHello); rpc.Handle(s, hello, sayHello) }},
		{"a method of the health service", "registered twice", func(s *rpc.Server) { rpc.Handle(s, rpc.HealthCheck, sayHello) }},
	} {
		srv := rpc.NewServer(nil)
		row.register(srv)
		_, err := srv.Listen(t.Context(), newDirect(), nil, "a")
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want an error with %q", row.name, err, row.want)
		}
	}
}

// only is a codec for one type.
type only struct {
	json.Codec
	t reflect.Type
}

func (o only) CheckType(t reflect.Type) error {
	if t != o.t {
		return fmt.Errorf("only: %v is not %v", t, o.t)
	}
	return nil
}

// TestContents: a method offers the contents that can carry its types, and names the reason for the others.
func TestContents(t *testing.T) {
	t.Parallel()
	contents := []envelope.Content{
		{Type: "application/json", Codec: json.Codec{}},
		{Type: "application/only", Codec: only{t: reflect.TypeFor[*int]()}},
		{Type: "application/x", Codec: raw.Codec{}},
	}
	p := newDirect()
	srv := rpc.NewServer(&rpc.ServerConfig{Contents: contents[:2]})
	rpc.Handle(srv, hello, sayHello)
	listen(t, p, srv, "a")
	c := dial(t, p, "a", &rpc.ClientConfig{Contents: append(contents, envelope.Content{Type: "application/more", Codec: json.Codec{}})})
	for contentType, want := range map[string]string{
		"application/json": "",
		"application/only": "only: *rpc_test.helloRequest is not *int",
		"application/more": "use application/json",
		"application/none": "is not in ClientConfig.Contents",
	} {
		_, err := rpc.Call[helloResponse](t.Context(), c, hello, &helloRequest{"Bo"}, rpc.WithContent(contentType))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", contentType, err, want)
		}
	}

	srv = rpc.NewServer(&rpc.ServerConfig{Contents: contents[1:2]})
	rpc.Handle(srv, hello, sayHello)
	if _, err := srv.Listen(t.Context(), p, nil, "b"); err == nil || !strings.Contains(err.Error(), "no content type") {
		t.Errorf("got %v, want an error: no content can carry the types", err)
	}
}

// TestEnvelope: method and id of the envelope agree with the call, with and without numbers of the protocol.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	for _, numbered := range []bool{false, true} {
		p := newDirect()
		p.Numbered = numbered
		contents := []envelope.Content{{Type: "application/jsonrpc2", Envelope: envelope.JSONRPC2{}, Codec: json.Codec{}}}
		srv := rpc.NewServer(&rpc.ServerConfig{Contents: contents})
		rpc.Handle(srv, hello, func(ctx context.Context, in *helloRequest) (*helloResponse, error) {
			if in.Name == "" {
				return nil, call.Errorf(call.InvalidArgument, "no name")
			}
			return sayHello(ctx, in)
		})
		listen(t, p, srv, "a")
		c := dial(t, p, "a", &rpc.ClientConfig{Contents: contents})
		for range 3 {
			out, err := rpc.Call[helloResponse](t.Context(), c, hello, &helloRequest{"Bo"})
			if err != nil || out.Message != "Hello, Bo" {
				t.Fatalf("numbered %v: got %v, %v", numbered, out, err)
			}
		}
		if _, err := rpc.Call[helloResponse](t.Context(), c, hello, &helloRequest{}); !errors.Is(err, &call.Status{Code: call.InvalidArgument}) {
			t.Errorf("numbered %v: got %v, want InvalidArgument", numbered, err)
		}
	}
}

// TestEnvelopeDisagrees: an envelope that names another call is refused.
func TestEnvelopeDisagrees(t *testing.T) {
	t.Parallel()
	p := newDirect()
	contents := []envelope.Content{{Type: "application/jsonrpc2", Envelope: envelope.JSONRPC2{}, Codec: json.Codec{}}}
	srv := rpc.NewServer(&rpc.ServerConfig{Contents: contents})
	rpc.Handle(srv, hello, sayHello)
	listen(t, p, srv, "a")
	conn, err := p.Dial(t.Context(), nil, "a")
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]call.Code{
		`{"jsonrpc":"2.0","method":"greeter.Greeter.Hello","params":{"name":"Bo"},"id":7}`: call.OK,
		`{"jsonrpc":"2.0","method":"greeter.Greeter.Hello","params":{"name":"Bo"},"id":8}`: call.InvalidArgument,
		`{"jsonrpc":"2.0","method":"greeter.Greeter.Other","params":{"name":"Bo"},"id":7}`: call.InvalidArgument,
		`{"jsonrpc":"2.0","method":`: call.InvalidArgument,
	} {
		var resp call.Response
		err := conn.Call(t.Context(), &call.Head{Method: hello, Content: "application/jsonrpc2", ID: 7}, []byte(body), &resp)
		if s := call.StatusOf(err); want == call.OK && s != nil || want != call.OK && (s == nil || s.Code != want) {
			t.Errorf("%s: got %v, want %v", body, err, want)
		}
	}
}

// TestOverload: calls above the limits fail at once and do not reach the handler.
func TestOverload(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		cfg     rpc.ServerConfig
		opts    []rpc.MethodOption
		refused int // of three calls
		want    string
	}{
		{"all calls", rpc.ServerConfig{MaxCalls: 1}, nil, 2, "ServerConfig.MaxCalls"},
		{"a method", rpc.ServerConfig{}, []rpc.MethodOption{rpc.MaxCalls(1)}, 2, "its MaxCalls"},
		{"heavy calls", rpc.ServerConfig{}, []rpc.MethodOption{rpc.Heavy(onePlace(t))}, 1, "the queue of the pool"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			entered, leave := make(chan struct{}, 10), make(chan struct{})
			c := serve(t, &row.cfg, func(s *rpc.Server) {
				rpc.Handle(s, hello, func(context.Context, *helloRequest) (*helloResponse, error) {
					entered <- struct{}{}
					<-leave
					return &helloResponse{}, nil
				}, row.opts...)
			})
			results := make(chan error)
			one := func() {
				_, err := rpc.Call[helloResponse](t.Context(), c, hello, &helloRequest{"Bo"})
				results <- err
			}
			go one()
			<-entered
			go one()
			go one()
			for range row.refused {
				err := <-results
				if !errors.Is(err, &call.Status{Code: call.ResourceExhausted}) || !strings.Contains(err.Error(), "overloaded") || !strings.Contains(err.Error(), row.want) {
					t.Errorf("got %v, want ResourceExhausted, overloaded, with %q", err, row.want)
				}
			}
			close(leave)
			for range 3 - row.refused {
				if err := <-results; err != nil {
					t.Errorf("a call that was admitted failed: %v", err)
				}
			}
		})
	}
}

func onePlace(t *testing.T) *cpu.Pool {
	t.Helper()
	pool, err := cpu.New(cpu.Config{Tokens: 1, Queue: 1, Lend: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

func TestHeavy(t *testing.T) {
	t.Parallel()
	pool := onePlace(t)
	c := serve(t, &rpc.ServerConfig{Log: quiet}, func(s *rpc.Server) {
		rpc.Handle(s, hello, func(ctx context.Context, in *helloRequest) (*helloResponse, error) {
			if cpu.From(ctx) == nil {
				return nil, errors.New("the handler does not run in the pool")
			}
			if in.Name == "" {
				panic("no name")
			}
			return sayHello(ctx, in)
		}, rpc.Heavy(pool))
	})
	if _, err := rpc.Call[helloResponse](t.Context(), c, hello, &helloRequest{"Bo"}); err != nil {
		t.Error(err)
	}
	if _, err := rpc.Call[helloResponse](t.Context(), c, hello, &helloRequest{}); !errors.Is(err, &call.Status{Code: call.Internal}) {
		t.Errorf("got %v, want Internal", err)
	}
	pool.Close()
	if _, err := rpc.Call[helloResponse](t.Context(), c, hello, &helloRequest{"Bo"}); !errors.Is(err, &call.Status{Code: call.Unavailable}) {
		t.Errorf("got %v, want Unavailable", err)
	}
}

func TestMessageSize(t *testing.T) {
	t.Parallel()
	p := newDirect()
	srv := rpc.NewServer(&rpc.ServerConfig{MaxMessage: 100})
	rpc.Handle(srv, hello, func(_ context.Context, in *helloRequest) (*helloResponse, error) {
		return &helloResponse{strings.Repeat(in.Name, 10)}, nil
	})
	listen(t, p, srv, "a")
	for _, row := range []struct {
		name    string
		request string
		limit   int
		want    string
	}{
		{"within the limits", "Bo", 0, ""},
		{"a request above the client's", strings.Repeat("x", 90), 50, "the request has"},
		{"a request above the server's", strings.Repeat("x", 90), 0, "the request has"},
		{"a response above the server's", strings.Repeat("x", 10), 0, "the response has"},
		{"a response above the client's", "abcd", 50, "the response has"},
	} {
		c := dial(t, p, "a", &rpc.ClientConfig{MaxMessage: row.limit})
		_, err := rpc.Call[helloResponse](t.Context(), c, hello, &helloRequest{row.request})
		if row.want == "" && err != nil || row.want != "" && (!errors.Is(err, &call.Status{Code: call.ResourceExhausted}) || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: got %v, want %q", row.name, err, row.want)
		}
	}
}

// TestMethods: the list is sorted, follows later registrations, and is made once for each of them.
func TestMethods(t *testing.T) {
	srv := rpc.NewServer(nil)
	add := func(name string) {
		rpc.Handle(srv, name, func(_ context.Context, in *helloRequest) (*helloResponse, error) { return nil, nil })
	}
	names := func() (all []string) {
		for _, m := range srv.Methods() {
			all = append(all, m.Name())
		}
		return all
	}
	before := len(names())
	add("b.B.B")
	add("a.A.A")
	if got := names(); len(got) != before+2 || !slices.IsSorted(got) || !slices.Contains(got, "a.A.A") {
		t.Errorf("got %q", got)
	}
	if n := testing.AllocsPerRun(100, func() { srv.Methods() }); n != 0 {
		t.Errorf("Methods allocates %v times: each request for an unknown method would sort the list", n)
	}
	add("c.C.C")
	if got := names(); !slices.Contains(got, "c.C.C") {
		t.Errorf("got %q without the last method", got)
	}
}
