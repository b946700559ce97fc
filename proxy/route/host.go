package route

import (
	"bytes"
	"strings"

	"example.com/ferry/protocol/http1"
)

// maxHost is the longest host name that is looked up, in bytes: DNS has none of more than 253 (RFC 1035, section 2.3.4).
const maxHost = 255

// virtualHost is a compiled VirtualHost.
type virtualHost struct {
	routes []*Route
	index  index
}

// hosts finds the virtual host of a name.
type hosts struct {
	exact map[string]*virtualHost
	below map[string]*virtualHost // by what follows the * of *.example.com
	other *virtualHost            // of *; nil if there is none
}

// add makes name one of v's. It says what is wrong with it.
func (hs *hosts) add(name string, v *virtualHost) (reason string) {
	if name == "*" {
		if hs.other != nil {
			return "stands here for the second time: all other hosts are of one virtual host"
		}
		hs.other = v
		return ""
	}
	key, set := strings.TrimSuffix(strings.ToLower(name), "."), hs.exact
	bare := key
	if suffix, ok := strings.CutPrefix(key, "*."); ok {
		key, bare, set = "."+suffix, suffix, hs.below
	}
	edit := http1.RequestEdit{Host: bare}
	switch {
	case bare == "" || edit.Validate() != nil || len(bare) > maxHost:
		return "is no host: write a name, *.name, or *"
	case len(trimPort([]byte(bare))) != len(bare):
		return "has a port, which routes do not see: leave it out"
	case set[key] != nil:
		return "stands here for the second time: each host is of one virtual host"
	}
	set[key] = v
	return ""
}

// find returns the virtual host of a request for host, nil if there is none. key is room of maxHost bytes.
func (hs *hosts) find(host, key []byte) *virtualHost {
	if len(hs.exact)+len(hs.below) == 0 {
		return hs.other
	}
	host = trimPort(host)
	if n := len(host); n > 0 && host[n-1] == '.' { // the root's own dot
		host = host[:n-1]
	}
	if len(host) == 0 || len(host) > len(key) {
		return hs.other
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
	if len(hs.below) > 0 {
		for at := 1; at < len(key); at++ { // a name stands before the first dot
			dot := bytes.IndexByte(key[at:], '.')
			if dot < 0 {
				break
			}
			at += dot
			if v := hs.below[string(key[at:])]; v != nil {
				return v
			}
		}
	}
	return hs.other
}

// trimPort returns host without :port, which an address in brackets may have too.
func trimPort(host []byte) []byte {
	if i := bytes.LastIndexByte(host, ':'); i >= 0 && bytes.IndexByte(host[i:], ']') < 0 {
		return host[:i]
	}
	return host
}
