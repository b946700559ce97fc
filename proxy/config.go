package proxy

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"runtime"
	"slices"

	"example.com/ferry/internal/bytesize"
	"example.com/ferry/internal/certs"
	"example.com/ferry/loop"
	"example.com/ferry/proxy/bolt"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/http1"
	"example.com/ferry/proxy/http2"
	"example.com/ferry/proxy/limit"
	"example.com/ferry/proxy/overload"
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
	// eighths of the process's limit of descriptors (RLIMIT_NOFILE), but no more than fit into half of the memory budget
	// with 8 KiB each. The rest is for connections to servers, listeners, files and requests.
	MaxConnections int `yaml:"max_connections,omitempty" schema:"min=0"`

	// Overload configures what happens when memory becomes short or the event loops late.
	Overload overload.Config `yaml:"overload,omitempty"`

	// Listeners are the addresses that clients connect to.
	Listeners []Listener `yaml:"listeners" schema:"required"`

	// Clusters are the groups of servers that requests are forwarded to.
	Clusters []upstream.Config `yaml:"clusters,omitempty"`

	// Certificates is the store that reads and watches certificate files. Nil means one of the proxy's own. It is not a part
	// of the file, and Reload ignores it.
	Certificates *certs.Store `yaml:"-"`

	// Sockets has sockets that listen already: see loop.Sockets. Nil means none. It is not a part of the file, and Reload ignores it.
	Sockets loop.Sockets `yaml:"-"`

	// State is that of the process before, for endpoints that stay. It is not a part of the file, and Reload ignores it.
	State State `yaml:"-"`

	// NodeCertificate returns tls.Config.GetCertificate for listeners whose TLS names no certificates. Nil means that each
	// has to name one. It is not a part of the file, and Reload ignores it.
	NodeCertificate func() (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) `yaml:"-"`

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

	// Protocol is the protocol of the clients: http1, http2, http or bolt. With http, the protocol agreed on in TLS
	// (ALPN) decides, or the client's first bytes. Clusters that do not set a protocol speak bolt if the clients do,
	// otherwise http1.
	Protocol Protocol `yaml:"protocol" schema:"required"`

	// TLS makes clients speak TLS. Absent means cleartext.
	TLS *ListenerTLS `yaml:"tls,omitempty"`

	// Cluster is the name of the cluster that all requests are forwarded to.
	Cluster string `yaml:"cluster,omitempty"`

	// Routes are for all hosts. They are tried in this order, and the first that matches is used.
	Routes []route.Rule `yaml:"routes,omitempty"`

	// RoutesFile is a file of further routes, or of further virtual hosts, as JSON: one object a line, with the fields of Routes or of VirtualHosts. They
	// follow those of this file. A change of one line reads one line. The path is relative to the folder of the file that has it. Package
	// node/config reads it, and adds what it has to Routes or VirtualHosts.
	RoutesFile string `yaml:"routes_file,omitempty"`

	// VirtualHosts have routes for certain hosts.
	VirtualHosts []route.VirtualHost `yaml:"virtual_hosts,omitempty"`

	// Path is as-is to forward the paths of requests as clients have sent them, on all routes of the listener: see Path of a route.
	Path route.PathMode `yaml:"path,omitempty"`

	// ReasonHeader adds X-Ferry-Reason to the error responses that the proxy makes itself. It says why there is no response of a server, as
	// reason of the access log does, and is for operators: it tells clients what is behind the listener.
	ReasonHeader bool `yaml:"reason_header,omitempty"`

	// Compression compresses responses, on all routes of the listener that do not have their own. Absent compresses none. It needs a
	// protocol of HTTP.
	Compression *route.Compression `yaml:"compression,omitempty"`

	// ErrorPages replace the bodies of error responses. They need a protocol of HTTP.
	ErrorPages []exchange.ErrorPage `yaml:"error_pages,omitempty"`

	// Limits bound what clients may use. Without it, the defaults hold, which are the same on every address.
	Limits limit.Config `yaml:"limits,omitempty"`

	// HTTP1 applies to listeners with protocol http1 or http.
	HTTP1 http1.Config `yaml:"http1,omitempty"`

	// HTTP2 applies to listeners with protocol http2 or http. With http, each timeout, upgrades, forwarded_for, via and
	// max_requests have the values of http1 unless they are set here.
	HTTP2 http2.Config `yaml:"http2,omitempty"`

	// Bolt applies to listeners with protocol bolt.
	Bolt bolt.Config `yaml:"bolt,omitempty"`
}

// Protocol is the protocol of a listener's clients.
type Protocol string

// The values of Protocol.
const (
	HTTP1 Protocol = "http1"
	HTTP2 Protocol = "http2" // from the first byte, or agreed on in TLS
	HTTP  Protocol = "http"  // HTTP/1.1 or HTTP/2, as the client chooses
	Bolt  Protocol = "bolt"
)

// name returns the listener's name.
func (l *Listener) name() string {
	if l.Name != "" {
		return l.Name
	}
	return l.Address
}

// clusterProtocol returns the protocol of the clusters that l names and that do not set their own.
func (l *Listener) clusterProtocol() upstream.Protocol {
	if l.Protocol == Bolt {
		return upstream.Bolt
	}
	return upstream.HTTP1
}

// http2 returns the configuration of clients that speak HTTP/2.
func (l *Listener) http2() *http2.Config {
	c := l.HTTP2
	if l.Protocol != HTTP {
		return &c
	}
	c.HTTPConfig = c.Or(&l.HTTP1.HTTPConfig)
	c.MaxBody = cmp.Or(c.MaxBody, bytesize.Size(l.HTTP1.Limits.MaxBody))
	return &c
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

// loops returns the configuration of the event loops, which accept maxConns connections together.
func (c *Config) loops(maxConns int) *loop.Config {
	out := &loop.Config{Loops: c.Loops, ReusePort: c.ReusePort, Portable: c.Goroutines, Sockets: c.Sockets}
	if out.Loops == 0 {
		out.Loops = runtime.GOMAXPROCS(0)
	}
	out.MaxConns = (maxConns + out.Loops - 1) / out.Loops
	return out
}

// ErrorPageFiles returns the files of error_pages of all listeners. Their pages are those of the time when the configuration was read.
func (c *Config) ErrorPageFiles() (files []string) {
	for i := range c.Listeners {
		for _, page := range c.Listeners[i].ErrorPages {
			files = append(files, page.File)
		}
	}
	return files
}
