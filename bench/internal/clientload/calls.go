package clientload

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"example.com/ferry/rpc"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
)

// EchoService is the service that Calls calls. An identity that may serve it by this name lets the node know, after an upgrade, that its
// server will come back.
const EchoService = "proof.Echo"

const echoMethod = EchoService + ".Send"

// Calls are clients that call a method by the native protocol through a node. One more client serves it. The method is declared
// idempotent, so that package rpc tries a call again whose connection was lost.
type Calls struct {
	Name      string
	Transport transport.Transport
	Addr      string
	Token     []byte
}

type echo struct {
	ID string `json:"id"`
}

// Kind returns the Kind of a Load, and its server, which is connected already.
func (c Calls) Kind(ctx context.Context) (Kind, error) {
	server, err := c.dial(ctx, "server")
	if err != nil {
		return Kind{}, err
	}
	served := &servedCalls{times: map[string]int{}}
	srv := rpc.NewServer(nil)
	rpc.Handle(srv, echoMethod, func(_ context.Context, in *echo) (*echo, error) {
		served.add(in.ID)
		time.Sleep(serveTime)
		return in, nil
	})
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		_ = rpc.Serve(serving, server, srv) // if it fails, the calls fail
		close(ended)
	}()
	return Kind{Name: c.Name, Close: func() {
		end()
		<-ended
		_ = server.Close()
	}, Connect: func(ctx context.Context, client int) (Client, error) {
		conn, err := c.dial(ctx, fmt.Sprint("caller-", client))
		if err != nil {
			return nil, err
		}
		calls, err := rpc.DialNode(ctx, conn, &rpc.ClientConfig{
			Timeout: patience, WaitForReady: true, Idempotent: []string{echoMethod}, Outlier: rpc.NoEjection,
			Retry: rpc.Retry{Attempts: maxAgain, Backoff: 50 * time.Millisecond, MinPerSecond: 100},
		})
		if err != nil {
			_ = conn.Close()
			return nil, err
		}
		return &callClient{conn, calls, served}, nil
	}}, nil
}

func (c Calls) dial(ctx context.Context, name string) (*stream.Client, error) {
	return stream.Dial(ctx, c.Transport, c.Addr, &stream.Config{Token: c.Token, Name: name, Log: slog.New(slog.DiscardHandler)})
}

// servedCalls counts the calls by their id.
type servedCalls struct {
	mu    sync.Mutex
	times map[string]int
}

func (s *servedCalls) add(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times[id]++
}

func (s *servedCalls) of(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.times[id]
}

type callClient struct {
	conn   *stream.Client
	calls  *rpc.Client
	served *servedCalls
}

func (c *callClient) Close() {
	_ = c.calls.Close()
	_ = c.conn.Close()
}

func (c *callClient) Do(ctx context.Context, id string) (again int, err error) {
	out, err := rpc.Call[echo](ctx, c.calls, echoMethod, &echo{id})
	again = max(c.served.of(id)-1, 0)
	if err == nil && out.ID != id {
		err = fmt.Errorf("got the response to %s, want that to %s", out.ID, id)
	}
	return again, err
}
