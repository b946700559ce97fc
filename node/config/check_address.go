package config

import (
	"slices"
	"strings"

	"example.com/ferry/internal/phrase"
	"example.com/ferry/transport"
)

// checkAddress checks the address of a listener, or one that the node dials, in field at+name, and returns its transport. ok is false if there is none.
// insecure permits an unencrypted address beyond this machine.
func checkAddress(at, name, address string, insecure bool, transports []transport.Descriptor, errs *configErrors) (d transport.Descriptor, ok bool) {
	scheme, addr, ok := strings.Cut(address, "://")
	if !ok {
		errs.add(at+name, "%q has no scheme: write %s", address, phrase.Or(present(transports, transport.Descriptor.Syntax)))
		return d, false
	}
	i := slices.IndexFunc(transports, func(d transport.Descriptor) bool { return d.Scheme == scheme })
	switch {
	case len(transports) == 0:
		errs.add(at+name, "this program has no transport %s", scheme)
		return d, false
	case i < 0:
		errs.add(at+name, "unknown scheme %q: want %s", scheme, phrase.Or(present(transports, func(d transport.Descriptor) string { return d.Scheme })))
		return d, false
	}
	d = transports[i]
	open := !d.Encrypted && !d.Local
	if err := d.CheckAddress(addr); err != nil {
		errs.add(at+name, "%q %v", address, err)
	} else if open && !insecure && !isLoopback(addr) {
		errs.add(at+name, "%q is plain %s beyond this machine: tokens would cross the network in the clear; use %s, or say insecure: true",
			address, strings.ToUpper(scheme), encrypted(scheme, transports))
	}
	if insecure && !open {
		errs.add(at+"insecure", "has no effect on a %s address: only an unencrypted one, such as tcp, can be insecure", scheme)
	}
	return d, true
}

// present returns what text says of each transport that this binary has.
func present(list []transport.Descriptor, text func(transport.Descriptor) string) []string {
	var all []string
	for _, d := range list {
		if d.Missing == "" {
			all = append(all, text(d))
		}
	}
	return all
}

// encrypted names the schemes that encrypt what scheme does not.
func encrypted(scheme string, transports []transport.Descriptor) string {
	for _, d := range transports {
		if d.Encrypted && (d.Scheme == scheme+"s" || d.Scheme+"c" == scheme) {
			return d.Scheme + "://"
		}
	}
	return "tls://, wss:// or quic://"
}
