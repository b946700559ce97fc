package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/rpctest"
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
	p := rpctest.New()
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
	p := rpctest.New()
	serveNames(t, p, "a", "b", "c")
	c := dial(t, p, "a,b,c", &rpc.ClientConfig{Policy: rpc.RoundRobin})
	await(t, "three connections", func() bool { return p.Dials() == 3 && len(tally(t, c, 9)) == 3 })
	if got := tally(t, c, 9); got["a"] != 3 || got["b"] != 3 || got["c"] != 3 {
		t.Errorf("got %v, want three calls each", got)
	}
}

func serveNames(t *testing.T, p *rpctest.Protocol, names ...string) {
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
	p := rpctest.New()
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
		p := rpctest.New()
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
		p := rpctest.New()
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

// TestDrainLosesNoCall: servers are stopped and started in turn while calls go on. Each call succeeds, although none is idempotent.
func TestDrainLosesNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := rpctest.New()
		slow := func() *rpc.Server {
			srv := rpc.NewServer(nil)
			rpc.Handle(srv, hello, func(context.Context, *helloRequest) (*helloResponse, error) {
				time.Sleep(20 * time.Millisecond)
				return &helloResponse{"done"}, nil
			})
			return srv
		}
		servers := map[string]*rpc.Server{}
		for _, addr := range []string{"a", "b"} {
			servers[addr] = slow()
			listen(t, p, servers[addr], addr)
		}
		c := dial(t, p, "a,b", nil)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var done atomic.Int64
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				for ctx.Err() == nil {
					if _, err := greet(t.Context(), c); err != nil {
						t.Errorf("after %d calls: %v", done.Load(), err)
						return
					}
					done.Add(1)
				}
			})
		}
		for i := range 9 {
			addr := []string{"a", "b"}[i%2]
			time.Sleep(500 * time.Millisecond)
			if err := servers[addr].Drain(t.Context()); err != nil {
				t.Errorf("drain: %v", err)
			}
			servers[addr] = slow()
			listen(t, p, servers[addr], addr)
		}
		wg.Wait()
		if done.Load() < 2000 {
			t.Errorf("only %d calls", done.Load())
		}
	})
}

// TestDrainDeadline: Drain gives up when its context ends, and closes what is left.
func TestDrainDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := rpctest.New()
		srv := rpc.NewServer(nil)
		rpc.Handle(srv, hello, func(ctx context.Context, _ *helloRequest) (*helloResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		listen(t, p, srv, "a")
		c := dial(t, p, "a", nil)
		result := make(chan error, 1)
		go func() {
			_, err := greet(t.Context(), c)
			result <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := srv.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Drain: got %v, want DeadlineExceeded", err)
		}
		if err := <-result; !errors.Is(err, &call.Status{Code: call.Unavailable}) {
			t.Errorf("the call: got %v, want Unavailable", err)
		}
		if _, err := srv.Listen(t.Context(), p, nil, "b"); err == nil {
			t.Error("a drained server listens again")
		}
	})
}

// failing returns a server that counts its calls and fails all with code.
func failing(code call.Code, calls *atomic.Int64) *rpc.Server {
	srv := rpc.NewServer(nil)
	rpc.Handle(srv, hello, func(context.Context, *helloRequest) (*helloResponse, error) {
		calls.Add(1)
		return nil, call.Errorf(code, "no")
	})
	return srv
}

// TestRetry: which calls are tried again, and how often.
func TestRetry(t *testing.T) {
	t.Parallel()
	idempotent := []rpc.CallOption{rpc.Idempotent()}
	for _, row := range []struct {
		name string
		code call.Code
		cfg  rpc.ClientConfig
		opts []rpc.CallOption
		want int64
	}{
		{"not idempotent", call.Unavailable, rpc.ClientConfig{}, nil, 1},
		{"idempotent by an option", call.Unavailable, rpc.ClientConfig{}, idempotent, 3},
		{"idempotent by name", call.Unavailable, rpc.ClientConfig{Idempotent: []string{hello}}, nil, 3},
		{"idempotent by service", call.Unavailable, rpc.ClientConfig{Idempotent: []string{"greeter.Greeter.*"}}, nil, 3},
		{"another service", call.Unavailable, rpc.ClientConfig{Idempotent: []string{"greeter.*"}}, nil, 1},
		{"another code", call.NotFound, rpc.ClientConfig{}, idempotent, 1},
		{"a configured code", call.Aborted, rpc.ClientConfig{Retry: rpc.Retry{Codes: []call.Code{call.Aborted}}}, idempotent, 3},
		{"attempts", call.Unavailable, rpc.ClientConfig{Retry: rpc.Retry{Attempts: 5}}, idempotent, 5},
		{"no retries", call.Unavailable, rpc.ClientConfig{Retry: rpc.Retry{Attempts: 1}}, idempotent, 1},
		{"no budget", call.Unavailable, rpc.ClientConfig{Retry: rpc.Retry{Ratio: -1, MinPerSecond: -1}}, idempotent, 1},
		{"no time", call.Unavailable, rpc.ClientConfig{Retry: rpc.Retry{Backoff: time.Hour}, Timeout: time.Minute}, idempotent, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := rpctest.New()
				var calls atomic.Int64
				listen(t, p, failing(row.code, &calls), "a")
				c := dial(t, p, "a", &row.cfg)
				_, err := greet(t.Context(), c, row.opts...)
				if calls.Load() != row.want || !errors.Is(err, &call.Status{Code: row.code}) {
					t.Errorf("got %d attempts, %v, want %d", calls.Load(), err, row.want)
				}
			})
		})
	}
}

// TestRetryElsewhere: another attempt goes to another endpoint.
func TestRetryElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := rpctest.New()
		var calls atomic.Int64
		listen(t, p, failing(call.Unavailable, &calls), "a")
		listen(t, p, named("b"), "b")
		c := dial(t, p, "a,b", &rpc.ClientConfig{Policy: rpc.RoundRobin, Outlier: rpc.NoEjection, Idempotent: []string{hello}, Retry: rpc.Retry{Ratio: 1}})
		synctest.Wait()
		if got := tally(t, c, 20); got["b"] != 20 || calls.Load() < 10 || calls.Load() > 20 {
			t.Errorf("got %v and %d failed attempts", got, calls.Load())
		}
	})
}

// TestRetryStorm: when all servers fail, retries add no more than the budget to the load.
func TestRetryStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := rpctest.New()
		var attempts atomic.Int64
		listen(t, p, failing(call.Unavailable, &attempts), "a")
		c := dial(t, p, "a", &rpc.ClientConfig{Idempotent: []string{hello}})
		const calls = 2000 // within less than 20 s
		for range calls {
			if _, err := greet(t.Context(), c); err == nil {
				t.Fatal("no error")
			}
			time.Sleep(3 * time.Millisecond)
		}
		if extra := attempts.Load() - calls; extra > calls/5+3*20 || extra < calls/10 {
			t.Errorf("%d retries of %d calls, with a budget of a fifth and 3 each second", extra, calls)
		}
	})
}

// TestEjection: an endpoint whose calls fail gets no more for a while.
func TestEjection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := rpctest.New()
		var failed atomic.Int64
		listen(t, p, failing(call.Internal, &failed), "a")
		listen(t, p, named("b"), "b")
		c := dial(t, p, "a,b", &rpc.ClientConfig{Policy: rpc.RoundRobin, Outlier: &rpc.Outlier{Failures: 3, EjectionTime: time.Minute}})
		synctest.Wait()
		for range 100 {
			_, _ = greet(t.Context(), c) // some fail
		}
		if failed.Load() != 3 {
			t.Errorf("%d calls to the failing endpoint, want 3", failed.Load())
		}
		time.Sleep(2 * time.Minute)
		for range 10 {
			_, _ = greet(t.Context(), c)
		}
		if failed.Load() == 3 {
			t.Error("the endpoint gets no calls after its ejection")
		}
	})
}

// TestHealth: an endpoint that reports NOT_SERVING gets no calls until it reports SERVING.
func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := rpctest.New()
		a := named("a")
		listen(t, p, a, "a")
		listen(t, p, named("b"), "b")
		c := dial(t, p, "a,b", &rpc.ClientConfig{Policy: rpc.RoundRobin, HealthInterval: time.Second})
		for _, step := range []struct {
			service string
			serving bool
			want    int
		}{{"", true, 5}, {"", false, 0}, {"", true, 5}, {"other.Service", false, 5}} {
			a.SetServing(step.service, step.serving)
			time.Sleep(2 * time.Second)
			if got := tally(t, c, 10); got["a"] != step.want {
				t.Errorf("%q serving %v: got %v, want %d of a", step.service, step.serving, got, step.want)
			}
		}
	})
}

// TestLimits: a client bounds the calls that it has in progress.
func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := rpctest.New()
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

// TestHealthService: Check and Watch report what SetServing has set.
func TestHealthService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := rpctest.New()
		srv := named("a")
		listen(t, p, srv, "a")
		c := dial(t, p, "a", nil)
		check := func(service string) string {
			out, err := rpc.Call[rpc.HealthResponse](t.Context(), c, rpc.HealthCheck, &rpc.HealthRequest{Service: service})
			if err != nil {
				return call.StatusOf(err).Code.String()
			}
			return out.Status
		}
		for service, want := range map[string]string{"": "SERVING", "greeter.Greeter": "SERVING", "no.Service": "NOT_FOUND"} {
			if got := check(service); got != want {
				t.Errorf("%q: got %s, want %s", service, got, want)
			}
		}
		s, err := rpc.Open[rpc.HealthResponse, rpc.HealthRequest](t.Context(), c, rpc.HealthWatch)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Send(&rpc.HealthRequest{Service: "greeter.Greeter"}), s.CloseSend()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for range 3 {
			m, err := s.Recv()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, m.Status)
			srv.SetServing("greeter.Greeter", len(got) > 1)
		}
		if want := []string{"SERVING", "NOT_SERVING", "SERVING"}; !slices.Equal(got, want) {
			t.Errorf("Watch: got %q, want %q", got, want)
		}
		if err := srv.Drain(t.Context()); err != nil {
			t.Errorf("a Watch keeps the server from draining: %v", err)
		}
		if _, err := s.Recv(); !errors.Is(err, &call.Status{Code: call.Unavailable}) {
			t.Errorf("Watch after Drain: got %v, want Unavailable", err)
		}
	})
}

// TestFailedCallsLeakNothing: calls that fail in each way leave no goroutine and no call in flight.
func TestFailedCallsLeakNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := rpctest.New()
		srv := rpc.NewServer(&rpc.ServerConfig{Log: quiet, MaxCalls: 50})
		rpc.Handle(srv, hello, func(ctx context.Context, in *helloRequest) (*helloResponse, error) {
			switch in.Name {
			case "panic":
				panic("boom")
			case "wait":
				<-ctx.Done()
			}
			return nil, errors.New("boom")
		})
		l := listen(t, p, srv, "a")
		c := dial(t, p, "a", &rpc.ClientConfig{Idempotent: []string{hello}, Hedge: &rpc.Hedge{Delay: time.Millisecond}})
		var wg sync.WaitGroup
		for g := range 20 {
			wg.Go(func() {
				for i := range 100 {
					name := []string{"panic", "wait", "error"}[i%3]
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
					method := hello
					if i%7 == 0 {
						method = fmt.Sprintf("greeter.Greeter.Made%dUp%d", g, i)
					}
					if _, err := rpc.Call[helloResponse](ctx, c, method, &helloRequest{name}); err == nil {
						t.Error("no error")
					}
					cancel()
				}
			})
		}
		wg.Wait()
		if err := l.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		for _, m := range append(c.Metrics().Methods, srv.Metrics().Methods...) {
			if m.InFlight != 0 {
				t.Errorf("%s: %d calls in flight", m.Method, m.InFlight)
			}
		}
		if n := len(c.Metrics().Methods); n > 4097 {
			t.Errorf("the client keeps counters of %d methods", n)
		}
	}) // synctest fails if goroutines are left
}
