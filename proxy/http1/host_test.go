package http1

import (
	"net/netip"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
)

// TestHost checks the Host field that the server gets.
func TestHost(t *testing.T) {
	server := proxytest.ServeHTTP(t, proxytest.EchoHTTP)
	rewritten := []route.Rule{{Cluster: "web", Forward: route.Forward{Rewrite: route.Rewrite{Host: "b.example"}}}}
	for _, row := range []struct {
		name, head, want string
		rules            []route.Rule
	}{
		{"HTTP/1.0 without a host", "GET / HTTP/1.0\n\n", server, nil},
		{"HTTP/1.0 with a host", "GET / HTTP/1.0\nHost: a.example\n\n", "a.example", nil},
		{"HTTP/1.0, absolute", "GET http://a.example/ HTTP/1.0\n\n", "a.example", nil},
		{"rewritten", "GET / HTTP/1.0\n\n", "b.example", rewritten},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := start(t, setup{rules: row.rules, servers: []string{server}}).dial()
			c.Send(row.head)
			resp, _ := c.ReadResponse("GET")
			if got, want := resp.Header.Get("X-Seen"), "GET "+row.want+" /"; got != want {
				t.Errorf("server saw %q, want %q", got, want)
			}
		})
	}
}

func TestHostOfServer(t *testing.T) {
	for _, row := range []struct {
		addr loop.Addr
		want string
	}{
		{loop.Addr{TCP: netip.MustParseAddrPort("127.0.0.1:80")}, "127.0.0.1:80"},
		{loop.Addr{TCP: netip.MustParseAddrPort("[fe80::1%eth0]:80")}, "[fe80::1]:80"},
		{loop.Addr{Unix: "/run/a.sock"}, "localhost"},
	} {
		if got := hostOfAddr(row.addr); got != row.want {
			t.Errorf("%v: got %q, want %q", row.addr, got, row.want)
		}
	}
}
