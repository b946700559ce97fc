package doctor

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"example.com/ferry/node/config"
)

// target is an address that the node connects to or listens at.
type target struct {
	field   string
	network string // tcp, udp or unix
	address string // HOST:PORT, or a path
	srv     string // SRV records instead of an address
}

// datagrams are the schemes over UDP.
var datagrams = []string{"quic", "utp"}

// targetOf returns the target of an address: scheme://HOST:PORT/PATH, HOST:PORT, unix://PATH or unix:PATH.
func targetOf(address string) target {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		if path, isPath := strings.CutPrefix(address, "unix:"); isPath {
			return target{network: "unix", address: path}
		}
		return target{network: "tcp", address: address}
	}
	switch {
	case scheme == "unix":
		return target{network: "unix", address: rest}
	case slices.Contains(datagrams, scheme):
		return target{network: "udp", address: rest}
	}
	rest, _, _ = strings.Cut(rest, "/")
	return target{network: "tcp", address: rest}
}

// host returns the name in the address that has to be looked up; empty if there is none.
func (t target) host() string {
	if t.network == "unix" {
		return ""
	}
	host, _, err := net.SplitHostPort(t.address)
	if err != nil || host == "" {
		return ""
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return ""
	}
	return host
}

// dialed returns the addresses that the node connects to.
func (x *exam) dialed() []target {
	var all []target
	add := func(field, address string) {
		t := targetOf(address)
		t.field = field
		all = append(all, t)
	}
	if x.Node.Proxy != nil {
		for i, c := range x.Node.Proxy.Clusters {
			for j, e := range c.Endpoints {
				at := fmt.Sprintf("proxy.clusters[%d].endpoints[%d]", i, j)
				switch {
				case e.Address != "":
					add(at+".address", e.Address)
				case e.SRV != "":
					all = append(all, target{field: at + ".srv", srv: e.SRV})
				}
			}
		}
	}
	for i, f := range x.Node.Forward {
		add(fmt.Sprintf("forward[%d].address", i), f.Address)
	}
	for i, b := range x.Node.Bridges {
		add(fmt.Sprintf("bridges[%d].address", i), b.Address)
	}
	if e := x.Node.Engine.Address; e != config.MemoryEngine && !x.Node.Engine.OnDisk() {
		scheme, list, _ := strings.Cut(e, "://")
		for each := range strings.SplitSeq(list, ",") {
			if u, err := url.Parse(scheme + "://" + strings.TrimPrefix(each, scheme+"://")); err == nil {
				add("engine.address", scheme+"://"+u.Host)
			}
		}
	}
	return all
}

// bound returns the addresses that the node listens at.
func (x *exam) bound() []target {
	var all []target
	add := func(field, address string) {
		if address == "" {
			return
		}
		t := targetOf(address)
		t.field = field
		all = append(all, t)
	}
	for i, l := range x.Node.Listeners {
		add(fmt.Sprintf("listeners[%d].address", i), l.Address)
	}
	if x.Node.Proxy != nil {
		for i, l := range x.Node.Proxy.Listeners {
			add(fmt.Sprintf("proxy.listeners[%d].address", i), l.Address)
		}
	}
	add("admin.address", x.Node.Admin.Address)
	add("admin.metrics_address", x.Node.Admin.MetricsAddress)
	return all
}

// public reports whether clients on other machines reach an address.
func public(t target) bool {
	if t.network == "unix" {
		return false
	}
	host, _, err := net.SplitHostPort(t.address)
	if err != nil || host == "localhost" {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return err != nil || !addr.IsLoopback()
}
