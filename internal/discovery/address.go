package discovery

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Address returns the source of one address: HOST:PORT, or unix: and a path. A host name is looked up in DNS and stands for one
// endpoint for each of its addresses. Each endpoint has the weight; 0 means 1. A nil o means the defaults.
func Address(address string, weight int, o *Options) (Source, error) {
	weight = max(weight, 1)
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		if path == "" {
			return nil, fmt.Errorf("%q has no path: write unix:/run/name.sock", address)
		}
		return Static(Endpoint{Addr: address, Weight: weight}), nil
	}
	host, digits, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%q: write HOST:PORT, or unix: and a path", address)
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || port == 0 {
		return nil, fmt.Errorf("%q: port %q is not a number from 1 to 65535", address, digits)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return Static(Endpoint{Addr: netip.AddrPortFrom(ip, uint16(port)).String(), Weight: weight}), nil
	}
	if !ValidName(host) {
		return nil, fmt.Errorf("%q: %q is neither an IP address nor a name", address, host)
	}
	return newHost(host, uint16(port), weight, o), nil
}

// ValidName reports whether s is a host name. A name whose last label consists of digits is refused, because it is
// probably a mistyped IP address (RFC 1123, section 2.1). Underscores are allowed, because such names are in use.
func ValidName(s string) bool {
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

// static is a source whose endpoints never change.
type static struct {
	list     []Endpoint
	returned bool // Next has returned the list
}

// Static returns a source of these endpoints. The list belongs to the source from now on.
func Static(list ...Endpoint) Source { return &static{list: list} }

// Next implements Source.
func (s *static) Next(ctx context.Context) ([]Endpoint, error) {
	if !s.returned {
		s.returned = true
		return s.list, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// String implements Source.
func (s *static) String() string {
	all := make([]string, len(s.list))
	for i, e := range s.list {
		all[i] = e.Addr
	}
	return strings.Join(all, ",")
}
