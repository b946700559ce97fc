package http2

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/http1"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// TestMain makes every test check the state transitions.
func TestMain(m *testing.M) {
	exchange.CheckTransitions = true
	os.Exit(m.Run())
}

// rig is a proxy under test, in front of servers that speak HTTP/1.1.
type rig struct {
	*proxytest.Rig
	service *Service
	plan    *exchange.Plan
	addr    string
}

// setup is the configuration of a rig.
type setup struct {
	loop      loop.Config
	config    Config
	rules     []route.Rule // if empty, all requests are forwarded to the cluster web
	cluster   upstream.Config
	servers   []string // endpoints of the cluster web
	connector exchange.Connector
	log       *traffic.Log
	accept    func(*Service) loop.AcceptFunc // nil means Service.Accept
}

func start(tb testing.TB, c setup) *rig {
	tb.Helper()
	if c.loop.Loops == 0 {
		c.loop.Loops = 2
	}
	r := &rig{Rig: proxytest.NewRig(tb, c.loop), service: New(&c.config, c.loop.Loops)}
	if c.rules == nil {
		c.rules = []route.Rule{{Cluster: "web"}}
	}
	if c.servers == nil {
		c.servers = []string{proxytest.DeadAddr(tb)}
	}
	c.cluster.Name = "web"
	if c.cluster.ConnectTimeout == 0 {
		c.cluster.ConnectTimeout = proxytest.Patience // 1 s is short for 50 connections on a busy machine
	}
	for _, s := range c.servers {
		c.cluster.Endpoints = append(c.cluster.Endpoints, upstream.EndpointConfig{Address: s})
	}
	r.plan = r.Plan(c.log, c.rules, c.cluster)
	if c.connector == nil {
		c.connector = http1.NewConnector(nil, c.loop.Loops)
	}
	for range r.plan.Clusters {
		r.plan.Connectors = append(r.plan.Connectors, c.connector)
	}
	r.service.Use(&c.config, r.plan)
	accept := loop.AcceptFunc(r.service.Accept)
	if c.accept != nil {
		accept = c.accept(r.service)
	}
	r.addr = r.Listen(accept)
	return r
}

// client returns a client of net/http that speaks HTTP/2 with prior knowledge.
func client(tb testing.TB) *http.Client {
	tr := &http.Transport{Protocols: new(http.Protocols), DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	tr.Protocols.SetUnencryptedHTTP2(true)
	tb.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: proxytest.Patience}
}

// refused returns how many requests were refused for the reason.
func (r *rig) refused(why traffic.Refusal) uint64 {
	for _, l := range r.Metrics.Snapshot().Listeners {
		return l.Refused[why]
	}
	return 0
}

func (r *rig) eventually(what string, is func() bool) {
	r.TB.Helper()
	proxytest.Eventually(r.TB, what, is)
}

// settled waits until the proxy has no client and holds no buffer. The clients close their idle connections.
func (r *rig) settled(clients ...*http.Client) {
	r.TB.Helper()
	left := ""
	defer func() {
		if left != "" {
			r.TB.Log(left)
		}
	}()
	r.eventually("nothing is left", func() bool {
		for _, c := range clients {
			c.CloseIdleConnections() // a connection is idle some time after its last response
		}
		s := r.Stats()
		conns := r.Metrics.Snapshot().Listeners[0].Connections
		if left = ""; conns+s.Queues+s.Unread > 0 {
			left = fmt.Sprintf("%d connections of clients, %d queues and %d read buffers are left", conns, s.Queues, s.Unread)
		}
		return left == ""
	})
}
