package rpc_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
	"example.com/ferry/transport/tcp"
)

// callOver returns an rpc.Client on a connection of a stream.Client.
func callOver(t *testing.T, client *stream.Client, cfg *rpc.ClientConfig) *rpc.Client {
	t.Helper()
	c, err := rpc.DialNode(t.Context(), client, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

const nodeMethod = "greeter.Greeter.Hello"

func greetNode(t *testing.T, c *rpc.Client, opts ...rpc.CallOption) string {
	t.Helper()
	out, err := rpc.Call[nodeHello](t.Context(), c, nodeMethod, &nodeHello{"Bo"}, opts...)
	if err != nil {
		t.Error(err)
		return ""
	}
	return out.Name
}

// TestDialNode: a client serves and calls on its one connection at the same time, and so does the client that it calls.
func TestDialNode(t *testing.T) {
	n := startNode(t, "127.0.0.1:0")
	a, b := dialStream(t, n.addr, ""), dialStream(t, n.addr, "")
	serveNode(t, a, instance("a"))
	n.awaitInstances(t, 1)
	other := rpc.NewServer(nil)
	fromB := callOver(t, b, nil)
	rpc.Handle(other, "other.Other.Hello", func(ctx context.Context, in *nodeHello) (*nodeHello, error) {
		return rpc.Call[nodeHello](ctx, fromB, nodeMethod, in)
	})
	serveNode(t, b, other)
	fromA := callOver(t, a, nil)
	awaitService(t, n, "other.Other")
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 50 {
				out, err := rpc.Call[nodeHello](t.Context(), fromA, "other.Other.Hello", &nodeHello{"Bo"})
				if err != nil || out.Name != "a greets Bo" {
					t.Errorf("got %+v, %v", out, err)
					return
				}
			}
		})
	}
	callers.Wait()
	if _, err := rpc.DialNode(t.Context(), a, nil); err == nil {
		t.Error("two clients make calls over one connection")
	}
	_ = fromA.Close()
	if got := greetNode(t, callOver(t, a, nil)); got != "a greets Bo" { // it calls itself
		t.Errorf("after Close and DialNode: got %q", got)
	}
	for _, c := range []*stream.Client{a, b} {
		if s := c.Stats(); s.Connects != 1 || !s.Connected {
			t.Errorf("%d connections, connected %v, want the first one", s.Connects, s.Connected)
		}
	}
}

// awaitService waits until a client of the node serves a service.
func awaitService(t *testing.T, n *testNode, name string) {
	t.Helper()
	await(t, "service "+name, func() bool {
		for _, s := range n.Services() {
			if s.Name == name && s.Instances > 0 {
				return true
			}
		}
		return false
	})
}

func TestDialNodeErrors(t *testing.T) {
	n := startNode(t, "127.0.0.1:0")
	client := dialStream(t, n.addr, "")
	if _, err := rpc.DialNode(t.Context(), client, &rpc.ClientConfig{Transports: []transport.Transport{tcp.New(nil)}}); err == nil || !strings.Contains(err.Error(), "Transports") {
		t.Errorf("with a transport: got %v", err)
	}
	_ = client.Close()
	if _, err := rpc.DialNode(t.Context(), client, nil); !errors.Is(err, stream.ErrClosed) {
		t.Errorf("over a closed client: got %v, want ErrClosed", err)
	}
}

// TestDialNodeReconnects: the node stops while a call is in progress, which it completes. The next call waits for the next node.
func TestDialNodeReconnects(t *testing.T) {
	n := startNode(t, "127.0.0.1:0")
	arrived, leave := make(chan struct{}, 1), make(chan struct{})
	srv := rpc.NewServer(nil)
	rpc.Handle(srv, nodeMethod, func(_ context.Context, in *nodeHello) (*nodeHello, error) {
		if in.Name == "slow" {
			arrived <- struct{}{}
			<-leave
		}
		return in, nil
	})
	serveNode(t, dialStream(t, n.addr, ""), srv)
	n.awaitInstances(t, 1)
	client := dialStream(t, n.addr, "")
	c := callOver(t, client, &rpc.ClientConfig{WaitForReady: true})
	if got := greetNode(t, c); got != "Bo" {
		t.Fatalf("got %q", got)
	}
	result := make(chan error, 1)
	go func() {
		_, err := rpc.Call[nodeHello](t.Context(), c, nodeMethod, &nodeHello{"slow"})
		result <- err
	}()
	<-arrived
	stopped := make(chan struct{})
	go func() { defer close(stopped); n.stop() }()
	await(t, "the node to refuse calls", func() bool {
		short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, err := rpc.Call[nodeHello](short, c, nodeMethod, &nodeHello{"Bo"})
		return err != nil
	})
	close(leave)
	if err := <-result; err != nil {
		t.Errorf("the call in progress: %v", err)
	}
	<-stopped
	n = startNode(t, n.addr)
	n.awaitInstances(t, 1)
	if got := greetNode(t, c, rpc.Timeout(patience)); got != "Bo" {
		t.Errorf("after the node started again: got %q", got)
	}
}

// TestDialNodeCloses: Close ends the calls in progress, at the server too, and the connection stays.
func TestDialNodeCloses(t *testing.T) {
	n := startNode(t, "127.0.0.1:0")
	arrived, cancelled := make(chan struct{}, 1), make(chan struct{})
	srv := rpc.NewServer(nil)
	rpc.Handle(srv, nodeMethod, func(ctx context.Context, in *nodeHello) (*nodeHello, error) {
		arrived <- struct{}{}
		<-ctx.Done()
		close(cancelled)
		return in, nil
	})
	serveNode(t, dialStream(t, n.addr, ""), srv)
	n.awaitInstances(t, 1)
	client := dialStream(t, n.addr, "")
	c := callOver(t, client, nil)
	result := make(chan error, 1)
	go func() {
		_, err := rpc.Call[nodeHello](t.Context(), c, nodeMethod, &nodeHello{"Bo"})
		result <- err
	}()
	<-arrived
	_ = c.Close()
	if err := <-result; !errors.Is(err, &call.Status{Code: call.Unavailable}) {
		t.Errorf("got %v, want Unavailable", err)
	}
	<-cancelled
	if s := client.Stats(); s.Connects != 1 || !s.Connected {
		t.Errorf("%d connections, connected %v, want the first one", s.Connects, s.Connected)
	}
}

// relaying is a protocol whose connections end at a node that has no server at first.
type relaying struct {
	*direct
	refuse atomic.Int64 // how many calls are refused
}

type relayed struct {
	call.Conn
	p *relaying
}

func (p *relaying) Dial(ctx context.Context, t transport.Transport, addr string) (call.Conn, error) {
	c, err := p.direct.Dial(ctx, t, addr)
	return relayed{c, p}, err
}

func (relayed) Relayed() bool { return true }

func (c relayed) Call(ctx context.Context, head *call.Head, data []byte, resp *call.Response) error {
	if c.p.refuse.Add(-1) >= 0 {
		resp.Unsent = true
		return &call.Status{Code: call.Unavailable, Message: "no client of the node serves it"}
	}
	return c.Conn.Call(ctx, head, data, resp)
}

// TestNodeWithoutServer: while a node has no server, calls are tried again with growing pauses, on the same connection.
func TestNodeWithoutServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &relaying{direct: newDirect()}
		listen(t, p.direct, named("a"), "a")
		c, err := rpc.Dial(t.Context(), "memory://a", &rpc.ClientConfig{Protocol: p, Transports: []transport.Transport{memory.New(nil)}, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		p.refuse.Store(7)
		start := time.Now()
		if _, err := greet(t.Context(), c); err != nil {
			t.Errorf("after 7 refusals: %v", err)
		}
		if took := time.Since(start); took < 600*time.Millisecond || took > 2*time.Second {
			t.Errorf("took %v, want the sum of 10, 20 ... 640 ms, each between half and one and a half", took)
		}
		p.refuse.Store(8)
		if _, err := greet(t.Context(), c); !errors.Is(err, &call.Status{Code: call.Unavailable}) {
			t.Errorf("after 8 refusals: got %v, want Unavailable", err)
		}
		p.refuse.Store(100)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start = time.Now()
		_, err = greet(ctx, c)
		if code := call.StatusOf(err).Code; !slices.Contains([]call.Code{call.Unavailable, call.DeadlineExceeded}, code) || time.Since(start) > 100*time.Millisecond {
			t.Errorf("with a deadline of 100 ms: got %v after %v", err, time.Since(start))
		}
		if n := p.Dials(); n != 1 {
			t.Errorf("%d connections, want 1: the node's refusals say nothing about it", n)
		}
	})
}
