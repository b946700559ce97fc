package httprule

import (
	"bytes"
	"math"
	"net/netip"
)

// ValidHost reports whether b is a DNS name, an IPv4 address, or an IPv6 address in brackets. A port from 0 to 65535 may
// follow. If needPort is set, a port must follow.
func ValidHost(b []byte, needPort bool) bool {
	end := Past(b, 0, HostChar)
	if len(b) > 0 && b[0] == '[' {
		closing := bytes.IndexByte(b, ']')
		if closing < 0 {
			return false
		}
		addr, err := netip.ParseAddr(string(b[1:closing]))
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return false
		}
		end = closing + 1
	}
	if end == 0 {
		return false
	}
	if end == len(b) {
		return !needPort
	}
	digits := b[end+1:]
	if b[end] != ':' || len(digits) == 0 || len(digits) > 5 {
		return false
	}
	port, ok := ParseLength(digits)
	return ok && port <= 65535
}

// ParseLength parses a Content-Length, which must consist of digits (RFC 9110, section 8.6). That section lets a recipient
// accept a list of identical numbers. ParseLength refuses such a list.
func ParseLength(value []byte) (int64, bool) {
	if len(value) == 0 {
		return 0, false
	}
	n := int64(0)
	for _, c := range value {
		d := int64(c) - '0'
		if d < 0 || d > 9 || n > (math.MaxInt64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}
