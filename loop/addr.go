package loop

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Addr is an address to listen on or connect to: a numeric TCP address, or the path of a Unix domain socket. It holds no host
// name, because a loop cannot wait for name resolution.
type Addr struct {
	TCP  netip.AddrPort
	Unix string // path of the socket; if set, TCP is ignored
}

// ParseAddr parses "127.0.0.1:80", "[::1]:80", or "unix:" followed by a path.
func ParseAddr(s string) (Addr, error) {
	if path, ok := strings.CutPrefix(s, "unix:"); ok {
		if path == "" {
			return Addr{}, fmt.Errorf("loop: address %q has no path: write unix:/run/name.sock", s)
		}
		return Addr{Unix: path}, nil
	}
	tcp, err := netip.ParseAddrPort(s)
	if err != nil {
		return Addr{}, fmt.Errorf("loop: address %q is neither IP:PORT nor unix:PATH: %w", s, err)
	}
	return Addr{TCP: tcp}, nil
}

// ResolveAddr returns the address of HOST:PORT. HOST may be a name: of its addresses it takes one of IPv4 first, as net.Listen does.
func ResolveAddr(ctx context.Context, s string) (at Addr, err error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return at, fmt.Errorf("loop: address %q: %w", s, err)
	}
	if host != "" {
		if _, err := netip.ParseAddr(host); err != nil {
			ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
			if err != nil {
				return at, fmt.Errorf("loop: address %q: %w", s, err)
			}
			slices.SortStableFunc(ips, func(a, b netip.Addr) int { return a.Unmap().BitLen() - b.Unmap().BitLen() })
			s = net.JoinHostPort(ips[0].Unmap().String(), port)
		}
	}
	return ParseAddr(s)
}

// String returns a in the form that ParseAddr accepts.
func (a Addr) String() string {
	if a.Unix != "" {
		return "unix:" + a.Unix
	}
	return a.TCP.String()
}

// netAddress returns the network and the address in the form of package net.
func (a Addr) netAddress() (network, address string) {
	if a.Unix != "" {
		return "unix", a.Unix
	}
	return "tcp", a.TCP.String()
}
