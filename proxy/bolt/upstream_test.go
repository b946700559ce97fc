package bolt

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// deadAddr returns an address without a listener.
func deadAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

func TestDeadServer(t *testing.T) {
	t.Parallel()
	dead := upstream.Config{Name: "c", Endpoints: []upstream.EndpointConfig{{Address: deadAddr(t)}}}
	c := start(t, nil, nil, []route.Rule{{Name: "all", Cluster: "c"}}, dead).dial()
	for i, size := range []int{0, 1000, 100_000, 10} {
		c.send(call(wire.V2CRC, uint32(i), "a", filled(size)))
		c.status(uint32(i), wire.StatusClientSend)
	}
}

func retrying(on ...route.Cause) []route.Rule {
	r := route.Rule{Name: "all", Cluster: "c"}
	r.Forward.Retry = &route.Retry{On: on, Attempts: 3, Idempotent: true, Budget: route.RetryBudget{Ratio: 10, MinPerSecond: 1000}}
	return []route.Rule{r}
}

// A request that was not sent is retried on another server, even if it is large.
func TestRetryAfterConnectFailure(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	both := cluster("c", s)
	both.Balance = upstream.RoundRobin
	both.Endpoints = append(both.Endpoints, upstream.EndpointConfig{Address: deadAddr(t)})
	c := start(t, nil, nil, retrying(route.OnConnectFailure), both).dial()
	for i, size := range []int{0, 1000, 100_000, 10, 1 << 20, 5} {
		c.send(call(wire.V1, uint32(i), "a", filled(size)))
		c.echoed(c.status(uint32(i), wire.StatusSuccess), filled(size))
	}
}

// A request whose connection was reset is sent again only if the route allows it.
func TestReset(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		routes []route.Rule
		want   wire.Status
		served int64
	}{
		{"no retry", []route.Rule{{Name: "all", Cluster: "c"}}, wire.StatusClosed, 1},
		{"retry", retrying(route.OnReset), wire.StatusSuccess, 2},
		{"other cause", retrying(route.OnTimeout), wire.StatusClosed, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, nil)
			s.handle = func(p *peer, f wire.Frame) {
				if s.served.Load() == 1 {
					_ = p.Close()
					return
				}
				echo(p, f)
			}
			c := start(t, nil, nil, tt.routes, cluster("c", s)).dial()
			c.send(call(wire.V2CRC, 9, "a", []byte("again")))
			if f := c.status(9, tt.want); tt.want == wire.StatusSuccess {
				c.echoed(f, []byte("again"))
			}
			if n := s.served.Load(); n != tt.served {
				t.Errorf("the server got %d requests, want %d", n, tt.served)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	short := route.Rule{Name: "short", Cluster: "c"}
	short.Match.Bolt.Service = "short"
	short.Forward.Timeout = 30 * time.Millisecond
	tries := retrying(route.OnTimeout)[0]
	tries.Name, tries.Match.Bolt.Service = "tries", "tries"
	tries.Forward.Retry.PerTryTimeout = 30 * time.Millisecond
	release := make(chan bool)
	s := newServer(t, func(p *peer, f wire.Frame) {
		go func() {
			<-release
			echo(p, f)
		}()
	})
	p := start(t, nil, nil, []route.Rule{short, tries, {Name: "long", Cluster: "c"}}, cluster("c", s))
	c := p.dial()
	c.send(call(wire.V1, 1, "short", nil))
	c.status(1, wire.StatusTimeout)
	m := call(wire.V1, 2, "own", nil)
	m.Timeout = 30 * time.Millisecond
	c.send(m)
	c.status(2, wire.StatusTimeout)
	c.send(call(wire.V1, 3, "tries", nil))
	c.status(3, wire.StatusTimeout)
	if n := s.served.Load(); n != 5 {
		t.Errorf("the server got %d requests, want 1, 1 and 3", n)
	}
	c.send(call(wire.V1, 4, "long", []byte("right")))
	proxytest.Eventually(t, "the last request is there", func() bool { return s.served.Load() == 6 })
	close(release)
	c.echoed(c.status(4, wire.StatusSuccess), []byte("right"))
	proxytest.Eventually(t, "five answers were late", func() bool { return p.service.Late() == 5 })
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	name := func(name string) *server {
		return newServer(t, func(p *peer, f wire.Frame) { p.send(reply(f, []byte(name))) })
	}
	one, two, three := name("one"), name("two"), name("three")
	byService := route.Rule{Name: "service", Cluster: "one"}
	byService.Match.Bolt.Service = "com.example.One:1.0"
	byHeader := route.Rule{Name: "header", Cluster: "two"}
	byHeader.Match.Headers = []route.Header{{Name: "zone", Value: "b"}}
	byPayload := route.Rule{Name: "payload", Cluster: "three"}
	byPayload.Match.Payload = &route.Payload{Format: "json", Where: `kind == "alarm"`}
	limited := route.Rule{Name: "limited", Cluster: "one", RateLimit: &route.RateLimit{RequestsPerSecond: 0.001, Burst: 1}}
	limited.Match.Bolt.Service = "limited"
	p := start(t, nil, nil, []route.Rule{byService, limited, byHeader, byPayload},
		cluster("one", one), cluster("two", two), cluster("three", three))
	c := p.dial()
	zone := wire.AppendPair(wire.AppendPair(nil, wire.Service, "x"), "zone", "b")
	twice := wire.AppendPair(wire.AppendPair(nil, wire.Service, "x"), wire.Service, "y")
	alarm := append([]byte(`{"kind":"alarm","more":"`), filled(100_000)...)
	for i, tt := range []struct {
		name    string
		change  func(m *wire.Message)
		status  wire.Status
		content string
	}{
		{"service", func(m *wire.Message) { m.Header = wire.AppendPair(nil, wire.Service, "com.example.One:1.0") }, 0, "one"},
		{"target service", func(m *wire.Message) { m.Header = wire.AppendPair(nil, wire.TargetService, "com.example.One:1.0") }, 0, "one"},
		{"header", func(m *wire.Message) { m.Header = zone }, 0, "two"},
		{"payload", func(m *wire.Message) { m.Content = []byte(`{"kind":"alarm"}`) }, 0, "three"},
		{"large payload", func(m *wire.Message) { m.Content = alarm }, 0, "three"},
		{"large header", func(m *wire.Message) { m.Header, m.Content = zone, alarm }, 0, "two"},
		{"none", func(*wire.Message) {}, wire.StatusNoProcessor, ""},
		{"large none", func(m *wire.Message) { m.Content = filled(200_000) }, wire.StatusNoProcessor, ""},
		{"damaged", func(m *wire.Message) { m.Header = []byte{0, 0, 0, 9, 1} }, wire.StatusCodec, ""},
		{"ambiguous", func(m *wire.Message) { m.Header = twice }, wire.StatusCodec, ""},
		{"limited once", func(m *wire.Message) { m.Header = wire.AppendPair(nil, wire.Service, "limited") }, 0, "one"},
		{"limited twice", func(m *wire.Message) { m.Header = wire.AppendPair(nil, wire.Service, "limited") }, wire.StatusThreadpoolBusy, ""},
	} {
		m := call(wire.V1, uint32(i), "x", nil)
		tt.change(&m)
		c.send(m)
		if f := c.read(); f.ID() != uint32(i) || f.Status() != tt.status || string(f.Content()) != tt.content {
			t.Errorf("%s: answer %d with %v %q, want %d with %v %q", tt.name, f.ID(), f.Status(), f.Content(), i, tt.status, tt.content)
		}
	}
}

func TestTwoServers(t *testing.T) {
	t.Parallel()
	one, two := newServer(t, nil), newServer(t, nil)
	both := cluster("c", one, two)
	both.Balance = upstream.RoundRobin
	c := start(t, nil, nil, []route.Rule{{Name: "all", Cluster: "c"}}, both).dial()
	for i := range 20 {
		c.send(call(wire.V1, uint32(i), "a", nil))
		c.status(uint32(i), wire.StatusSuccess)
	}
	if a, b := one.served.Load(), two.served.Load(); a != 10 || b != 10 {
		t.Errorf("the servers got %d and %d requests, want 10 each", a, b)
	}
}

// A connection is opened when all others have Streams requests, up to the limit. The dialect of a connection does not
// change.
func TestConnections(t *testing.T) {
	t.Parallel()
	release := make(chan bool)
	s := newServer(t, func(p *peer, f wire.Frame) {
		go func() {
			<-release
			echo(p, f)
		}()
	})
	few := cluster("c", s)
	few.Streams, few.Connections = 4, 3
	p := start(t, nil, nil, []route.Rule{{Name: "all", Cluster: "c"}}, few)
	clients := map[wire.Dialect]*peer{}
	for d := range dialectNames {
		clients[d] = p.dial()
		for i := range 8 {
			clients[d].send(call(d, uint32(i), "a", nil))
		}
	}
	proxytest.Eventually(t, "24 requests are there", func() bool { return s.served.Load() == 24 })
	if n := s.conns.Load(); n != 6 {
		t.Errorf("%d connections for 8 requests of each of 3 dialects, 4 on each, want 6", n)
	}
	for i := range 20 {
		clients[wire.V1].send(call(wire.V1, uint32(i+8), "a", nil))
	}
	proxytest.Eventually(t, "44 requests are there", func() bool { return s.served.Load() == 44 })
	if n := s.conns.Load(); n != 7 {
		t.Errorf("%d connections, want 7", n)
	}
	close(release)
	for d, c := range clients {
		want := 8
		if d == wire.V1 {
			want = 28
		}
		for range want {
			c.read()
		}
	}
}

func TestWaitingIsBounded(t *testing.T) {
	t.Parallel()
	one := cluster("c", newServer(t, nil))
	one.Limits.Waiting = 1
	c := start(t, nil, nil, []route.Rule{{Name: "all", Cluster: "c"}}, one).dial()
	var both []byte
	for i := range 2 {
		both, _ = wire.Append(both, call(wire.V1, uint32(i), "a", nil))
	}
	if err := c.write(both); err != nil { // in one segment, so both arrive before the connection is open
		t.Fatal(err)
	}
	c.status(1, wire.StatusThreadpoolBusy)
	c.status(0, wire.StatusSuccess)
	c.send(call(wire.V1, 2, "a", nil))
	c.status(2, wire.StatusSuccess)
}

func TestGoAway(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	s.handle = func(p *peer, f wire.Frame) {
		if s.served.Load() == 1 {
			p.send(wire.Message{Dialect: wire.V1, Type: wire.Request, Command: wire.CommandGoaway, ID: 1})
		}
		echo(p, f)
	}
	c := simple(t, nil, s).dial()
	for i := range 3 {
		c.send(call(wire.V1, uint32(i), "a", nil))
		c.status(uint32(i), wire.StatusSuccess)
	}
	if n := s.conns.Load(); n != 2 {
		t.Errorf("%d connections, want 2: the first one went away", n)
	}
}

// The proxy refuses requests of a server and acknowledges the server's heartbeats.
func TestFramesOfServersOwn(t *testing.T) {
	t.Parallel()
	answers := make(chan string, 4)
	s := newServer(t, nil)
	s.handle = func(p *peer, f wire.Frame) {
		if f.Type() == wire.Response {
			answers <- fmt.Sprint(f.ID(), " ", f.Status())
			return
		}
		beat, _ := wire.AppendHeartbeat(nil, wire.V1, 5)
		_ = p.write(beat)
		p.send(call(wire.V1, 6, "callback", nil))
		echo(p, f)
	}
	c := simple(t, nil, s).dial()
	c.send(call(wire.V1, 1, "a", nil))
	c.status(1, wire.StatusSuccess)
	if got := <-answers; got != "6 no processor" {
		t.Errorf("the server is told %q", got)
	}
}

// Heartbeats are sent on an idle connection. If the server responds to none, the connection is closed.
func TestHeartbeatsToServers(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	mute := upstream.Config{Name: "c", Endpoints: []upstream.EndpointConfig{{Address: ln.Addr().String()}}, Heartbeat: 20 * time.Millisecond}
	c := start(t, nil, nil, []route.Rule{{Name: "all", Cluster: "c"}}, mute).dial()
	c.send(call(wire.V1, 1, "a", nil))
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := &peer{Conn: conn, t: t}
	f := s.read()
	s.send(reply(f, nil))
	c.status(1, wire.StatusSuccess)
	for range maxMissedHeartbeats {
		if f := s.read(); f.Command() != wire.CommandHeartbeat {
			t.Errorf("a %v where a heartbeat was to come", f.Command())
		}
	}
	s.ends()
}

// The loop is delayed by more than two heartbeat intervals, as on a machine that was suspended. It still closes the
// connection of a server that does not respond.
func TestHeartbeatsAfterSleep(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	mute := upstream.Config{Name: "c", Endpoints: []upstream.EndpointConfig{{Address: ln.Addr().String()}}, Heartbeat: 50 * time.Millisecond}
	p := start(t, nil, nil, []route.Rule{{Name: "all", Cluster: "c"}}, mute)
	c := p.dial()
	c.send(call(wire.V1, 1, "a", nil))
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := &peer{Conn: conn, t: t}
	s.send(reply(s.read(), nil))
	c.status(1, wire.StatusSuccess)
	for _, l := range p.group.Loops() {
		if err := l.Post(func() { time.Sleep(200 * time.Millisecond) }); err != nil {
			t.Fatal(err)
		}
	}
	_ = s.SetReadDeadline(time.Now().Add(patience))
	_, err = io.Copy(io.Discard, s)
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		t.Error("the connection stays open")
	}
}

func TestIdleServerConnection(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	brief := cluster("c", s)
	brief.IdleTimeout = 30 * time.Millisecond
	p := start(t, nil, nil, []route.Rule{{Name: "all", Cluster: "c"}}, brief)
	c := p.dial()
	c.send(call(wire.V1, 1, "a", nil))
	c.status(1, wire.StatusSuccess)
	proxytest.Eventually(t, "only the client's connection is left", func() bool {
		sum, _ := p.group.Stats()
		return sum.Conns == 1
	})
	c.send(call(wire.V1, 2, "a", nil))
	c.status(2, wire.StatusSuccess)
}

// A response with a wrong CRC closes its connection. The request is retried on another connection.
func TestDamagedResponseIsRetried(t *testing.T) {
	t.Parallel()
	var times atomic.Int64
	s := newServer(t, func(p *peer, f wire.Frame) {
		frame, _ := wire.Append(nil, reply(f, f.Content()))
		if times.Add(1) == 1 {
			frame[len(frame)-1] ^= 1
		}
		_ = p.write(frame)
	})
	retry := &route.Retry{On: []route.Cause{route.OnReset}, Idempotent: true}
	p := start(t, nil, &Config{CheckCRC: true}, []route.Rule{{Name: "all", Cluster: "c", Forward: route.Forward{Retry: retry}}}, cluster("c", s))
	c := p.dial()
	c.send(call(wire.V2CRC, 1, "a", numbered(1)))
	c.echoed(c.status(1, wire.StatusSuccess), numbered(1))
}
