package discovery

import (
	"context"
	"net"
	"net/netip"
	"time"
)

// Resolver looks names up. It is an interface because tests of clusters and clients need no name server. Each ttl is the
// shortest of the records'; 0 means unknown. Several goroutines may call the methods at the same time.
type Resolver interface {
	// LookupIP returns the addresses of a host.
	LookupIP(ctx context.Context, host string) (ips []netip.Addr, ttl time.Duration, err error)

	// LookupSRV returns the SRV records of a name. With an error, it returns those that are valid.
	LookupSRV(ctx context.Context, name string) (records []*net.SRV, ttl time.Duration, err error)
}

// System is the system's resolver: /etc/hosts, /etc/resolv.conf and so on. Where the C library resolves names, the TTL is
// unknown.
type System struct {
	// Dial opens a connection to a name server. Nil means net.Dialer. With a Dial, the C library is not used.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

var _ Resolver = System{}

// LookupIP implements Resolver.
func (s System) LookupIP(ctx context.Context, host string) ([]netip.Addr, time.Duration, error) {
	r, ttl := s.resolver()
	ips, err := r.LookupNetIP(ctx, "ip", host)
	return ips, ttl.shortest(), err
}

// LookupSRV implements Resolver.
func (s System) LookupSRV(ctx context.Context, name string) ([]*net.SRV, time.Duration, error) {
	r, ttl := s.resolver()
	_, records, err := r.LookupSRV(ctx, "", "", name)
	return records, ttl.shortest(), err
}

// resolver returns a Resolver for one lookup, and what observes the TTLs of the lookup.
func (s System) resolver() (*net.Resolver, *ttlObserver) {
	o := &ttlObserver{open: s.Dial}
	if o.open == nil {
		o.open = new(net.Dialer).DialContext
	}
	return &net.Resolver{PreferGo: s.Dial != nil, Dial: o.dial}, o
}
