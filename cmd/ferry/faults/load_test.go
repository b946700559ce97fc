//go:build linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/pki"
	"example.com/ferry/rpc"
	"example.com/ferry/stream"
	"example.com/ferry/transport/tcp"
)

// load is a client that repeats an operation until the test ends. Operations that fail are repeated.
type load struct {
	name         string
	done, failed atomic.Int64
	lastErr      atomic.Value // string
}

// loads are the clients of a node, of all kinds.
type loads struct {
	t     *testing.T
	s     *server
	stop  context.CancelFunc
	ended sync.WaitGroup
	all   map[string]*load

	mu      sync.Mutex
	stored  int             // messages that the node has confirmed: 0 up to stored-1
	handled map[string]bool // by the durable
}

// The kinds of load.
const (
	http1   = "http1"
	http2   = "http2"
	durable = "durable"
	live    = "live"
	devices = "mqtt"
	calls   = "calls"
)

var kinds = []string{http1, http2, durable, live, devices, calls}

// startLoads starts a client of each kind, and waits until each has succeeded.
func startLoads(s *server) *loads {
	s.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	l := &loads{t: s.t, s: s, stop: stop, all: map[string]*load{}, handled: map[string]bool{}}
	s.t.Cleanup(l.end)
	plain, multiplexed := new(http.Transport), &http.Transport{Protocols: new(http.Protocols)}
	multiplexed.Protocols.SetUnencryptedHTTP2(true)
	l.run(ctx, http1, l.request(plain))
	l.run(ctx, http2, l.request(multiplexed))
	c := l.client("publisher")
	l.run(ctx, durable, func(ctx context.Context) error {
		if err := c.SendStored(ctx, ferry.Message{Tag: "orders/a", Payload: fmt.Append(nil, l.stored)}); err != nil {
			return err
		}
		l.mu.Lock()
		l.stored++
		l.mu.Unlock()
		return nil
	})
	l.observe("orders/#", "workers", func(in *ferry.Message) {
		l.mu.Lock()
		l.handled[string(in.Payload)] = true
		l.mu.Unlock()
	})
	arrived := make(chan struct{}, 1)
	l.observe("live/#", "", func(*ferry.Message) {
		select {
		case arrived <- struct{}{}:
		default:
		}
	})
	l.run(ctx, live, func(ctx context.Context) error {
		if err := c.Send(ctx, ferry.Message{Tag: "live/a", Payload: []byte("1")}); err != nil {
			return err
		}
		select {
		case <-arrived:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	l.run(ctx, devices, (&device{addr: s.mqtt, token: l.token()}).publish)
	l.serveCalls(ctx)
	l.progress("each kind of load begins", kinds...)
	return l
}

// end stops the clients.
func (l *loads) end() {
	l.stop()
	l.ended.Wait()
}

// run repeats an operation, which has 5 s each time.
func (l *loads) run(ctx context.Context, name string, operation func(context.Context) error) {
	one := &load{name: name}
	l.all[name] = one
	l.ended.Go(func() {
		for ctx.Err() == nil {
			within, cancel := context.WithTimeout(ctx, 5*time.Second)
			err := operation(within)
			cancel()
			if err != nil {
				one.failed.Add(1)
				one.lastErr.Store(err.Error())
			} else {
				one.done.Add(1)
			}
			select {
			case <-time.After(2 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	})
}

// progress waits until the loads of these names have each succeeded 20 times more.
func (l *loads) progress(what string, names ...string) {
	l.t.Helper()
	before := map[string]int64{}
	for _, name := range names {
		before[name] = l.all[name].done.Load()
	}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		var waits *load
		for _, name := range names {
			if one := l.all[name]; one.done.Load() < before[name]+20 {
				waits = one
			}
		}
		if waits == nil {
			return
		}
		if time.Now().After(end) {
			l.t.Fatalf("%s: %s made no progress within %v: %d failed, last %v", what, waits.name, patience, waits.failed.Load(), waits.lastErr.Load())
		}
	}
}

// unharmed fails the test if one of these loads fails while f runs.
func (l *loads) unharmed(f func(), names ...string) {
	l.t.Helper()
	before := map[string]int64{}
	for _, name := range names {
		before[name] = l.all[name].failed.Load()
	}
	f()
	for _, name := range names {
		if one := l.all[name]; one.failed.Load() > before[name] {
			l.t.Errorf("%s: %d operations failed, the last: %v", name, one.failed.Load()-before[name], one.lastErr.Load())
		}
	}
}

// settle ends the loads, and waits until the durable has handled all messages that the node has confirmed.
func (l *loads) settle() {
	l.t.Helper()
	l.end()
	l.s.await("all stored messages are handled", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for i := range l.stored {
			if !l.handled[fmt.Sprint(i)] {
				return false
			}
		}
		return true
	})
}

func (l *loads) token() string {
	l.t.Helper()
	token, err := pki.ReadToken(filepath.Join(l.s.data, "token"))
	if err != nil {
		l.t.Fatal(err)
	}
	return token
}

// client returns a client of the node, which connects again by itself. The end of the test closes it.
func (l *loads) client(name string) *stream.Client {
	l.t.Helper()
	c, err := stream.Dial(l.t.Context(), tcp.New(nil), l.s.tcp, &stream.Config{Name: name, Token: []byte(l.token()), MaxBackoff: time.Second, Log: quiet})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = c.Close() })
	return c
}

// observe calls f with messages, as a durable if it has a name.
func (l *loads) observe(filter, durable string, f func(in *ferry.Message)) {
	l.t.Helper()
	in := stream.Function{Observe: []string{filter}, Durable: durable, Handler: stream.Sink(func(_ context.Context, in *ferry.Message) error {
		f(in)
		return nil
	})}
	if durable != "" {
		in.From = stream.FromFirst()
	}
	if _, err := l.client("observer").Start(l.t.Context(), in); err != nil {
		l.t.Fatal(err)
	}
}

// request returns an operation that requests a page through the proxy.
func (l *loads) request(over *http.Transport) func(context.Context) error {
	l.t.Cleanup(over.CloseIdleConnections)
	c := &http.Client{Transport: over}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.s.http+"/", nil)
		if err != nil {
			return err
		}
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "hello" {
			return fmt.Errorf("status %d, %q, %w", resp.StatusCode, body, errors.Join(err))
		}
		return nil
	}
}

type echoed struct {
	Text string `json:"text"`
}

// serveCalls serves a service over one connection to the node, and calls it over another one.
func (l *loads) serveCalls(ctx context.Context) {
	l.t.Helper()
	srv := rpc.NewServer(nil)
	rpc.Handle(srv, "echo.Say", func(_ context.Context, in *echoed) (*echoed, error) { return in, nil })
	c := l.client("echo")
	l.ended.Go(func() {
		if err := rpc.Serve(ctx, c, srv); err != nil && ctx.Err() == nil {
			l.t.Errorf("the service: %v", err)
		}
	})
	node, err := rpc.DialNode(l.t.Context(), l.client("caller"), nil)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = node.Close() })
	l.run(ctx, calls, func(ctx context.Context) error {
		out, err := rpc.Call[echoed](ctx, node, "echo.Say", &echoed{"hello"})
		if err == nil && out.Text != "hello" {
			err = fmt.Errorf("the response is %q", out.Text)
		}
		return err
	})
}
