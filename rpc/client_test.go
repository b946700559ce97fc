package rpc_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/transport"
	"example.com/ferry/transport/memory"
)

// named returns a server whose Hello responds with its name.
func named(name string) *rpc.Server {
	srv := rpc.NewServer(&rpc.ServerConfig{Log: quiet})
	rpc.Handle(srv, hello, func(context.Context, *helloRequest) (*helloResponse, error) { return &helloResponse{name}, nil })
	return srv
}

func greet(ctx context.Context, c *rpc.Client, opts ...rpc.CallOption) (string, error) {
	out, err := rpc.Call[helloResponse](ctx, c, hello, &helloRequest{"Bo"}, opts...)
	if err != nil {
		return "", err
	}
	return out.Message, nil
}

// tally calls n times and counts the messages.
func tally(t *testing.T, c *rpc.Client, n int) map[string]int {
	t.Helper()
	got := make(map[string]int)
	for range n {
		name, err := greet(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		got[name]++
	}
	return got
}

func TestDialErrors(t *testing.T) {
	t.Parallel()
	p := newDirect()
	for _, row := range []struct {
		name, target, want string
		cfg                rpc.ClientConfig
	}{
		{"no scheme", "a", "write SCHEME://ADDRESS", rpc.ClientConfig{Protocol: p}},
		{"no address", "memory://", "write SCHEME://ADDRESS", rpc.ClientConfig{Protocol: p}},
		{"unknown scheme", "carrier+pigeon://a", "no transport has the scheme pigeon", rpc.ClientConfig{Protocol: p}},
		{"unknown way", "carrier+memory://a", "carrier is no way to find endpoints", rpc.ClientConfig{Protocol: p}},
		{"refused", "memory://a", "connection refused", rpc.ClientConfig{Protocol: p}},
		{"all refused", "memory://a,b", "connection refused", rpc.ClientConfig{Protocol: p}},
		{"no file", "file+memory:///no/such/file", "no such file", rpc.ClientConfig{Protocol: p}},
		{"bad policy", "memory://a", "ClientConfig.Policy", rpc.ClientConfig{Protocol: p, Policy: "fastest"}},
		{"bad quantile", "memory://a", "Hedge.Quantile 95", rpc.ClientConfig{Protocol: p, Hedge: &rpc.Hedge{Quantile: 95}}},
		{"bad content", "memory://a", "is not in ClientConfig.Contents", rpc.ClientConfig{Protocol: p, Content: "text/plain"}},
	} {
		row.cfg.Transports, row.cfg.Log = []transport.Transport{memory.New(nil)}, quiet
		c, err := rpc.Dial(t.Context(), row.target, &row.cfg)
		if err == nil {
			c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.name, err, row.want)
		}
	}
}

// TestRoundRobin: calls are spread over all endpoints of the target.
func TestRoundRobin(t *testing.T) {
	t.Parallel()
	p := newDirect()
	serveNames(t, p, "a", "b", "c")
	c := dial(t, p, "a,b,c", &rpc.ClientConfig{Policy: rpc.RoundRobin})
	await(t, "three connections", func() bool { return p.Dials() == 3 && len(tally(t, c, 9)) == 3 })
	if got := tally(t, c, 9); got["a"] != 3 || got["b"] != 3 || got["c"] != 3 {
		t.Errorf("got %v, want three calls each", got)
	}
}

func serveNames(t *testing.T, p *direct, names ...string) {
	t.Helper()
	for _, name := range names {
		listen(t, p, named(name), name)
	}
}

// await waits until condition holds.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// TestFile: a watched file names the endpoints, and a client follows its changes.
func TestFile(t *testing.T) {
	t.Parallel()
	p := newDirect()
	serveNames(t, p, "127.0.0.1:1", "127.0.0.1:2")
	path := filepath.Join(t.TempDir(), "endpoints")
	write := func(text string) {
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	write("127.0.0.1:1\n")
	c, err := rpc.Dial(t.Context(), "file+memory://"+path, &rpc.ClientConfig{Protocol: p, Transports: []transport.Transport{memory.New(nil)}, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := tally(t, c, 3); got["127.0.0.1:1"] != 3 {
		t.Errorf("got %v", got)
	}
	write("127.0.0.1:2\n")
	await(t, "the other endpoint", func() bool { return tally(t, c, 1)["127.0.0.1:2"] == 1 })
}

// TestReconnect: after its connection is lost, a client connects again, later and later while that fails. Calls fail at once
// meanwhile, or wait with WaitForReady.
func TestReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDirect()
		l := listen(t, p, named("a"), "a")
		c := dial(t, p, "a", &rpc.ClientConfig{MinBackoff: time.Second, MaxBackoff: 8 * time.Second})
		l.Break()
		synctest.Wait()
		if _, err := greet(t.Context(), c); err != nil {
			t.Fatalf("after a lost connection: %v", err)
		}
		l.Close()
		synctest.Wait()
		if _, err := greet(t.Context(), c); !errors.Is(err, &call.Status{Code: call.Unavailable}) {
			t.Fatalf("without a server: got %v, want Unavailable", err)
		}
		before := p.Dials()
		time.Sleep(time.Minute)
		if n := p.Dials() - before; n < 5 || n > 20 {
			t.Errorf("%d attempts to connect within a minute, with pauses of 1 to 8 s", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if _, err := greet(ctx, c, rpc.WaitForReady()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting without a server: got %v, want DeadlineExceeded", err)
		}
		if _, err := greet(t.Context(), c, rpc.WaitForReady(), rpc.Timeout(3*time.Second)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting without a server: got %v, want DeadlineExceeded", err)
		}
		result := make(chan error)
		go func() {
			_, err := greet(t.Context(), c, rpc.WaitForReady())
			result <- err
		}()
		time.Sleep(time.Second)
		listen(t, p, named("a"), "a")
		if err := <-result; err != nil {
			t.Errorf("waiting for a server: %v", err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if _, err := greet(t.Context(), c); !errors.Is(err, &call.Status{Code: call.Unavailable}) {
			t.Errorf("after Close: got %v, want Unavailable", err)
		}
	})
}

// TestMoreConnections: a busy endpoint gets more connections, up to Conns.
func TestMoreConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDirect()
		srv := rpc.NewServer(nil)
		leave := make(chan struct{})
		rpc.Handle(srv, hello, func(context.Context, *helloRequest) (*helloResponse, error) {
			<-leave
			return &helloResponse{}, nil
		})
		listen(t, p, srv, "a")
		c := dial(t, p, "a", &rpc.ClientConfig{Conns: 3})
		var wg sync.WaitGroup
		for i := range 200 {
			if i == 10 && p.Dials() != 1 {
				t.Errorf("%d connections for 10 calls", p.Dials())
			}
			wg.Go(func() {
				if _, err := greet(t.Context(), c); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		if p.Dials() != 3 {
			t.Errorf("%d connections for 200 calls, want 3", p.Dials())
		}
		close(leave)
		wg.Wait()
	})
}

// TestLimits: a client bounds the calls that it has in progress.
func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDirect()
		srv := rpc.NewServer(nil)
		leave := make(chan struct{})
		rpc.Handle(srv, hello, func(context.Context, *helloRequest) (*helloResponse, error) {
			<-leave
			return &helloResponse{}, nil
		})
		listen(t, p, srv, "a")
		c := dial(t, p, "a", &rpc.ClientConfig{Limits: rpc.Limits{Requests: 2}})
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { _, _ = greet(t.Context(), c) })
		}
		synctest.Wait()
		if _, err := greet(t.Context(), c); !errors.Is(err, &call.Status{Code: call.ResourceExhausted}) || !strings.Contains(err.Error(), "overloaded") {
			t.Errorf("got %v, want ResourceExhausted", err)
		}
		close(leave)
		wg.Wait()
	})
}
