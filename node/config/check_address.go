package config

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"example.com/ferry/internal/naming"
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

// dialled is a server that the node dials.
type dialled struct {
	name     string // of the field of the address
	address  string
	insecure bool
	what     string // the broker

	certFile, keyFile, caFile string
}

// check checks the address and the files of TLS.
func (s dialled) check(at string, transports []transport.Descriptor, errs *configErrors) {
	d, ok := checkAddress(at, s.name, s.address, s.insecure, transports, errs)
	if !ok {
		return
	}
	addr, _, _ := strings.Cut(strings.TrimPrefix(s.address, d.Scheme+"://"), "/")
	if host, port, err := net.SplitHostPort(addr); !d.Local && err == nil && (host == "" || port == "0") {
		errs.add(at+s.name, "%q cannot be dialled: write the host and the port of %s", s.address, s.what)
	}
	if d.Encrypted {
		checkPair(at, s.certFile, s.keyFile, errs)
		checkCA(at+"ca_file", s.caFile, errs)
		return
	}
	for _, file := range []struct{ field, value string }{{"cert_file", s.certFile}, {"key_file", s.keyFile}, {"ca_file", s.caFile}} {
		if file.value != "" {
			errs.add(at+file.field, "an address of %s has no TLS: use %s, or leave it out", d.Scheme, encrypted(d.Scheme, transports))
		}
	}
}

// ownNames are the names of the entries of a list, and their indices.
type ownNames map[string]int

// check checks the name of entry i, in field at.
func (known ownNames) check(list string, i int, name string, errs *configErrors) {
	at := fmt.Sprintf("%s[%d].name", list, i)
	if first, taken := known[name]; taken {
		errs.add(at, "%q is the name of %s[%d] already: give this one a name of its own", name, list, first)
	} else if !naming.Valid(name) {
		errs.add(at, "%q is no name: want 1 to 64 letters, digits, - and _", name)
	} else {
		known[name] = i
	}
}

// checkSecret checks a secret that is in the configuration, in field at+name, or in a file.
func checkSecret(at, name, secret, file string, errs *configErrors) {
	if secret != "" && file != "" {
		errs.add(at+name+"_file", "beside %s: give one of them", name)
	}
	if file != "" {
		checkFile(at+name+"_file", file, errs)
	}
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
