package http2

import (
	"io"
	"net"
	"testing"

	"example.com/ferry/proxy/http1"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"

	wire "example.com/ferry/protocol/http2"
)

// TestConnectionWindowBoundsBodies: a client sends no more body bytes than connection_window while its requests wait for a connection
// to a server. The bytes of a request that ends are given back.
func TestConnectionWindowBoundsBodies(t *testing.T) {
	t.Parallel()
	const window, body, requests = 65535, 40 << 10, 10
	server := proxytest.Serve(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }) // never responds
	limits := upstream.Limits{}
	limits.Connections = 1
	r := start(t, setup{
		config:    Config{ConnectionWindow: window},
		rules:     []route.Rule{{Match: route.Match{Path: "/fixed"}, Respond: &route.Response{Status: 200, Body: "fixed"}}, {Cluster: "web"}},
		cluster:   upstream.Config{Limits: limits},
		servers:   []string{server},
		connector: http1.NewConnector(nil, 2),
	})
	p := newPeer(t, r.addr)
	first, _ := p.request("POST", "/", false)
	p.settle() // its request has the only connection
	var waiting []*wire.Stream
	for range requests {
		s, _ := p.request("POST", "/", false)
		s.Write(make([]byte, body), false)
		waiting = append(waiting, s)
	}
	p.settle()
	left := 0
	for _, s := range waiting {
		left += s.Queued()
	}
	if held := requests*body - left; held > window {
		t.Errorf("the proxy took %d bytes of bodies that it could not pass on, want %d at most", held, window)
	}
	for _, s := range append(waiting, first) {
		s.Reset(wire.Cancel)
		s.Release()
	}
	s, x := p.request("POST", "/fixed", false)
	s.Write(make([]byte, window), true)
	p.over(x)
	p.until("the whole body to leave", func() bool { return s.Queued() == 0 || x.reset != nil })
	if x.status != 200 || s.Queued() > 0 {
		t.Errorf("after the end of the others: status %d, %d bytes of the body are left", x.status, s.Queued())
	}
}
