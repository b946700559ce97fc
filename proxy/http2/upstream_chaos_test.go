package http2

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"

	wire "example.com/ferry/protocol/http2"
)

// randomServer starts a server with random behavior. It echoes a request's path many times, and in a trailer. It refuses and
// resets streams, responds before the request is complete, gives windows back late, goes away, and closes connections.
func randomServer(tb testing.TB) string {
	type progress struct {
		path     string
		withheld int
	}
	respond := func(c *scriptedConn, s *wire.Stream) {
		x := s.User.(*progress)
		if rand.IntN(4) == 0 {
			c.respond(s, 103, "")
		}
		e := s.BeginHeaders()
		e.Status([]int{200, 200, 200, 503}[rand.IntN(4)])
		e.End(false)
		text := []byte(x.path)
		for n := rand.IntN(200_000); len(text) < n; {
			text = append(text, x.path...)
		}
		cut := rand.IntN(len(text))
		s.Write(text[:cut], false)
		switch rand.IntN(12) {
		case 0:
			s.Reset(wire.InternalError)
		case 1:
			c.conn.Close()
		}
		s.Write(text[cut:], false)
		e = s.BeginHeaders()
		e.FieldString("x-path", x.path)
		e.End(true)
		s.Release()
	}
	return (&scriptedServer{
		config: wire.Config{MaxStreams: 10, StreamWindow: 10_000, AbuseBudget: 1 << 20},
		head: func(c *scriptedConn, s *wire.Stream, h *wire.Head, end bool) {
			s.User = &progress{path: string(h.Path)}
			switch n := rand.IntN(30); {
			case n == 0:
				s.Reset(wire.RefusedStream)
				s.Release()
			case n == 1:
				s.Reset(wire.EnhanceYourCalm)
				s.Release()
			case n == 2:
				c.http2.GoAway(wire.NoError)
			case n == 3:
				c.http2.GoAway(wire.NoError)
				c.http2.GoAway(wire.NoError)
			case n == 4:
				c.conn.Close()
			case n < 8 || end:
				respond(c, s)
			}
		},
		data: func(c *scriptedConn, s *wire.Stream, p []byte, end bool) {
			x, _ := s.User.(*progress)
			if x == nil {
				return // released
			}
			if x.withheld += len(p); rand.IntN(3) == 0 || x.withheld > 5000 {
				s.Consumed(x.withheld)
				x.withheld = 0
			}
			if end || rand.IntN(50) == 0 {
				respond(c, s)
			}
		},
	}).start(tb).addr
}

// TestUpstreamChaos connects random clients in memory to random servers while the cluster is replaced. Each response must
// belong to its request. At the end, no connection, stream or buffer may be left.
func TestUpstreamChaos(t *testing.T) {
	proxytest.BothLoops(t, func(t *testing.T, c loop.Config) {
		cluster := proxytest.Cluster("web", randomServer(t), randomServer(t))
		cluster.Connections, cluster.Streams, cluster.IdleTimeout = 2, 5, proxytest.Brief
		cluster.Limits = upstream.Limits{Waiting: 10}
		rule := route.Rule{Forward: route.Forward{Retry: &route.Retry{On: []route.Cause{route.OnReset, route.OnRefusedStream}, Attempts: 4, Budget: route.RetryBudget{Ratio: 10}}}}
		r := startUpstream(t, c, rule, cluster)
		var mu sync.Mutex // guards plan and clusters
		plan := r.plan
		clusters := []*upstream.Cluster{plan.Clusters[0]}
		ends := map[string]int{}
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				for j := range 30 {
					mu.Lock()
					now := plan
					mu.Unlock()
					end := chaoticRequest(t, r, now, fmt.Sprintf("/%d-%d", i, j))
					mu.Lock()
					ends[end]++
					mu.Unlock()
				}
			})
		}
		over := make(chan bool)
		go func() { all.Wait(); close(over) }()
		for swapping := true; swapping; {
			select {
			case <-over:
				swapping = false
			case <-time.After(20 * time.Millisecond):
				rule.Name, rule.Cluster = "r", "web"
				next := r.Plan(nil, []route.Rule{rule}, cluster)
				next.Connectors = []exchange.Connector{NewConnector(1)}
				mu.Lock()
				plan = next
				clusters = append(clusters, next.Clusters[0])
				mu.Unlock()
				clusters[len(clusters)-2].Close()
			}
		}
		for _, end := range []string{"whole", "reset", "rejected", "left"} {
			if ends[end] == 0 {
				t.Errorf("no request ended so: %s; of %v", end, ends)
			}
		}
		clusters[len(clusters)-1].Close()
		proxytest.Eventually(t, "nothing is left", func() bool {
			s := r.Stats()
			left := int64(s.Conns + s.Queues + s.Unread)
			for _, web := range clusters {
				up := web.Snapshot()
				left += up.Active + up.Waiting
				for _, e := range up.Endpoints {
					left += e.Active + e.Conns
				}
			}
			return left == 0
		})
	})
}

// chaoticRequest sends a request with a random body, and may leave at any time. It returns how the request ended.
func chaoticRequest(t *testing.T, r *upstreamRig, plan *exchange.Plan, path string) string {
	head := &proxytest.RequestHead{MethodName: []string{"GET", "POST", "PUT"}[rand.IntN(3)], Host: "a", Target: path, Length: -1}
	c := &call{rig: r, over: make(chan struct{})}
	left, ended := false, head.MethodName == "GET"
	c.do(func() {
		c.Downstream = proxytest.NewDownstream(t, r.loop)
		c.Responded = func() { close(c.over) }
		c.Begin(plan, exchange.Timeouts{}, head, ended)
	})
	piece := bytes.Repeat([]byte("x"), rand.IntN(30_000))
	for waiting := true; waiting; {
		c.do(func() {
			switch n := rand.IntN(40); {
			case c.Ended:
			case n < 4 && !ended && (c.CanSend() || !c.Relay.Ready()):
				ended = true
				c.End(nil)
			case n < 20 && !ended && c.CanSend():
				c.Send(piece)
			case n < 25:
				if c.Full = !c.Full; !c.Full {
					c.Drain()
				}
			case n == 25 && rand.IntN(10) == 0:
				left = true
				c.Leave()
			}
		})
		select {
		case <-c.over:
			waiting = false
		case <-time.After(time.Duration(rand.IntN(300)) * time.Microsecond):
		}
	}
	end := "whole"
	c.do(func() {
		switch {
		case left:
			end = "left"
		case c.Rejected != nil:
			end = "rejected"
		case c.WasReset:
			end = "reset"
		default:
			if got := c.Body.String(); strings.ReplaceAll(got, path, "") != "" || string(c.Trailers.Get("x-path")) != path {
				t.Errorf("%s: status %d, trailers %v, and a body of another request: %.100q", path, c.Status, c.Trailers, got)
			}
		}
		c.Relay.Release()
	})
	return end
}
