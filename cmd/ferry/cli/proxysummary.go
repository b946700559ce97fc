package cli

import (
	"fmt"
	"slices"
	"strings"

	"example.com/ferry/proxy"
	"example.com/ferry/proxy/route"
)

// forward is a listener of the proxy and its servers, as shown to the user.
type forward struct{ From, To string }

// forwarding returns the servers of each listener; addresses are the bound addresses, by the same index.
func forwarding(cfg *proxy.Config, addresses []string) []forward {
	all := make([]forward, len(cfg.Listeners))
	for i := range cfg.Listeners {
		var servers []string
		for _, name := range clusters(&cfg.Listeners[i]) {
			for _, c := range cfg.Clusters {
				if c.Name != name {
					continue
				}
				for _, e := range c.Endpoints {
					if !slices.Contains(servers, e.Address) {
						servers = append(servers, e.Address)
					}
				}
			}
		}
		if more := len(servers) - 4; more > 0 {
			servers = append(servers[:4], fmt.Sprintf("%d more", more))
		}
		all[i] = forward{addresses[i], strings.Join(servers, ", ")}
	}
	return all
}

// clusters returns the names of the clusters in a listener's routes.
func clusters(l *proxy.Listener) []string {
	rules := slices.Clone(l.Routes)
	for _, h := range l.VirtualHosts {
		rules = append(rules, h.Routes...)
	}
	names := []string{l.Cluster}
	for _, r := range rules {
		names = append(names, r.Cluster)
		for _, c := range r.Clusters {
			names = append(names, c.Cluster)
		}
	}
	return names
}

// sampleRequest returns a command that sends a request to the first listener of HTTP; empty if there is none.
func sampleRequest(cfg *proxy.Config, forwards []forward) string {
	for i, f := range forwards {
		address, ok := strings.CutPrefix(f.From, string(proxy.HTTP1)+"://")
		if !ok {
			continue
		}
		host := ""
		if name := namedHost(cfg.Listeners[i].VirtualHosts); name != "" {
			host = "-H 'Host: " + name + "' "
		}
		if path, ok := strings.CutPrefix(address, "unix:"); ok {
			return "curl -i " + host + "--unix-socket " + shellWord(path) + " http://localhost/"
		}
		return "curl -i " + host + "http://" + nearby.Replace(address) + "/"
	}
	return ""
}

// namedHost returns a host that has routes; empty if any host does.
func namedHost(hosts []route.VirtualHost) string {
	name := ""
	for _, h := range hosts {
		for _, each := range h.Hosts {
			if each == "*" {
				return ""
			}
			if name == "" {
				name = strings.Replace(each, "*", "www", 1)
			}
		}
	}
	return name
}
