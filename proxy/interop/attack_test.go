package interop

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/internal/needs"
)

// attackers are clients with addresses of their own, which no honest client has.
type attackers struct {
	address string
	opened  atomic.Int64 // connections that the proxy's system accepted
	closed  atomic.Int64 // connections that the proxy closed
}

// dial connects from the attackers' address with number i.
func (a *attackers) dial(ctx context.Context, i int) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i))}}
	c, err := d.DialContext(ctx, "tcp", a.address)
	if err == nil {
		a.opened.Add(1)
	}
	return c, err
}

// hold runs n clients until ctx ends. Each opens a connection, sends start, and then more after each pause. If more is empty, it
// waits. It never reads, except to notice that the proxy has closed the connection; then it opens another one.
func (a *attackers) hold(ctx context.Context, n, addresses int, start, more string, pause time.Duration) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for ctx.Err() == nil {
				c, err := a.dial(ctx, i%addresses)
				if err != nil {
					time.Sleep(beat)
					continue
				}
				stop := context.AfterFunc(ctx, func() { c.Close() })
				_, err = io.WriteString(c, start)
				for err == nil && ctx.Err() == nil {
					if more != "" {
						time.Sleep(pause)
						_, err = io.WriteString(c, more)
						continue
					}
					_ = c.SetReadDeadline(time.Now().Add(patience))
					_, err = c.Read(make([]byte, 1))
				}
				stop()
				if ctx.Err() == nil {
					a.closed.Add(1)
				}
				c.Close()
			}
		})
	}
	all.Wait()
}

// unread runs n clients until ctx ends. Each sends a request and reads none of the response. It notices that the proxy has
// closed the connection when the next byte that it sends is refused.
func (a *attackers) unread(ctx context.Context, n int, request string) {
	a.hold(ctx, n, 1, request, "\r\n", 100*time.Millisecond) // an empty line before a request is ignored: RFC 9112, section 2.2
}

// metrics returns the values of the proxy's counters by name and labels, from the admin server of http1.yaml.
func (f *ferry) metrics(port string) map[string]float64 {
	f.t.Helper()
	resp, err := http.Get(f.url(port) + "/metrics")
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	values := map[string]float64{}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			values[name] = v
		}
	}
	return values
}

// counter returns the sum of the counters called name whose labels contain label.
func counter(values map[string]float64, name, label string) (sum float64) {
	for at, v := range values {
		if strings.HasPrefix(at, name+"{") && strings.Contains(at, label) {
			sum += v
		}
	}
	return sum
}

// TestAttack attacks one limit after another. Honest clients get all their responses, on connections that they keep and on new
// ones. The proxy closes the attackers' connections and counts why, and its memory stays within a budget. make attack runs it
// with more clients, for longer.
func TestAttack(t *testing.T) {
	needFiles(t)
	if runtime.GOOS != "linux" {
		needs.Missing(t, "all addresses of 127.0.0.0/8", "run on Linux")
	}
	server := serveGo(t, paths())
	const head = "POST /hash HTTP/1.1\r\nHost: a\r\n"
	limits := func(text string) []string {
		return []string{"protocol: http1\n", "protocol: http1\n      " + text + "\n"}
	}
	for _, row := range []struct {
		name    string
		edit    []string
		attack  func(ctx context.Context, a *attackers)
		counter string // counter that the attack raises
		label   string
		most    int           // connections that are open at most while the attack goes on; 0 means any number
		keeps   bool          // the attackers keep their connections
		pause   time.Duration // of the honest clients after each 40 requests
	}{
		{
			name: "connections from one address", edit: limits("limits: {connections_per_address: 20}"),
			attack:  func(ctx context.Context, a *attackers) { a.hold(ctx, attackClients, 1, "", "", 0) },
			counter: "ferry_connections_refused_total", label: `reason="connections_per_address"`, most: 20 + 20,
		},
		{
			name: "connections above the listener's limit", edit: limits("limits: {connections: 60, connections_per_address: 40}"),
			attack:  func(ctx context.Context, a *attackers) { a.hold(ctx, attackClients, 1, "", "", 0) },
			counter: "ferry_connections_refused_total", label: `reason="connections`, most: 60,
		},
		{
			// The default of connections_per_address leaves room for addresses that have no connection.
			name: "connections from many addresses", edit: []string{"proxy:\n", "proxy:\n  max_connections: 150\n"},
			attack:  func(ctx context.Context, a *attackers) { a.hold(ctx, attackClients, 20, "", "", 0) },
			counter: "ferry_connections_refused_total", label: `reason="connections_per_address"`, most: 150,
		},
		{
			name: "silent connections", edit: limits("http1: {idle_timeout: 2s}"),
			attack:  func(ctx context.Context, a *attackers) { a.hold(ctx, attackClients, 1, "", "", 0) },
			counter: "ferry_proxy_accepted_total", label: "",
		},
		{
			name: "slow heads", edit: limits("http1: {header_timeout: 2s}"),
			attack: func(ctx context.Context, a *attackers) {
				a.hold(ctx, attackClients, 1, head+"X-Slow: ", "a", 50*time.Millisecond)
			},
			counter: "ferry_proxy_refused_total", label: `reason="slow_client"`,
		},
		{
			name: "bodies that stop", edit: limits("http1: {body_timeout: 2s}"),
			attack: func(ctx context.Context, a *attackers) {
				a.hold(ctx, attackClients, 1, head+"Content-Length: 100000\r\n\r\na", "", 0)
			},
			counter: "ferry_proxy_refused_total", label: `reason="slow_client"`,
		},
		{
			name: "responses that are not read", edit: limits("http1: {body_timeout: 2s}"),
			attack: func(ctx context.Context, a *attackers) {
				a.unread(ctx, attackClients/4, "GET /bytes?n=30000000 HTTP/1.1\r\nHost: a\r\n\r\n")
			},
			counter: "ferry_proxy_refused_total", label: `reason="slow_client"`,
		},
		{
			name: "half of a request, then the end of the client's side", edit: limits("http1: {}"),
			attack:  halfClosed,
			counter: "ferry_proxy_requests_total", label: "", // connections do not accumulate: see most
			most: 40,
		},
		{
			// Even a slow attacker exceeds the rate. The pause keeps the honest clients, which share an address, below it.
			name: "requests above the rate", edit: limits("limits: {requests_per_second: 200, burst: 1000}"), pause: 250 * time.Millisecond,
			attack: func(ctx context.Context, a *attackers) {
				a.hold(ctx, 8, 1, "", strings.Repeat("GET /echo HTTP/1.1\r\nHost: a\r\n\r\n", 200), beat)
			},
			counter: "ferry_proxy_refused_total", label: `reason="client_rate_limited"`, keeps: true,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := run(t, "http1.yaml", map[string]string{"18090": server}, row.edit...)
			honest := newHonest(t, f.url("18080"))
			stop := f.watch(192)
			honest.ask(40)
			before := counter(f.metrics("18095"), row.counter, row.label)
			a := &attackers{address: f.at("18080")}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var attack sync.WaitGroup
			attack.Go(func() { row.attack(ctx, a) })
			most, raised := 0.0, 0.0
			inVain := func() bool { return raised == 0 || !row.keeps && a.closed.Load() == 0 }
			for begun := time.Now(); time.Since(begun) < attackTime || inVain() && time.Since(begun) < patience; {
				honest.ask(40)
				time.Sleep(row.pause)
				now := f.metrics("18095")
				most = max(most, counter(now, "ferry_proxy_connections", ""))
				raised = counter(now, row.counter, row.label) - before
			}
			cancel()
			attack.Wait()
			honest.ask(40)
			stop()
			t.Logf("%d connections opened, %d closed by the proxy; %s{%s} rose by %.0f; %.0f connections at most", a.opened.Load(), a.closed.Load(), row.counter, row.label, raised, most)
			if raised == 0 {
				t.Errorf("%s{%s} did not rise", row.counter, row.label)
			}
			if !row.keeps && a.closed.Load() == 0 {
				t.Error("the proxy closed none of the attackers' connections")
			}
			if row.most > 0 && most > float64(row.most) {
				t.Errorf("%.0f connections were open, want %d at most", most, row.most)
			}
		})
	}
}

// halfClosed opens connections one after another. Each sends half of a request and ends its side.
func halfClosed(ctx context.Context, a *attackers) {
	for ctx.Err() == nil {
		c, err := a.dial(ctx, 0)
		if err != nil {
			continue
		}
		_, _ = io.WriteString(c, "POST /hash HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf")
		_ = c.(*net.TCPConn).CloseWrite()
		_ = c.SetDeadline(time.Now().Add(patience))
		if _, err := io.Copy(io.Discard, c); err == nil {
			a.closed.Add(1)
		}
		c.Close()
	}
}

// TestOverloadBudget: clients make the proxy hold more than its memory budget allows. The process stays within the budget and
// serves honest clients again afterwards.
func TestOverloadBudget(t *testing.T) {
	if runtime.GOOS != "linux" {
		needs.Missing(t, "the memory of a process in /proc", "run on Linux")
	}
	needFiles(t)
	for _, row := range []struct {
		name   string
		budget int // MiB
		sheds  bool
		attack func(ctx context.Context, a *attackers)
	}{
		{
			// 600 queues of 256 KiB would be 150 MiB: they are made shorter.
			name: "responses and bodies that are not read", budget: 64,
			attack: func(ctx context.Context, a *attackers) {
				var all sync.WaitGroup
				all.Go(func() { a.unread(ctx, 400, "GET /bytes?n=30000000 HTTP/1.1\r\nHost: a\r\n\r\n") })
				all.Go(func() {
					a.hold(ctx, 200, 1, "POST /stuck HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n", strings.Repeat("a", 100_000), beat)
				})
				all.Wait()
			},
		},
		{
			// 4000 heads of 15 KiB are 60 MiB, and no queue is involved.
			name: "heads that are not complete", budget: 48, sheds: true,
			attack: func(ctx context.Context, a *attackers) {
				a.hold(ctx, 4000, 20, "GET / HTTP/1.1\r\nHost: a\r\nX: "+strings.Repeat("a", 15_000), "", 0)
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			mux := paths()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			mux.HandleFunc("/stuck", func(http.ResponseWriter, *http.Request) { <-ctx.Done() }) // reads no byte of the body
			f := run(t, "http1.yaml", map[string]string{"18090": serveGo(t, mux)},
				"proxy:\n", fmt.Sprintf("proxy:\n  overload: {memory: %dMiB}\n", row.budget))
			honest := newHonest(t, f.url("18080"))
			honest.ask(40)
			stop := f.watch(row.budget + row.budget/4)
			a := &attackers{address: f.at("18080")}
			var all sync.WaitGroup
			all.Go(func() { row.attack(ctx, a) })
			highest := 0.0
			for begun := time.Now(); time.Since(begun) < 2*attackTime || row.sheds && highest == 0 && time.Since(begun) < patience; {
				highest = max(highest, f.metrics("18095")["ferry_overload_level"])
				time.Sleep(20 * time.Millisecond)
			}
			cancel()
			all.Wait()
			for begun := time.Now(); f.metrics("18095")["ferry_overload_level"] > 0 && time.Since(begun) < patience; {
				time.Sleep(20 * time.Millisecond)
			}
			stop()
			m := f.metrics("18095")
			t.Logf("level %.0f; requests shed %.0f, connections shed %.0f, idle ones closed %.0f", highest,
				counter(m, "ferry_proxy_refused_total", `"shed"`), counter(m, "ferry_connections_refused_total", `"shed"`), m["ferry_overload_idle_closed_total"])
			if row.sheds && highest == 0 {
				t.Error("the level of overload did not rise: the attack is too small")
			}
			honest.ask(40)
		})
	}
}
