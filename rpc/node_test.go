package rpc_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/protocol/native"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
	"example.com/ferry/transport/tcp"
)

// testNode is a broker with a listener, to which servers and callers connect.
type testNode struct {
	*broker.Broker
	addr string
	stop func()
}

// startNode returns a node that listens on addr.
func startNode(t *testing.T, addr string, identities ...broker.Credential) *testNode {
	t.Helper()
	b, err := broker.New(broker.Config{Identify: broker.Anyone, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if len(identities) > 0 {
		known, err := broker.NewIdentities(identities)
		if err != nil {
			t.Fatal(err)
		}
		b.SetIdentities(known)
	}
	l, err := tcp.New(nil).Listen(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() { defer close(served); _ = b.Serve(context.Background(), l, broker.ValidateFull) }()
	n := &testNode{Broker: b, addr: l.Addr().String()}
	stopped := false
	n.stop = func() {
		if stopped {
			return
		}
		stopped = true
		_ = l.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := b.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		<-served
	}
	t.Cleanup(n.stop)
	return n
}

const patience = 60 * time.Second

// awaitInstances waits until this many clients offer greeter.Greeter.
func (n *testNode) awaitInstances(t *testing.T, want int) {
	t.Helper()
	for late := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		for _, s := range n.Services() {
			if s.Name == "greeter.Greeter" && s.Instances == want {
				return
			}
		}
		if time.Now().After(late) {
			t.Fatalf("the service does not have %d instances", want)
		}
	}
}

func dialStream(t *testing.T, addr, token string) *stream.Client {
	t.Helper()
	c, err := stream.Dial(t.Context(), tcp.New(nil), addr, &stream.Config{Token: []byte(token), MinBackoff: time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

type nodeHello struct{ Name string }

// instance is a server that says its name.
func instance(name string) *rpc.Server {
	srv := rpc.NewServer(nil)
	rpc.Handle(srv, "greeter.Greeter.Hello", func(_ context.Context, in *nodeHello) (*nodeHello, error) {
		return &nodeHello{name + " greets " + in.Name}, nil
	})
	return srv
}

// serveNode serves on a client's connection until stop is called, which waits for the end of Serve.
func serveNode(t *testing.T, c *stream.Client, srv *rpc.Server) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- rpc.Serve(ctx, c, srv) }()
	ended := false
	stop = func() {
		cancel()
		if !ended {
			ended = true
			if err := <-done; err != nil {
				t.Errorf("Serve: %v", err)
			}
		}
	}
	t.Cleanup(stop)
	return stop
}

func callNode(t *testing.T, addr string) *rpc.Client {
	t.Helper()
	c, err := rpc.Dial(t.Context(), "tcp://"+addr, &rpc.ClientConfig{Transports: []transport.Transport{tcp.New(nil)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestServeThroughANode(t *testing.T) {
	n := startNode(t, "127.0.0.1:0")
	serveNode(t, dialStream(t, n.addr, ""), instance("a"))
	n.awaitInstances(t, 1)
	c := callNode(t, n.addr)
	out, err := rpc.Call[nodeHello](t.Context(), c, "greeter.Greeter.Hello", &nodeHello{"Bo"})
	if err != nil || out.Name != "a greets Bo" {
		t.Errorf("got %+v, %v", out, err)
	}
	_, err = rpc.Call[nodeHello](t.Context(), c, "other.Other.Hello", &nodeHello{})
	if s := call.StatusOf(err); s == nil || s.Code != call.Unimplemented || !strings.Contains(s.Message, "other.Other") {
		t.Errorf("got %v, want Unimplemented that names the service", err)
	}
	for _, s := range n.Services() {
		if strings.HasPrefix(s.Name, "grpc.") {
			t.Errorf("service %s is offered", s.Name)
		}
	}
}

// TestServeAgainAfterReconnect: the services are offered on each connection, and a client may serve again after Serve has returned.
func TestServeAgainAfterReconnect(t *testing.T) {
	n := startNode(t, "127.0.0.1:0")
	client := dialStream(t, n.addr, "")
	stop := serveNode(t, client, instance("a"))
	n.awaitInstances(t, 1)
	if err := rpc.Serve(t.Context(), client, instance("b")); err == nil {
		t.Error("a client serves for two servers at once")
	}
	c := callNode(t, n.addr)
	if _, err := rpc.Call[nodeHello](t.Context(), c, "greeter.Greeter.Hello", &nodeHello{}); err != nil {
		t.Fatal(err)
	}
	stop()
	n.awaitInstances(t, 0)
	stop = serveNode(t, client, instance("b"))
	n.awaitInstances(t, 1)
	if out, err := rpc.Call[nodeHello](t.Context(), c, "greeter.Greeter.Hello", &nodeHello{"Bo"}); err != nil || out.Name != "b greets Bo" {
		t.Errorf("got %+v, %v", out, err)
	}
	n.stop()
	n = startNode(t, n.addr)
	n.awaitInstances(t, 1)
	if out, err := rpc.Call[nodeHello](t.Context(), callNode(t, n.addr), "greeter.Greeter.Hello", &nodeHello{"Bo"}); err != nil || out.Name != "b greets Bo" {
		t.Errorf("got %+v, %v", out, err)
	}
	stop()
}

func TestServeIsRefused(t *testing.T) {
	n := startNode(t, "127.0.0.1:0", broker.Credential{Identity: broker.Identity{Name: "a", Serve: []string{"other.*"}}, TokenHash: broker.HashToken([]byte("a"))})
	client := dialStream(t, n.addr, "a")
	err := rpc.Serve(t.Context(), client, instance("a"))
	var refused *native.Error
	if !errors.As(err, &refused) || refused.Code != native.CodeForbidden {
		t.Errorf("got %v, want forbidden", err)
	}
	if err := rpc.Serve(t.Context(), client, rpc.NewServer(nil)); err == nil {
		t.Error("a server without methods is served")
	}
	_ = client.Close()
	if err := rpc.Serve(t.Context(), client, instance("a")); !errors.Is(err, stream.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

// TestNoCallIsLost: instances on a node come and go under load, and their servers drain. Every call succeeds.
func TestNoCallIsLost(t *testing.T) {
	n := startNode(t, "127.0.0.1:0")
	serveNode(t, dialStream(t, n.addr, ""), instance("first"))
	n.awaitInstances(t, 1)
	caller := callNode(t, n.addr)
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	var calls atomic.Int64
	for range 8 {
		callers.Go(func() {
			for ctx.Err() == nil {
				if _, err := rpc.Call[nodeHello](t.Context(), caller, "greeter.Greeter.Hello", &nodeHello{"Bo"}); err != nil {
					t.Errorf("a call is lost: %v", err)
					return
				}
				calls.Add(1)
			}
		})
	}
	for range 10 {
		before := calls.Load()
		client := dialStream(t, n.addr, "")
		srv := instance("second")
		stop := serveNode(t, client, srv)
		n.awaitInstances(t, 2)
		for late := time.Now().Add(patience); calls.Load() < before+100; time.Sleep(time.Millisecond) {
			if t.Failed() || time.Now().After(late) {
				t.Fatal("the callers make no progress")
			}
		}
		if err := srv.Drain(t.Context()); err != nil { // ends Serve
			t.Errorf("Drain: %v", err)
		}
		stop()
		_ = client.Close()
		n.awaitInstances(t, 1)
	}
	cancel()
	callers.Wait()
	for _, s := range n.Services() {
		if s.Name == "greeter.Greeter" && (s.Codes[0] != uint64(calls.Load()) || s.Active != 0) {
			t.Errorf("the node has counted %d calls that succeeded and %d active ones, want %d and 0", s.Codes[0], s.Active, calls.Load())
		}
	}
}

// TestNoCallIsLostWithTheNode: one of two nodes stops under load. Its callers go to the other one.
func TestNoCallIsLostWithTheNode(t *testing.T) {
	one, two := startNode(t, "127.0.0.1:0"), startNode(t, "127.0.0.1:0")
	for _, n := range []*testNode{one, two} {
		serveNode(t, dialStream(t, n.addr, ""), instance(n.addr))
		n.awaitInstances(t, 1)
	}
	caller := callNode(t, one.addr+","+two.addr)
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	var calls atomic.Int64
	for range 8 {
		callers.Go(func() {
			for ctx.Err() == nil {
				if _, err := rpc.Call[nodeHello](t.Context(), caller, "greeter.Greeter.Hello", &nodeHello{"Bo"}); err != nil {
					t.Errorf("a call is lost: %v", err)
					return
				}
				calls.Add(1)
			}
		})
	}
	progress := func() {
		t.Helper()
		before := calls.Load()
		for late := time.Now().Add(patience); calls.Load() < before+200; time.Sleep(time.Millisecond) {
			if t.Failed() || time.Now().After(late) {
				t.Fatal("the callers make no progress")
			}
		}
	}
	progress()
	one.stop()
	progress()
	cancel()
	callers.Wait()
}
