package upstream

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"example.com/ferry/internal/discovery"
	"example.com/ferry/loop"
)

// Lookup finds the addresses of a host. It is a discovery.Resolver without TTLs and SRV records.
type Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

// LookupIP implements discovery.Resolver.
func (ask Lookup) LookupIP(ctx context.Context, host string) ([]netip.Addr, time.Duration, error) {
	ips, err := ask(ctx, host)
	return ips, 0, err
}

// LookupSRV implements discovery.Resolver.
func (ask Lookup) LookupSRV(context.Context, string) ([]*net.SRV, time.Duration, error) {
	return nil, 0, errors.New("no SRV records")
}

// NewAsking is New with the lookup function ask.
func NewAsking(c *Config, group *loop.Group, log *slog.Logger, ask Lookup) (*Cluster, error) {
	return NewResolving(c, group, log, ask)
}

// NewResolving is New with another resolver.
func NewResolving(c *Config, group *loop.Group, log *slog.Logger, names discovery.Resolver) (*Cluster, error) {
	return newCluster(c, group, log, Shared{}, names)
}

// ProbeWith replaces the probe of c.
func (c *Cluster) ProbeWith(p func(ctx context.Context, at loop.Addr) error) {
	c.probe = func(ctx context.Context, to probed) error { return p(ctx, to.addr) }
}

// Probe checks the health of an address once.
func Probe(ctx context.Context, h *Health, at loop.Addr) error {
	c := Config{Health: h}
	return newProbe(c.withDefaults().Health)(ctx, probed{addr: at, host: authority(at), http: HTTP1})
}

// ProbeAll checks the health of each endpoint of c once.
func (c *Cluster) ProbeAll(ctx context.Context) (errs []error) {
	for _, e := range c.set.All() {
		errs = append(errs, c.probe(ctx, endpointOf(e).probed()))
	}
	return errs
}

// ServingStatus reads a HealthCheckResponse.
func ServingStatus(message []byte) (uint64, error) { return servingStatus(message) }
