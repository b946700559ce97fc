package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/ferry/internal/balance"
	"example.com/ferry/loop"
)

const (
	lookupTimeout = 2 * time.Second // limit of one lookup, and so of New
	lookupRetry   = time.Second     // delay after a failed lookup
)

// lookup resolves a host name.
type lookup func(ctx context.Context, host string) ([]netip.Addr, error)

// systemLookup uses the system's resolver.
func systemLookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// target is the parsed form of one EndpointConfig: a host name, or an address.
type target struct {
	host   string // host name to resolve; empty for an IP address or a socket path
	port   uint16
	weight int

	// Changed only with Cluster.mu held.
	addrs   []loop.Addr
	failing bool // the last lookup failed
}

// parseAddress parses EndpointConfig.Address. It resolves no name.
func parseAddress(s string) (*target, error) {
	if strings.HasPrefix(s, "unix:") {
		at, err := loop.ParseAddr(s)
		return &target{addrs: []loop.Addr{at}}, err
	}
	host, digits, err := net.SplitHostPort(s)
	if err != nil {
		return nil, fmt.Errorf("%q: write HOST:PORT, or unix: and a path", s)
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || port == 0 {
		return nil, fmt.Errorf("%q: port %q is not a number from 1 to 65535", s, digits)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return &target{addrs: []loop.Addr{{TCP: netip.AddrPortFrom(ip, uint16(port))}}}, nil
	}
	if !validName(host) {
		return nil, fmt.Errorf("%q: %q is neither an IP address nor a name", s, host)
	}
	return &target{host: host, port: uint16(port)}, nil
}

// validName reports whether s is a host name. A name whose last label consists of digits is refused, because it is
// probably a mistyped IP address (RFC 1123, section 2.1). Underscores are allowed, because such names are in use.
func validName(s string) bool {
	s = strings.TrimSuffix(s, ".")
	labels := strings.Split(s, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return len(s) <= 253 && strings.Trim(labels[len(labels)-1], "0123456789") != ""
}

// resolvePeriodically resolves a name once per ResolveInterval until ctx ends.
func (c *Cluster) resolvePeriodically(ctx context.Context, s *target) {
	for {
		pause := c.cfg.ResolveInterval
		if s.failing {
			pause = min(pause, lookupRetry)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		c.resolve(ctx, s)
		c.retire(c.update(nil))
	}
}

// resolve resolves a name once. If the lookup fails, the addresses stay unchanged.
func (c *Cluster) resolve(ctx context.Context, s *target) {
	within, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := c.lookup(within, s.host)
	if err == nil && len(found) == 0 {
		err = errors.New("no addresses")
	}
	if ctx.Err() != nil {
		return // the lookup was canceled
	}
	if err != nil {
		c.failed.lookups.Add(1)
		if !s.failing {
			c.log.Warn("upstream: cannot resolve a name: its endpoints stay as they were", "cluster", c.cfg.Name, "host", s.host, "err", err)
		}
		s.failing = true
		return
	}
	if s.failing {
		c.log.Info("upstream: a name is resolved again", "cluster", c.cfg.Name, "host", s.host)
	}
	s.failing = false
	addrs := make([]loop.Addr, len(found))
	for i, ip := range found {
		addrs[i].TCP = netip.AddrPortFrom(ip.Unmap(), s.port)
	}
	slices.SortFunc(addrs, func(a, b loop.Addr) int { return a.TCP.Compare(b.TCP) }) // name servers return the addresses in varying order
	c.mu.Lock()
	s.addrs = slices.Compact(addrs)
	c.mu.Unlock()
}

// update creates an endpoint for each new address of the targets, and returns the endpoints whose address is gone. An
// address that stays keeps its Endpoint; with another weight it gets a new one, which goes on counting. earlier are the
// endpoints of the cluster that this one replaces.
func (c *Cluster) update(earlier map[loop.Addr]*Endpoint) (gone []*balance.Endpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	before := c.byAddress()
	var all []*balance.Endpoint
	listed := map[loop.Addr]bool{}
	for _, s := range c.targets {
		for _, at := range s.addrs {
			if listed[at] {
				continue // another name has the same address
			}
			listed[at] = true
			e := before[at]
			if e == nil || e.balanced.Weight() != s.weight {
				counted := e
				if counted == nil {
					counted = earlier[at]
				}
				e = &Endpoint{cluster: c, addr: at, pools: make([]loopPools, len(c.group.Loops()))}
				e.balanced.Init(c.set, e, s.weight, 0, counted.balance())
				if c.startCheck != nil {
					c.startCheck(e)
				}
			}
			e.host.Store(&s.host) // the name of this address may have changed
			all = append(all, &e.balanced)
		}
	}
	return c.set.Replace(all)
}
