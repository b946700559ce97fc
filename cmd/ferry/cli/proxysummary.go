package cli

import (
	"fmt"
	"slices"
	"strings"

	"example.com/ferry/proxy"
	"example.com/ferry/proxy/route"
)

// forward is what a listener of the proxy does, for people.
type forward struct{ From, To string }

// forwarding says of each listener, bound at the address of the same index, which servers it forwards to.
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

// clusters are the names of those that a listener's routes name.
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

// request is a command that asks the first listener of HTTP for something; empty if there is none.
func request(cfg *proxy.Config, forwards []forward) string {
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

// namedHost is a host that hosts have routes for, where not any will do.
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
