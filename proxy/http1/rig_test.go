package http1

import (
	"net"
	"net/netip"
	"os"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

const (
	patience = proxytest.Patience
	brief    = proxytest.Brief
)

// TestMain makes every test check the state transitions of both sides.
func TestMain(m *testing.M) {
	exchange.CheckTransitions = true
	os.Exit(m.Run())
}

// rig is a proxy under test.
type rig struct {
	*proxytest.Rig
	service *Service
	addr    string
}

// setup is the configuration of a rig.
type setup struct {
	loop    loop.Config
	config  Config
	rules   []route.Rule // if empty, all requests are forwarded to the cluster web
	cluster upstream.Config
	servers []string // endpoints of the cluster web
}

var anyPort = loop.Addr{TCP: netip.MustParseAddrPort("127.0.0.1:0")}

func start(tb testing.TB, c setup) *rig {
	tb.Helper()
	if c.loop.Loops == 0 {
		c.loop.Loops = 2
	}
	r := &rig{Rig: proxytest.NewRig(tb, c.loop), service: New(&c.config, c.loop.Loops)}
	r.use(c)
	r.addr = r.Listen(r.service.Accept)
	return r
}

// use replaces the configuration.
func (r *rig) use(c setup) {
	r.TB.Helper()
	r.service.Use(&c.config, r.plan(c))
}

func (r *rig) plan(c setup) *exchange.Plan {
	r.TB.Helper()
	if c.rules == nil {
		c.rules = []route.Rule{{Cluster: "web"}}
	}
	c.cluster.Name = "web"
	for _, s := range c.servers {
		c.cluster.Endpoints = append(c.cluster.Endpoints, upstream.EndpointConfig{Address: s})
	}
	return r.Plan(nil, c.rules, c.cluster)
}

// dial connects a client to the proxy.
func (r *rig) dial() *proxytest.Client {
	r.TB.Helper()
	return proxytest.Dial(r.TB, r.addr)
}

// dialSlow is dial for a client that does not read for a while. Its socket has a small buffer, which the system does not enlarge:
// otherwise it may take a whole response, as tcp_rmem differs between machines.
func (r *rig) dialSlow() *proxytest.Client {
	r.TB.Helper()
	c := r.dial()
	if err := c.Conn.(*net.TCPConn).SetReadBuffer(256 << 10); err != nil {
		r.TB.Fatal(err)
	}
	return c
}

func (r *rig) eventually(what string, is func() bool) {
	r.TB.Helper()
	proxytest.Eventually(r.TB, what, is)
}
