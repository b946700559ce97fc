package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options configure the lookups of a source. The zero value works.
type Options struct {
	// Interval is the longest time between two lookups of a name. Records with a shorter TTL are looked up when it ends, but
	// not within a second. Zero means 30 s.
	Interval time.Duration

	// Resolver looks names up. Nil means the system's resolver.
	Resolver Resolver
}

// withDefaults returns a copy of o with all defaults set. o may be nil.
func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Interval == 0 {
		out.Interval = 30 * time.Second
	}
	if out.Resolver == nil {
		out.Resolver = System{}
	}
	return out
}

// newHost returns the source of a host name's addresses.
func newHost(host string, port uint16, weight int, opts *Options) Source {
	o := opts.withDefaults()
	find := func(ctx context.Context) ([]Endpoint, time.Duration, error) {
		ips, ttl, err := lookupIP(ctx, o.Resolver, host)
		if err != nil {
			return nil, 0, err
		}
		return endpoints(ips, Endpoint{Name: host, Weight: weight}, port), ttl, nil
	}
	return &polled{name: net.JoinHostPort(host, strconv.Itoa(int(port))), lookup: find, interval: o.Interval}
}

// lookupIP returns the addresses of a host in a fixed order, because name servers return them in varying order.
func lookupIP(ctx context.Context, r Resolver, host string) ([]netip.Addr, time.Duration, error) {
	ips, ttl, err := r.LookupIP(ctx, host)
	if err == nil && len(ips) == 0 {
		err = errors.New("no addresses")
	}
	if err != nil {
		return nil, 0, err
	}
	for i, ip := range ips {
		ips[i] = ip.Unmap()
	}
	slices.SortFunc(ips, netip.Addr.Compare)
	return slices.Compact(ips), ttl, nil
}

// endpoints returns an endpoint like e for each address.
func endpoints(ips []netip.Addr, e Endpoint, port uint16) []Endpoint {
	all := make([]Endpoint, len(ips))
	for i, ip := range ips {
		all[i] = e
		all[i].Addr = netip.AddrPortFrom(ip, port).String()
	}
	return all
}

const (
	maxTargets      = 1000 // records of one service
	parallelLookups = 16   // lookups of targets under way at once
)

// SRV returns the source of the SRV records of a name such as _http._tcp.example.com (RFC 2782). Each record names a host, whose
// addresses are endpoints with the record's port, weight and priority. The addresses of a host whose lookup fails stay those of its last
// lookup. A weight of 0 counts as 1. The Name of the endpoints is
// the service's domain, example.com, because the hosts in the records come from the network (RFC 9525, section 6.1). A nil o
// means the defaults.
func SRV(name string, o *Options) Source {
	s := &service{name: name, domain: name, resolver: o.withDefaults().Resolver}
	for strings.HasPrefix(s.domain, "_") && strings.Contains(s.domain, ".") {
		_, s.domain, _ = strings.Cut(s.domain, ".")
	}
	return &polled{name: name, lookup: s.lookup, interval: o.withDefaults().Interval}
}

// service looks up the SRV records of a service.
type service struct {
	name, domain string
	resolver     Resolver
	known        map[string][]netip.Addr // by target: what its last successful lookup has found
}

func (s *service) lookup(ctx context.Context) ([]Endpoint, time.Duration, error) {
	records, ttl, err := s.resolver.LookupSRV(ctx, s.name)
	switch {
	case len(records) == 0 && err != nil:
		return nil, 0, err
	case len(records) == 0:
		return nil, 0, errors.New("no SRV records")
	case len(records) > maxTargets:
		return nil, 0, fmt.Errorf("%d SRV records: %d is the most", len(records), maxTargets)
	case len(records) == 1 && records[0].Target == ".":
		return []Endpoint{}, ttl, err // the service is not available at this domain
	}
	errs := []error{err}
	hosts := s.resolve(ctx, records)
	known := make(map[string][]netip.Addr, len(hosts))
	var list []Endpoint
	for _, r := range records {
		found := hosts[r.Target]
		if _, again := known[r.Target]; !again && found.err != nil { // the addresses of before stay valid, as those of a source whose lookup fails
			errs = append(errs, fmt.Errorf("target %s: %w", r.Target, found.err))
			found.ips = s.known[r.Target]
		}
		known[r.Target] = found.ips
		if found.ttl > 0 && (ttl == 0 || found.ttl < ttl) {
			ttl = found.ttl
		}
		e := Endpoint{Name: s.domain, Weight: max(int(r.Weight), 1), Priority: int(r.Priority)}
		list = append(list, endpoints(found.ips, e, r.Port)...)
	}
	s.known = known
	slices.SortStableFunc(list, func(a, b Endpoint) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Addr, b.Addr), cmp.Compare(b.Weight, a.Weight))
	})
	listed := map[string]bool{}
	list = slices.DeleteFunc(list, func(e Endpoint) bool {
		again := listed[e.Addr]
		listed[e.Addr] = true
		return again
	})
	return list, ttl, errors.Join(errs...)
}

// resolved is the result of looking a host up.
type resolved struct {
	ips []netip.Addr
	ttl time.Duration
	err error
}

// resolve looks up the targets of all records.
func (s *service) resolve(ctx context.Context, records []*net.SRV) map[string]*resolved {
	all := map[string]*resolved{}
	places := make(chan struct{}, parallelLookups)
	var lookups sync.WaitGroup
	for _, r := range records {
		if all[r.Target] != nil {
			continue
		}
		one := &resolved{}
		all[r.Target] = one
		places <- struct{}{}
		lookups.Go(func() {
			one.ips, one.ttl, one.err = lookupIP(ctx, s.resolver, r.Target)
			<-places
		})
	}
	lookups.Wait()
	return all
}
