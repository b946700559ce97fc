package config

import (
	"fmt"
	"strings"

	"example.com/ferry/internal/topic"
	"example.com/ferry/transport"
)

// Serve offers a service of an ordinary server of gRPC or HTTP to the clients of the node, which call it as if a client of the node served it.
type Serve struct {
	// Service is the full name of the service: greeter.Greeter.
	Service string `yaml:"service" schema:"required"`

	// To is the server: grpc://HOST:PORT or grpcs://HOST:PORT for gRPC, http://HOST:PORT or https://HOST:PORT for POST /Service/Method with JSON,
	// which has no streams.
	To string `yaml:"to" schema:"required"`

	// CAFile is the PEM file of CAs that the certificate of a grpcs or https server is verified by. Empty means those of the system.
	CAFile string `yaml:"ca_file,omitempty"`

	// Insecure permits an unencrypted server beyond this machine.
	Insecure bool `yaml:"insecure,omitempty"`
}

// servers are the protocols of Serve.To.
var servers = []transport.Descriptor{
	{Scheme: "grpc"},
	{Scheme: "grpcs", Encrypted: true},
	{Scheme: "http"},
	{Scheme: "https", Encrypted: true},
}

// Server returns what To means: whether the server speaks gRPC or HTTP, the scheme of the transport, and the address.
func (s Serve) Server() (grpc bool, carrier, addr string) {
	scheme, addr, _ := strings.Cut(s.To, "://")
	carrier = transport.TCP.Scheme
	if strings.HasSuffix(scheme, "s") {
		carrier = transport.TLS.Scheme
	}
	return strings.HasPrefix(scheme, "grpc"), carrier, addr
}

// checkServe checks the services of other servers.
func (c *Config) checkServe(errs *configErrors) {
	names := map[string]int{}
	for i, s := range c.Serve {
		at := fmt.Sprintf("serve[%d].", i)
		if first, taken := names[s.Service]; taken {
			errs.add(at+"service", "%q is offered by serve[%d] already", s.Service, first)
		} else if err := topic.CheckService(s.Service); err != nil {
			errs.add(at+"service", "%v", err)
		} else {
			names[s.Service] = i
		}
		dialled{name: "to", address: s.To, insecure: s.Insecure, what: "the server", caFile: s.CAFile}.check(at, servers, errs)
	}
	if len(c.Serve) > 0 && len(c.Listeners) == 0 {
		errs.add("serve", "this node has no listeners, so it has no clients that could call")
	}
}
