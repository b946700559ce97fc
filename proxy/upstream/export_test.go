package upstream

import (
	"context"
	"log/slog"
	"net/netip"

	"example.com/ferry/loop"
)

// NewAsking is New with the lookup function ask.
func NewAsking(c *Config, group *loop.Group, log *slog.Logger, ask func(ctx context.Context, host string) ([]netip.Addr, error)) (*Cluster, error) {
	return newCluster(c, group, log, Shared{}, ask)
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
