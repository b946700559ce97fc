package http2

import (
	"cmp"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// upstreamRig has a plan whose servers speak HTTP/2, on one loop. The clients are in memory.
type upstreamRig struct {
	*proxytest.Rig
	plan *exchange.Plan
	loop *loop.Loop
}

func startUpstream(tb testing.TB, c loop.Config, rule route.Rule, cluster upstream.Config) *upstreamRig {
	tb.Helper()
	c.Loops = 1
	r := &upstreamRig{Rig: proxytest.NewRig(tb, c)}
	rule.Name, rule.Cluster = "r", cluster.Name
	cluster.Protocol = cmp.Or(cluster.Protocol, upstream.HTTP2)
	r.plan = r.Plan(nil, []route.Rule{rule}, cluster)
	r.plan.Connectors = []exchange.Connector{NewConnector(1)}
	r.loop = r.Group.Loops()[0]
	return r
}

// oneConnection is the configuration of a cluster with one endpoint and one connection.
func oneConnection(server string) upstream.Config {
	c := proxytest.Cluster("web", server)
	c.Connections = 1
	return c
}

// call is a request of a client in memory.
type call struct {
	*proxytest.Downstream
	rig  *upstreamRig
	over chan struct{}
}

// begin begins a request. change is applied to the Relay before that; it may be nil.
func (r *upstreamRig) begin(head *proxytest.RequestHead, end bool, change func(*exchange.Relay)) *call {
	r.TB.Helper()
	c := &call{rig: r, over: make(chan struct{})}
	c.do(func() {
		c.Downstream = proxytest.NewDownstream(r.TB, r.loop)
		c.Responded = func() { close(c.over) }
		if change != nil {
			change(&c.Relay)
		}
		c.Begin(r.plan, exchange.Timeouts{}, head, end)
	})
	return c
}

// do calls f on the loop.
func (c *call) do(f func()) {
	c.rig.TB.Helper()
	proxytest.OnLoop(c.rig.TB, c.rig.loop, func() bool { f(); return true })
}

// send sends pieces of the body, each of them when the request is not paused.
func (c *call) send(pieces ...string) {
	c.rig.TB.Helper()
	for _, piece := range pieces {
		for sent := false; !sent; {
			c.do(func() {
				if sent = c.CanSend(); sent {
					c.Send([]byte(piece))
				} else if c.Ended {
					c.rig.TB.Error("the request has ended before its body")
					sent = true
				}
			})
			if !sent {
				time.Sleep(time.Millisecond)
			}
		}
	}
}

// wait waits until the request has ended.
func (c *call) wait() *proxytest.Downstream {
	c.rig.TB.Helper()
	select {
	case <-c.over:
	case <-time.After(proxytest.Patience):
		c.rig.TB.Fatal("no response")
	}
	return c.Downstream
}

// idle waits until no request and no stream is left. It returns the statistics of the cluster.
func (r *upstreamRig) idle() upstream.Stats {
	r.TB.Helper()
	var s upstream.Stats
	proxytest.Eventually(r.TB, "every request ends", func() bool {
		s = r.plan.Clusters[0].Snapshot()
		left := s.Active + s.Waiting
		for _, sc := range r.conns() {
			left += int64(proxytest.OnLoop(r.TB, r.loop, func() int { return sc.http2.Streams() }))
		}
		return left == 0
	})
	return s
}

// conns returns the connections of all endpoints.
func (r *upstreamRig) conns() []*serverConn {
	return proxytest.OnLoop(r.TB, r.loop, func() (all []*serverConn) {
		for _, h := range r.loop.All() {
			if sc, ok := h.(*serverConn); ok && sc.state != serverClosed {
				all = append(all, sc)
			}
		}
		return all
	})
}

// ready waits until the SETTINGS of every server have arrived, so the limits of the connections are known.
func (r *upstreamRig) ready() {
	r.TB.Helper()
	proxytest.Eventually(r.TB, "SETTINGS arrive", func() bool {
		for _, sc := range r.conns() {
			if !proxytest.OnLoop(r.TB, r.loop, sc.http2.PeerReady) {
				return false
			}
		}
		return true
	})
}
