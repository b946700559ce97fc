package http1

import (
	"testing"

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

// TestRedirectWithoutHost: a client of HTTP/1.0 that names no host cannot be redirected to another scheme or port of it.
func TestRedirectWithoutHost(t *testing.T) {
	for _, row := range []struct {
		head     string
		redirect route.Redirect
		status   int
		location string
	}{
		{"GET /a HTTP/1.0\n\n", route.Redirect{Scheme: "https"}, 400, ""},
		{"GET /a HTTP/1.0\n\n", route.Redirect{Port: 8443}, 400, ""},
		{"GET /a HTTP/1.0\n\n", route.Redirect{Scheme: "https", Host: "b.example"}, 301, "https://b.example/a"},
		{"GET /a HTTP/1.0\n\n", route.Redirect{Path: "/b"}, 301, "/b"},
		{"GET /a HTTP/1.0\nHost: a.example\n\n", route.Redirect{Port: 8443}, 301, "//a.example:8443/a"},
	} {
		c := start(t, setup{rules: []route.Rule{{Redirect: &row.redirect}}, servers: []string{proxytest.DeadAddr(t)}}).dial()
		c.Send(row.head)
		resp, _ := c.ReadResponse("GET")
		if got := resp.Header.Get("Location"); resp.StatusCode != row.status || got != row.location {
			t.Errorf("%q, %+v: got %d, %q, want %d, %q", row.head, row.redirect, resp.StatusCode, got, row.status, row.location)
		}
	}
}
