package loop

import (
	"fmt"
	"net/netip"
	"strings"
)

// Addr is an address to listen on or connect to: a numeric TCP address, or the path of a Unix domain socket. It holds no host
// name, as a loop cannot wait for name resolution.
type Addr struct {
	TCP  netip.AddrPort
	Unix string // a path; if set, TCP is ignored
}

// ParseAddr reads "127.0.0.1:80", "[::1]:80", or "unix:" and a path.
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

// String returns the form that ParseAddr reads.
func (a Addr) String() string {
	if a.Unix != "" {
		return "unix:" + a.Unix
	}
	return a.TCP.String()
}

// netAddress returns the network and address for package net.
func (a Addr) netAddress() (network, address string) {
	if a.Unix != "" {
		return "unix", a.Unix
	}
	return "tcp", a.TCP.String()
}
