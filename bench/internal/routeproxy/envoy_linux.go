package routeproxy

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"example.com/ferry/bench/internal/envoy"
	"example.com/ferry/bench/internal/httpproxy"
	"example.com/ferry/bench/internal/routeset"
)

// envoyConfig has the routes in a file of their own, which Envoy reads again when it is replaced.
const envoyConfig = `node: {id: bench, cluster: bench}
static_resources:
  listeners:
  - name: front
    address: {socket_address: {address: 127.0.0.1, port_value: %s}}
    tcp_backlog_size: 4096
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: front
          generate_request_id: false
          http_filters:
          - name: envoy.filters.http.router
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
              suppress_envoy_headers: true
              dynamic_stats: false
          rds:
            route_config_name: routes
            config_source: {resource_api_version: V3, path_config_source: {path: %s}}
  clusters:
  - name: up
    type: STATIC
    circuit_breakers:
      thresholds:
      - {max_connections: 100000, max_pending_requests: 100000, max_requests: 100000}
    load_assignment:
      cluster_name: up
      endpoints:
      - lb_endpoints:
        - endpoint:
            address: {socket_address: {address: 127.0.0.1, port_value: %s}}
`

const envoyRoutes = "routes.json"

func envoyProxy() ([]Proxy, error) {
	if err := envoy.Install(); err != nil {
		return nil, fmt.Errorf("Envoy has no row: %w", err) //nolint:staticcheck // a name
	}
	return []Proxy{{
		Name: Envoy, Version: envoy.Version,
		files: func(s httpproxy.Setup, set routeset.Set) []file {
			return []file{{"envoy.yaml", fmt.Sprintf(envoyConfig, s.Port(), filepath.Join(s.Dir, envoyRoutes), s.UpstreamPort())}, {envoyRoutes, envoyRouteConfig(set)}}
		},
		argv: func(s httpproxy.Setup) []string {
			return []string{envoy.Path(), "-c", filepath.Join(s.Dir, "envoy.yaml"), "--concurrency", strconv.Itoa(s.Workers), "--disable-hot-restart", "-l", "error"}
		},
	}}, nil
}

// object is a message in JSON.
type object map[string]any

// envoyRouteConfig is a discovery response, which is JSON because Envoy reads that faster than YAML. It has a matcher tree for values of a header field:
// Envoy tries the routes of a virtual host one after the other.
func envoyRouteConfig(set routeset.Set) string {
	var hosts []object
	for _, routes := range set.Hosts() {
		host := object{"name": set.Host(routes[0]), "domains": []string{set.Host(routes[0])}}
		if set.Kind == routeset.Header {
			host["matcher"] = envoyMatcher(set)
		} else {
			var list []object
			for i := routes[0]; i < routes[1]; i++ {
				list = append(list, envoyRoute(set, i))
			}
			host["routes"] = list
		}
		hosts = append(hosts, host)
	}
	text, err := json.Marshal(object{"version_info": strconv.Itoa(set.Version), "resources": []object{{
		"@type": "type.googleapis.com/envoy.config.route.v3.RouteConfiguration", "name": "routes", "virtual_hosts": hosts,
	}}})
	if err != nil {
		panic(err) // it has nothing but text
	}
	return string(text)
}

func envoyRoute(set routeset.Set, i int) object {
	return object{
		"name": set.Name(i), "match": object{"prefix": set.Prefix(i)}, "route": object{"cluster": "up", "timeout": "0s"},
		"request_headers_to_add": []object{{
			"header":        object{"key": strings.ToLower(routeset.RouteHeader), "value": set.Name(i)},
			"append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
		}},
	}
}

func envoyMatcher(set routeset.Set) object {
	byValue := object{}
	for i := range set.Count {
		route := envoyRoute(set, i)
		route["@type"] = "type.googleapis.com/envoy.config.route.v3.Route"
		byValue[set.HeaderValue(i)] = object{"action": object{"name": "route", "typed_config": route}}
	}
	return object{"matcher_tree": object{
		"input": object{"name": "header", "typed_config": object{
			"@type":       "type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput",
			"header_name": strings.ToLower(routeset.HeaderName),
		}},
		"exact_match_map": object{"map": byValue},
	}}
}
