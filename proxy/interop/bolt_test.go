package interop

import (
	"context"
	"strings"
	"testing"
	"time"

	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy"
	"example.com/ferry/proxy/bolt"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// printed returns the expected output of Client if all its calls succeed.
func printed(switched, noSuchService, connection string) []string {
	return []string{
		"sync: 20, answers with the crc switch " + switched,
		"future: 20",
		"callback: 20",
		"oneway: 20",
		"exception: 1",
		"timeout: 1",
		"out of order: 64",
		"without crc: 20, answers with the crc switch 0",
		"100 KB: 3",
		"1 MB: 3",
		"heartbeat: 5",
		"no such service: 1, " + noSuchService,
		"connection: 1, " + connection,
	}
}

// requests is the number of requests that a Client sends to an existing service. These are the printed ones, and
// those sent around a oneway, a timeout and the heartbeats.
const requests = 20 + 20 + 20 + (20 + 1) + 1 + (1 + 2) + 64 + 20 + 3 + 3 + 1

// TestBolt: the Java client calls the Java server through ferry, in all three dialects at the same time.
func TestBolt(t *testing.T) {
	j := newJava(t)
	server := j.server(t)
	t.Run("direct", func(t *testing.T) {
		calls(t, j, server, "Server deserialize request exception")
	})
	t.Run("gateway", func(t *testing.T) {
		gateway := newProxy(t, config(server, 16))
		t.Run("calls", func(t *testing.T) { calls(t, j, gateway.address, "Rpc invocation exception: NO_PROCESSOR") })
		gateway.counted(t, 3)
	})
	t.Run("reload", func(t *testing.T) {
		changing := newProxy(t, config(server, 16))
		t.Run("calls", func(t *testing.T) {
			changing.reload(t, server)
			calls(t, j, changing.address, "Rpc invocation exception: NO_PROCESSOR")
		})
		changing.counted(t, 3)
	})
	t.Run("sidecar", func(t *testing.T) {
		portable := config(server, 16)
		portable.Goroutines = true
		beside := newProxy(t, portable)
		sidecar := newProxy(t, config(beside.address, 16))
		t.Run("calls", func(t *testing.T) { calls(t, j, sidecar.address, "Rpc invocation exception: NO_PROCESSOR") })
		sidecar.counted(t, 3)
		beside.counted(t, 0)
	})
}

// calls runs a client of each dialect against address.
func calls(t *testing.T, j java, address, noSuchService string) {
	for _, mode := range []struct {
		name string
		want []string
	}{
		{"v1", printed("0", noSuchService, "protocol 1 version 1")},
		{"v2", printed("20", noSuchService, "protocol 2 version 1")}, // with the switch byte and without a CRC, as the library sends it
		{"crc", printed("20", noSuchService, "protocol 2 version 2")},
	} {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			got := j.client(t, address, mode.name)
			for i := range max(len(got), len(mode.want)) {
				if g, w := line(got, i), line(mode.want, i); g != w {
					t.Errorf("line %d:\n got %s\nwant %s", i+1, g, w)
				}
			}
		})
	}
}

// line returns the i-th line, or a text for a missing line.
func line(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(no line)"
}

// forwarder is a proxy for the service that Client calls.
type forwarder struct {
	*proxy.Proxy
	address string
}

// config returns the configuration of a proxy for server. The proxy sends heartbeats very often. It opens another
// connection whenever streams requests are in flight.
func config(server string, streams int) *proxy.Config {
	return &proxy.Config{
		Listeners: []proxy.Listener{{
			Address:  "127.0.0.1:0",
			Protocol: proxy.Bolt,
			Routes:   []route.Rule{{Cluster: "java", Match: route.Match{Bolt: route.Bolt{Service: "com.example.Interop:1.0"}}}},
			Bolt:     bolt.Config{CheckCRC: true},
		}},
		Clusters: []upstream.Config{{
			Name:      "java",
			Endpoints: []upstream.EndpointConfig{{Address: server}},
			Streams:   streams,
			Heartbeat: 200 * time.Millisecond,
			Health:    &upstream.Health{Kind: upstream.HealthBolt, Interval: 200 * time.Millisecond, Timeout: patience},
		}},
	}
}

// newProxy starts a proxy and shuts it down when the test ends.
func newProxy(t *testing.T, c *proxy.Config) forwarder {
	t.Helper()
	p, err := proxy.New(c, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := p.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
	return forwarder{p, strings.TrimPrefix(p.Addresses()[0], "bolt://")}
}

// reload replaces the cluster of the proxy repeatedly until the test ends.
func (f forwarder) reload(t *testing.T, server string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 1; t.Context().Err() == nil; n++ {
			if err := f.Reload(config(server, 1+n%16)); err != nil {
				t.Errorf("reload %d: %v", n, err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { <-done })
}

// counted checks the proxy's counters after three clients have ended. unrouted is the number of requests to a missing
// service.
func (f forwarder) counted(t *testing.T, unrouted uint64) {
	t.Helper()
	counts := f.Snapshot().Traffic
	if len(counts.Routes) != 1 || len(counts.Listeners) != 1 {
		t.Fatalf("%d routes and %d listeners, want one of each", len(counts.Routes), len(counts.Listeners))
	}
	for _, r := range counts.Routes {
		var all uint64
		for _, n := range r.Requests {
			all += n
		}
		if failed := r.Requests[traffic.Bolt(wire.StatusServerException)]; all != 3*requests || failed != 3 {
			t.Errorf("the route counted %d requests, %d of them failed, want %d and 3: %v", all, failed, 3*requests, r.Requests)
		}
	}
	for _, l := range counts.Listeners {
		for why, n := range l.Refused {
			if want := map[traffic.Refusal]uint64{traffic.NoRoute: unrouted}[why]; n != want {
				t.Errorf("the listener refused %d requests for %v, want %d", n, why, want)
			}
		}
	}
}
