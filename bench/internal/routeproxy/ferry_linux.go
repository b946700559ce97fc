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
		files: func(s httpproxy.Setup, set routeset.Set) []file {
			if set.Count < manyRoutes {
				return []file{{"node.yaml", ferryConfig(s) + ferryRoutes(set)}}
			}
			return []file{{"node.yaml", ferryConfig(s) + "      routes_file: routes.jsonl\n"}, {"routes.jsonl", ferryRoutesFile(set)}}
		},
		argv: func(httpproxy.Setup) []string { return []string{binary, "run", "-c", "node.yaml"} },
	}
}

// manyRoutes is the number of routes from which on ferry has them in a file of their own.
const manyRoutes = 1000

func ferryConfig(s httpproxy.Setup) string {
	return fmt.Sprintf(`admin:
  address: %s
proxy:
  clusters:
    - name: web
      endpoints:
        - address: %s
  listeners:
    - address: %s
      protocol: http1
`, s.Admin, s.Upstream, s.Listen)
}

// ferryRoutesFile returns the routes as one virtual host a line.
func ferryRoutesFile(set routeset.Set) string {
	var b strings.Builder
	for _, routes := range set.Hosts() {
		fmt.Fprintf(&b, `{"hosts":[%q],"routes":[`, set.Host(routes[0]))
		b.WriteString(strings.TrimSuffix(each(routes, func(b *strings.Builder, i int) {
			match := fmt.Sprintf(`"prefix":%q`, set.Prefix(i))
			if v := set.HeaderValue(i); v != "" {
				match = fmt.Sprintf(`"headers":[{"name":%q,"value":%q}]`, strings.ToLower(routeset.HeaderName), v)
			}
			fmt.Fprintf(b, `{"name":%q,"match":{%s},"cluster":"web","forward":{"request":{"set":[{"name":%q,"value":%[1]q}]}}},`, set.Name(i), match, routeset.RouteHeader)
		}), ",") + "]}\n")
	}
	return b.String()
}

func ferryRoutes(set routeset.Set) string {
	var b strings.Builder
	b.WriteString("      virtual_hosts:\n")
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
