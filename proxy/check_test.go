package proxy

import (
	"testing"

	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/http1"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	web := upstream.Config{Name: "web", Endpoints: []upstream.EndpointConfig{{Address: "127.0.0.1:1"}}}
	web2 := upstream.Config{Name: "web2", Endpoints: web.Endpoints}
	public := Listener{Name: "public", Address: "127.0.0.1:0", Protocol: HTTP1, Cluster: "web"}
	with := func(change func(*Listener)) []Listener {
		l := public
		change(&l)
		return []Listener{l}
	}
	tests := []struct {
		name string
		cfg  Config
		want string
	}{
		{"right", Config{Listeners: []Listener{public}, Clusters: []upstream.Config{web}}, ""},
		{"nothing", Config{}, "proxy: listeners: none: a proxy needs an address clients can connect to"},
		{"address", Config{Listeners: with(func(l *Listener) { l.Address = "localhost:80" }), Clusters: []upstream.Config{web}}, `proxy: listeners[0].address: "localhost:80": write a number and a port, as 127.0.0.1:8080, or 0.0.0.0:8080 for all of the machine's addresses, or unix: and a path`},
		{"protocol", Config{Listeners: with(func(l *Listener) { l.Protocol = "http3" }), Clusters: []upstream.Config{web}}, `proxy: listeners[0].protocol: "http3": write http1, http2, http or bolt`},
		{"no target", Config{Listeners: with(func(l *Listener) { l.Cluster = "" })}, "proxy: listeners[0]: 0 of cluster, routes and virtual_hosts: a listener has one of them"},
		{"two targets", Config{Listeners: with(func(l *Listener) { l.Routes = []route.Rule{{Cluster: "web"}} }), Clusters: []upstream.Config{web}}, "proxy: listeners[0]: 2 of cluster, routes and virtual_hosts: a listener has one of them"},
		{"unknown cluster", Config{Listeners: []Listener{public}, Clusters: []upstream.Config{web2}}, `proxy: listeners[0].cluster: there is no cluster "web": add it to clusters`},
		{"unknown cluster of a route", Config{Listeners: with(func(l *Listener) {
			l.Cluster, l.Routes = "", []route.Rule{{Cluster: "web"}, {Clusters: []route.Weighted{{Cluster: "web", Weight: 1}, {Cluster: "wep", Weight: 1}}}}
		}), Clusters: []upstream.Config{web}}, `proxy: listeners[0].routes[1].clusters[1].cluster: there is no cluster "wep": add it to clusters`},
		{"unknown cluster of a host", Config{Listeners: with(func(l *Listener) {
			l.Cluster, l.VirtualHosts = "", []route.VirtualHost{{Hosts: []string{"*"}, Routes: []route.Rule{{Cluster: "wep"}}}}
		}), Clusters: []upstream.Config{web}}, `proxy: listeners[0].virtual_hosts[0].routes[0].cluster: there is no cluster "wep": add it to clusters`},
		{"same cluster", Config{Listeners: []Listener{public}, Clusters: []upstream.Config{web, web}}, `proxy: clusters[1].name: "web" is taken by a cluster above`},
		{"same name", Config{Listeners: []Listener{public, public}, Clusters: []upstream.Config{web}}, `proxy: listeners[1].name: "public" is the name of listeners[0] already`},
		{"same address", Config{Listeners: []Listener{{Name: "a", Address: "127.0.0.1:81", Protocol: HTTP1, Cluster: "web"}, {Name: "b", Address: "127.0.0.1:81", Protocol: HTTP1, Cluster: "web"}}, Clusters: []upstream.Config{web}}, `proxy: listeners[1].address: "127.0.0.1:81" stands in listeners[0] already`},
		{"two protocols", Config{Listeners: []Listener{public, {Address: "127.0.0.1:0", Protocol: Bolt, Cluster: "web"}}, Clusters: []upstream.Config{web}}, `proxy: listeners[1].cluster: another listener speaks http1 to cluster "web", this one bolt: make it two clusters`},
		{"protocol of a cluster", Config{Listeners: []Listener{public}, Clusters: []upstream.Config{{Name: "web", Protocol: upstream.HTTP1, Endpoints: web.Endpoints}}}, ""},
		{"unknown protocol of a cluster", Config{Listeners: []Listener{public}, Clusters: []upstream.Config{web, {Name: "c", Protocol: "grpc", Endpoints: web.Endpoints}}}, `proxy: clusters[1].protocol: "grpc": write http1, http2, auto or bolt, or leave it out: bolt behind bolt listeners, else http1`},
		{"protocols without a common meaning", Config{Listeners: []Listener{public}, Clusters: []upstream.Config{{Name: "web", Protocol: upstream.Bolt, Endpoints: web.Endpoints}}}, `proxy: listeners[0].cluster: cluster "web" speaks bolt: a request of http1 has no meaning there`},
		{"rule of routes", Config{Listeners: with(func(l *Listener) {
			l.Cluster, l.Routes = "", []route.Rule{{Cluster: "web"}, {Match: route.Match{Path: "a"}, Cluster: "web"}}
		}), Clusters: []upstream.Config{web}}, `proxy: listeners[0].routes[1].match.path: "a" does not begin with a slash: every path does`},
		{"redirect of Bolt", Config{Listeners: []Listener{{Name: "rpc", Address: "127.0.0.1:0", Protocol: Bolt, Routes: []route.Rule{{Name: "a", Redirect: &route.Redirect{Host: "b"}}}}}}, `proxy: listeners[0].routes[0].redirect: Bolt has no redirects: forward to a cluster`},
		{"rule of a host", Config{Listeners: with(func(l *Listener) {
			l.Cluster, l.VirtualHosts = "", []route.VirtualHost{{Hosts: []string{"*"}, Routes: []route.Rule{{}}}}
		})}, `proxy: listeners[0].virtual_hosts[0].routes[0]: 0 of cluster, clusters, redirect and respond are given: give one`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if err := tt.cfg.Check(nil); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
	t.Run("parts", func(t *testing.T) {
		t.Parallel()
		for name, cfg := range map[string]Config{
			"http1":      {Listeners: with(func(l *Listener) { l.HTTP1 = http1.Config{HTTPConfig: exchange.HTTPConfig{Via: "a b\n"}} }), Clusters: []upstream.Config{web}},
			"cluster":    {Listeners: []Listener{public}, Clusters: []upstream.Config{{Name: "web"}}},
			"access log": {Listeners: []Listener{public}, Clusters: []upstream.Config{web}, AccessLog: traffic.LogConfig{File: "-", Sample: 2}},
		} {
			if cfg.Check(nil) == nil {
				t.Errorf("%s: accepted", name)
			}
		}
	})
}
