package http1

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/ferry/format/all"
	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

const patience = 20 * time.Second // for what must happen; no test passes or fails by how long it took

// TestMain has every test check the transitions of both sides' states.
func TestMain(m *testing.M) {
	checkTransitions = true
	os.Exit(m.Run())
}

// rig is a proxy under test.
type rig struct {
	tb      testing.TB
	group   *loop.Group
	service *Service
	metrics *traffic.Metrics
	addr    string
}

// setup is what a rig is made of.
type setup struct {
	loop    loop.Config
	config  Config
	rules   []route.Rule // none: all requests go to the cluster web
	cluster upstream.Config
	servers []string // of the cluster web
}

var anyPort = loop.Addr{TCP: netip.MustParseAddrPort("127.0.0.1:0")}

func start(tb testing.TB, c setup) *rig {
	tb.Helper()
	if c.loop.Loops == 0 {
		c.loop.Loops = 2
	}
	g, err := loop.New(&c.loop)
	if err != nil {
		tb.Fatal(err)
	}
	r := &rig{tb: tb, group: g, service: New(&c.config, c.loop.Loops), metrics: traffic.NewMetrics(c.loop.Loops)}
	tb.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = g.Shutdown(ctx)
	})
	r.use(c)
	ln, err := g.Listen(anyPort, r.service.Accept)
	if err != nil {
		tb.Fatal(err)
	}
	r.addr = ln.Addr().String()
	return r
}

// use has the proxy go by another configuration.
func (r *rig) use(c setup) {
	r.tb.Helper()
	r.service.Use(&c.config, r.plan(c))
}

func (r *rig) plan(c setup) *exchange.Plan {
	r.tb.Helper()
	if c.rules == nil {
		c.rules = []route.Rule{{Cluster: "web"}}
	}
	table, err := route.New(&route.Config{VirtualHosts: []route.VirtualHost{{Hosts: []string{"*"}, Routes: c.rules}}}, all.Formats())
	if err != nil {
		r.tb.Fatal(err)
	}
	c.cluster.Name = "web"
	for _, s := range c.servers {
		c.cluster.Endpoints = append(c.cluster.Endpoints, upstream.EndpointConfig{Address: s})
	}
	web, err := upstream.New(&c.cluster, r.group, slog.New(slog.DiscardHandler))
	if err != nil {
		r.tb.Fatal(err)
	}
	return exchange.NewPlan("test", table, map[string]*upstream.Cluster{"web": web}, r.metrics, nil)
}

// serve runs a server of package net/http.
func serve(tb testing.TB, h http.HandlerFunc) string {
	tb.Helper()
	ln := listen(tb)
	s := &http.Server{Handler: h, ReadHeaderTimeout: patience}
	go s.Serve(ln)
	tb.Cleanup(func() { s.Close() })
	return ln.Addr().String()
}

func listen(tb testing.TB) net.Listener {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { ln.Close() })
	return ln
}

// script runs a server that has f talk to each client.
func script(tb testing.TB, f func(conn net.Conn, r *bufio.Reader)) string {
	tb.Helper()
	ln := listen(tb)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(patience))
				f(conn, bufio.NewReader(conn))
			}()
		}
	}()
	return ln.Addr().String()
}

// client is a raw connection to the proxy.
type client struct {
	net.Conn
	r  *bufio.Reader
	tb testing.TB
}

func (r *rig) dial() *client {
	r.tb.Helper()
	conn, err := net.Dial("tcp", r.addr)
	if err != nil {
		r.tb.Fatal(err)
	}
	r.tb.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return &client{conn, bufio.NewReader(conn), r.tb}
}

// send writes a request. Ends of lines are written as \n.
func (c *client) send(text string) {
	c.tb.Helper()
	if _, err := io.WriteString(c, crlf(text)); err != nil {
		c.tb.Fatal(err)
	}
}

func crlf(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }

// read reads one answer to a request of that method, and its body.
func (c *client) read(method string) (*http.Response, string) {
	c.tb.Helper()
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.tb.Fatalf("read the answer: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.tb.Fatalf("read the body: %v", err)
	}
	return resp, string(body)
}

// ends reads to the end of the connection, which has to come without an error and without another byte.
func (c *client) ends() {
	c.tb.Helper()
	rest, err := io.ReadAll(c.r)
	if err != nil || len(rest) > 0 {
		c.tb.Fatalf("after the answer: %q, %v; want the end", rest, err)
	}
}

// both runs a test on epoll and on goroutines.
func both(t *testing.T, f func(t *testing.T, c loop.Config)) {
	for _, portable := range []bool{false, true} {
		name := "system"
		if portable {
			name = "goroutines"
		}
		t.Run(name, func(t *testing.T) { f(t, loop.Config{Loops: 2, Portable: portable}) })
	}
}

// eventually waits for what is bound to happen.
func (r *rig) eventually(what string, is func() bool) {
	r.tb.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			r.tb.Fatalf("not in time: %s", what)
		}
	}
}
