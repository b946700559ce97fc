package rpc_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
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

// names is a name server whose records have a TTL of a second.
type names struct {
	mu  sync.Mutex
	ips map[string][]string
	srv map[string][]*net.SRV
}

// set sets the addresses of greeter.example.
func (n *names) set(ips ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ips["greeter.example"] = ips
}

func (n *names) setSRV(name string, records ...*net.SRV) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.srv[name] = records
}

func (n *names) LookupIP(_ context.Context, host string) (found []netip.Addr, ttl time.Duration, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, ip := range n.ips[host] {
		found = append(found, netip.MustParseAddr(ip))
	}
	return found, time.Second, nil
}

func (n *names) LookupSRV(_ context.Context, name string) ([]*net.SRV, time.Duration, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.srv[name] == nil {
		return nil, 0, errors.New("no such name")
	}
	return n.srv[name], time.Second, nil
}

// discover returns a client of target, and starts a server at each address. A server responds with its address.
func discover(t *testing.T, n *names, target string, addrs ...string) *rpc.Client {
	t.Helper()
	p := newDirect()
	for _, addr := range addrs {
		srv := rpc.NewServer(nil)
		rpc.Handle(srv, hello, func(context.Context, *helloRequest) (*helloResponse, error) { return &helloResponse{addr}, nil })
		listen(t, p, srv, addr)
	}
	cfg := &rpc.ClientConfig{Protocol: p, Transports: []transport.Transport{memory.New(nil)}, Policy: rpc.RoundRobin, Log: quiet}
	c, err := rpc.DialResolving(t.Context(), target, cfg, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// wantShares fails the test unless these servers get the calls, in proportion to their weights.
func wantShares(t *testing.T, c *rpc.Client, shares map[string]int) {
	t.Helper()
	synctest.Wait()
	total := 0
	for _, share := range shares {
		total += share
	}
	got := map[string]int{}
	for range 100 * total {
		out, err := rpc.Call[helloResponse](t.Context(), c, hello, &helloRequest{})
		if err != nil {
			t.Fatal(err)
		}
		got[out.Message]++
	}
	for addr, share := range shares {
		if n := got[addr]; n < 100*share-3 || n > 100*share+3 {
			t.Errorf("%s got %d of %d calls, want %d", addr, n, 100*total, 100*share)
		}
		delete(got, addr)
	}
	if len(got) > 0 {
		t.Errorf("%v got calls, want none", got)
	}
}

// TestDNSTarget: a client follows the addresses of a name, and keeps them while the name cannot be looked up.
func TestDNSTarget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &names{ips: map[string][]string{"greeter.example": {"192.0.2.1"}}}
		c := discover(t, n, "dns+memory://greeter.example:80", "192.0.2.1:80", "192.0.2.2:80")
		wantShares(t, c, map[string]int{"192.0.2.1:80": 1})
		n.set("192.0.2.1", "192.0.2.2")
		time.Sleep(time.Second)
		wantShares(t, c, map[string]int{"192.0.2.1:80": 1, "192.0.2.2:80": 1})
		n.set()
		time.Sleep(time.Minute)
		wantShares(t, c, map[string]int{"192.0.2.1:80": 1, "192.0.2.2:80": 1})
		n.set("192.0.2.2")
		time.Sleep(time.Second)
		wantShares(t, c, map[string]int{"192.0.2.2:80": 1})
	})
}

// TestSRVTarget: weights and priorities of SRV records decide where calls go.
func TestSRVTarget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const name = "_rpc._tcp.greeter.example"
		n := &names{ips: map[string][]string{"a.example.": {"192.0.2.1"}, "b.example.": {"192.0.2.2"}}, srv: map[string][]*net.SRV{}}
		a := &net.SRV{Target: "a.example.", Port: 81, Priority: 1, Weight: 3}
		b := &net.SRV{Target: "b.example.", Port: 82, Priority: 1, Weight: 1}
		n.setSRV(name, a, b)
		c := discover(t, n, "srv+memory://"+name, "192.0.2.1:81", "192.0.2.2:82")
		wantShares(t, c, map[string]int{"192.0.2.1:81": 3, "192.0.2.2:82": 1})
		n.setSRV(name, a, &net.SRV{Target: "b.example.", Port: 82, Priority: 1, Weight: 9})
		time.Sleep(time.Second)
		wantShares(t, c, map[string]int{"192.0.2.1:81": 3, "192.0.2.2:82": 9})
		n.setSRV(name, a, &net.SRV{Target: "b.example.", Port: 82, Priority: 0, Weight: 1})
		time.Sleep(time.Second)
		wantShares(t, c, map[string]int{"192.0.2.2:82": 1})
	})
}

// TestUnknownNames: Dial says why there are no endpoints, and a client that does not wait for one calls as soon as there is.
func TestUnknownNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &names{ips: map[string][]string{}, srv: map[string][]*net.SRV{}}
		p := newDirect()
		srv := rpc.NewServer(nil)
		rpc.Handle(srv, hello, sayHello)
		listen(t, p, srv, "192.0.2.1:80")
		cfg := rpc.ClientConfig{Protocol: p, Transports: []transport.Transport{memory.New(nil)}, Log: quiet}
		for target, text := range map[string]string{
			"dns+memory://greeter.example:80":        "greeter.example:80: no addresses",
			"srv+memory://_rpc._tcp.unknown.example": "_rpc._tcp.unknown.example: no such name",
		} {
			_, err := rpc.DialResolving(t.Context(), target, &cfg, n)
			if err == nil || call.StatusOf(err).Code != call.Unavailable || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: got %v, want %q", target, err, text)
			}
		}
		cfg.WaitForReady = true
		c, err := rpc.DialResolving(t.Context(), "dns+memory://greeter.example:80", &cfg, n)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go func() {
			time.Sleep(time.Minute)
			n.set("192.0.2.1")
		}()
		began := time.Now()
		if _, err := rpc.Call[helloResponse](t.Context(), c, hello, &helloRequest{}); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < time.Minute || took > time.Minute+time.Second {
			t.Errorf("the call took %v, want a minute", took)
		}
	})
}
