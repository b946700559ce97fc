package routeproxy

import (
	"fmt"
	"strings"
	"syscall"

	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/routeset"
)

func ferry(binary string) Proxy {
	return Proxy{
		Name: Ferry, Version: "this commit", signal: syscall.SIGHUP,
		files: func(s httpproxy.Setup, set routeset.Set) []file { return []file{{"node.yaml", ferryConfig(s, set)}} },
		argv:  func(httpproxy.Setup) []string { return []string{binary, "run", "-c", "node.yaml"} },
	}
}

func ferryConfig(s httpproxy.Setup, set routeset.Set) string {
	var b strings.Builder
	fmt.Fprintf(&b, `admin:
  address: %s
proxy:
  clusters:
    - name: web
      endpoints:
        - address: %s
  listeners:
    - address: %s
      protocol: http1
      virtual_hosts:
`, s.Admin, s.Upstream, s.Listen)
	for _, routes := range set.Hosts() {
		fmt.Fprintf(&b, "        - hosts: [%s]\n          routes:\n", set.Host(routes[0]))
		b.WriteString(each(routes, func(b *strings.Builder, i int) {
			match := "prefix: " + set.Prefix(i)
			if v := set.HeaderValue(i); v != "" {
				match = fmt.Sprintf("headers: [{name: %s, value: %s}]", strings.ToLower(routeset.HeaderName), v)
			}
			fmt.Fprintf(b, `            - name: %s
              match:
                %s
              cluster: web
              forward:
                request:
                  set:
                    - name: %s
                      value: %[1]s
`, set.Name(i), match, routeset.RouteHeader)
		}))
	}
	return b.String()
}
