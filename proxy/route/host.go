package route

import (
	"bytes"
	"strings"

	"example.com/ferry/protocol/http1"
)

// maxHost is the length in bytes of the longest host that is looked up. DNS names have at most 253 bytes (RFC 1035,
// section 2.3.4).
const maxHost = 255

// virtualHost is a compiled VirtualHost.
type virtualHost struct {
	hosts  []string // names of the configuration
	at     int      // index in Config.VirtualHosts
	rules  []Rule   // what routes were compiled from
	routes []*Route
	index  index

	payloads bool           // a route has a condition on the payload
	clusters []namedCluster // that routes forward to, in their order; each is another one than that before it
}

// namedCluster is a cluster and its index in Table.Clusters.
type namedCluster struct {
	name  string
	index int
}

// uses notes that a route forwards to a cluster.
func (v *virtualHost) uses(name string, index int) {
	if n := len(v.clusters); n == 0 || v.clusters[n-1].index != index {
		v.clusters = append(v.clusters, namedCluster{name, index})
	}
}

// hosts maps host names to virtual hosts.
type hosts struct {
	exact    map[string]*virtualHost
	wildcard map[string]*virtualHost // key is the wildcard without its *: .example.com
	catchAll *virtualHost            // for *; nil if there is none
}

// add maps name to v. If name is not valid, add returns the reason. valid says that it was valid in the table before.
func (hs *hosts) add(name string, v *virtualHost, valid bool) (reason string) {
	if name == "*" {
		if hs.catchAll != nil {
			return "is listed twice: one virtual host takes all other hosts"
		}
		hs.catchAll = v
		return ""
	}
	key, set := strings.TrimSuffix(strings.ToLower(name), "."), hs.exact
	bare := key
	if suffix, ok := strings.CutPrefix(key, "*."); ok {
		key, bare, set = "."+suffix, suffix, hs.wildcard
	}
	if !valid {
		edit := http1.RequestEdit{Host: bare}
		switch {
		case bare == "" || edit.Validate() != nil || len(bare) > maxHost:
			return "is not a host: write a name, *.name, or *"
		case len(trimPort([]byte(bare))) != len(bare):
			return "has a port, which is not matched: leave it out"
		}
	}
	if set[key] != nil {
		return "is listed twice: each host belongs to one virtual host"
	}
	set[key] = v
	return ""
}

// find returns the virtual host for host, or nil. key is scratch space of maxHost bytes.
func (hs *hosts) find(host, key []byte) *virtualHost {
	if len(hs.exact)+len(hs.wildcard) == 0 {
		return hs.catchAll
	}
	host = trimPort(host)
	if n := len(host); n > 0 && host[n-1] == '.' { // the dot of the root domain
		host = host[:n-1]
	}
	if len(host) == 0 || len(host) > len(key) {
		return hs.catchAll
	}
	for i, c := range host {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		key[i] = c
	}
	key = key[:len(host)]
	if v := hs.exact[string(key)]; v != nil {
		return v
	}
	if len(hs.wildcard) > 0 {
		for at := 1; at < len(key); at++ { // a wildcard stands for at least one label
			dot := bytes.IndexByte(key[at:], '.')
			if dot < 0 {
				break
			}
			at += dot
			if v := hs.wildcard[string(key[at:])]; v != nil {
				return v
			}
		}
	}
	return hs.catchAll
}

// trimPort returns host without :port. The host may be an IPv6 address in brackets.
func trimPort(host []byte) []byte {
	if i := bytes.LastIndexByte(host, ':'); i >= 0 && bytes.IndexByte(host[i:], ']') < 0 {
		return host[:i]
	}
	return host
}
