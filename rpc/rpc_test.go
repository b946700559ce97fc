package rpc_test

import (
	"context"
	"log/slog"
	"testing"

	"example.com/ferry/rpc"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
)

type helloRequest struct {
	Name string `json:"name"`
}

type helloResponse struct {
	Message string `json:"message"`
}

const hello = "greeter.Greeter.Hello"

func sayHello(_ context.Context, in *helloRequest) (*helloResponse, error) {
	return &helloResponse{"Hello, " + in.Name}, nil
}

// quiet is a log for panics that a test causes.
var quiet = slog.New(slog.DiscardHandler)

// listen serves srv at addr of p until the test ends.
func listen(t testing.TB, p *direct, srv *rpc.Server, addr string) *directListener {
	t.Helper()
	l, err := srv.Listen(t.Context(), p, nil, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*directListener)
}

// dial returns a client of target over p. cfg may be nil.
func dial(t testing.TB, p *direct, target string, cfg *rpc.ClientConfig) *rpc.Client {
	t.Helper()
	if cfg == nil {
		cfg = &rpc.ClientConfig{}
	}
	cfg.Protocol = p
	cfg.Transports = []transport.Transport{memory.New(nil)}
	c, err := rpc.Dial(t.Context(), "memory://"+target, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// serve returns a client of a server that register configures.
func serve(t testing.TB, cfg *rpc.ServerConfig, register func(*rpc.Server)) *rpc.Client {
	t.Helper()
	p := newDirect()
	srv := rpc.NewServer(cfg)
	register(srv)
	listen(t, p, srv, "a")
	return dial(t, p, "a", nil)
}
