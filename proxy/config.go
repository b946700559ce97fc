package proxy

import (
	"fmt"
	"runtime"
	"slices"

	"example.com/ferry/internal/certs"
	"example.com/ferry/loop"
	"example.com/ferry/proxy/bolt"
	"example.com/ferry/proxy/http1"
	"example.com/ferry/proxy/limit"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// Config configures a proxy.
type Config struct {
	// Loops is the number of event loops. Zero means one for each core that Go may use.
	Loops int `yaml:"loops,omitempty" schema:"min=0"`

	// ReusePort allows other processes of the same user to listen on the same ports, if they set the same option.
	ReusePort bool `yaml:"reuse_port,omitempty"`

	// Goroutines drives connections by goroutines instead of epoll, which takes more memory. On systems without
	// epoll, goroutines are always used.
	Goroutines bool `yaml:"goroutines,omitempty"`

	// MaxConnections is the largest number of connected clients; more clients wait in the kernel. Zero means seven
	// eighths of the process's limit of descriptors (RLIMIT_NOFILE). The rest is for connections to servers,
	// listeners and files.
	MaxConnections int `yaml:"max_connections,omitempty" schema:"min=0"`

	// Listeners are the addresses that clients connect to.
	Listeners []Listener `yaml:"listeners" schema:"required"`

	// Clusters are the groups of servers that requests are forwarded to.
	Clusters []upstream.Config `yaml:"clusters,omitempty"`

	// Certificates is the store that reads and watches certificate files. Nil means one of the proxy's own. It is not a part
	// of the file, and Reload ignores it.
	Certificates *certs.Store `yaml:"-"`

	// AccessLog configures the access log. Without a file, no access log is written.
	AccessLog traffic.LogConfig `yaml:"access_log,omitempty"`
}

// Listener configures one address and the routes of its requests. Exactly one of Cluster, Routes and VirtualHosts is
// set.
type Listener struct {
	// Name is used in logs and metrics. Empty means the address.
	Name string `yaml:"name,omitempty"`

	// Address is HOST:PORT with a numeric host, or unix: followed by a path.
	Address string `yaml:"address" schema:"required"`

	// Protocol is the protocol of the clients. It is also the protocol of clusters that do not set their own.
	Protocol Protocol `yaml:"protocol" schema:"required"`

	// Cluster is the name of the cluster that all requests are forwarded to.
	Cluster string `yaml:"cluster,omitempty"`

	// Routes are for all hosts. They are tried in this order, and the first that matches is used.
	Routes []route.Rule `yaml:"routes,omitempty"`

	// VirtualHosts have routes for certain hosts.
	VirtualHosts []route.VirtualHost `yaml:"virtual_hosts,omitempty"`

	// Limits bound what clients may use. Without it, the defaults hold, which are the same on every address.
	Limits limit.Config `yaml:"limits,omitempty"`

	// HTTP1 applies to listeners with protocol http1.
	HTTP1 http1.Config `yaml:"http1,omitempty"`

	// Bolt applies to listeners with protocol bolt.
	Bolt bolt.Config `yaml:"bolt,omitempty"`
}

// Protocol is the protocol of a listener.
type Protocol = upstream.Protocol

// The values of Protocol.
const (
	HTTP1 = upstream.HTTP1
	Bolt  = upstream.Bolt
)

// name returns the listener's name.
func (l *Listener) name() string {
	if l.Name != "" {
		return l.Name
	}
	return l.Address
}

// table returns the listener's routes as a configuration of package route.
func (l *Listener) table() *route.Config {
	switch {
	case l.Cluster != "":
		return &route.Config{VirtualHosts: []route.VirtualHost{{Hosts: []string{"*"}, Routes: []route.Rule{{Name: l.Cluster, Cluster: l.Cluster}}}}}
	case len(l.Routes) > 0:
		rules := slices.Clone(l.Routes)
		for i := range rules {
			if rules[i].Name == "" {
				rules[i].Name = fmt.Sprintf("routes[%d]", i)
			}
		}
		return &route.Config{VirtualHosts: []route.VirtualHost{{Hosts: []string{"*"}, Routes: rules}}}
	}
	return &route.Config{VirtualHosts: l.VirtualHosts}
}

// loops returns the configuration of the event loops.
func (c *Config) loops() *loop.Config {
	out := &loop.Config{Loops: c.Loops, ReusePort: c.ReusePort, Portable: c.Goroutines}
	if c.MaxConnections > 0 { // otherwise loop.Config has the default
		if out.Loops == 0 {
			out.Loops = runtime.GOMAXPROCS(0)
		}
		out.MaxConns = (c.MaxConnections + out.Loops - 1) / out.Loops
	}
	return out
}
