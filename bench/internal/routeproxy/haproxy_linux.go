package routeproxy

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"

	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/routeset"
)

// haproxy has a master process, which starts another worker after SIGUSR2 and passes it the listening sockets.
func haproxy() ([]Proxy, error) {
	path, version, err := httpproxy.Installed("haproxy", "-v")
	if err != nil {
		return nil, fmt.Errorf("HAProxy has no row: %w", err)
	}
	argv := func(s httpproxy.Setup) []string {
		return []string{path, "-W", "-db", "-f", filepath.Join(s.Dir, "haproxy.cfg")}
	}
	return []Proxy{
		{Name: HAProxy, Version: version, signal: syscall.SIGUSR2, argv: argv, files: func(s httpproxy.Setup, set routeset.Set) []file {
			return []file{{"routes.map", haproxyMap(set)}, {"haproxy.cfg", haproxyConfig(s, haproxyLookUp(s, set))}}
		}},
		{Name: HAProxyACLs, Version: version, signal: syscall.SIGUSR2, argv: argv, files: func(s httpproxy.Setup, set routeset.Set) []file {
			return []file{{"haproxy.cfg", haproxyConfig(s, haproxyRules(set))}}
		}},
	}, nil
}

func haproxyConfig(s httpproxy.Setup, route string) string {
	return fmt.Sprintf(`global
	nbthread %d
	maxconn 20000
	no strict-limits
	stats socket %s/haproxy.sock mode 600 level admin expose-fd listeners
defaults
	mode http
	timeout connect 5s
	timeout client 1h
	timeout server 1h
	timeout http-keep-alive 1h
	http-reuse always
frontend front
	bind %s backlog 4096
	maxconn 20000
%s	http-request return status 404 unless { var(txn.route) -m found }
	http-request set-header %s %%[var(txn.route)]
	default_backend back
backend back
	server up %s
`, s.Workers, s.Dir, s.Listen, route, routeset.RouteHeader, s.Upstream)
}

func haproxyLookUp(s httpproxy.Setup, set routeset.Set) string {
	key, when := "base,map_beg", ""
	if set.Kind == routeset.Header {
		key = fmt.Sprintf("req.hdr(%s),map_str", strings.ToLower(routeset.HeaderName))
		when = fmt.Sprintf(" if { req.hdr(host) -i %s }", set.Host(0))
	}
	return fmt.Sprintf("\thttp-request set-var(txn.route) %s(%s)%s\n", key, filepath.Join(s.Dir, "routes.map"), when)
}

// haproxyMap has host and prefix in one key, which is what HAProxy calls the base of a request, or the values of a header field.
func haproxyMap(set routeset.Set) string {
	return each([2]int{0, set.Count}, func(b *strings.Builder, i int) {
		key := set.Host(i) + set.Prefix(i)
		if v := set.HeaderValue(i); v != "" {
			key = v
		}
		fmt.Fprintf(b, "%s %s\n", key, set.Name(i))
	})
}

func haproxyRules(set routeset.Set) string {
	return each([2]int{0, set.Count}, func(b *strings.Builder, i int) {
		when := fmt.Sprintf("{ req.hdr(host) -i %s } { path_beg %s }", set.Host(i), set.Prefix(i))
		if v := set.HeaderValue(i); v != "" {
			when = fmt.Sprintf("{ req.hdr(host) -i %s } { req.hdr(%s) %s }", set.Host(i), strings.ToLower(routeset.HeaderName), v)
		}
		fmt.Fprintf(b, "\thttp-request set-var(txn.route) str(%s) if %s\n", set.Name(i), when)
	})
}
