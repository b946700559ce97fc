package config

import (
	"fmt"
	"net"
	"strings"

	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/naming"
	"example.com/ferry/internal/topic"
	"example.com/ferry/transport"
)

// checkForward checks the links.
func (c *Config) checkForward(transports []transport.Descriptor, errs *configErrors) {
	names := map[string]int{}
	for i, f := range c.Forward {
		at := fmt.Sprintf("forward[%d].", i)
		if first, taken := names[f.Name]; taken {
			errs.add(at+"name", "%q is the name of forward[%d] already: give this one a name of its own", f.Name, first)
		} else if !naming.Valid(f.Name) {
			errs.add(at+"name", "%q is no name: want 1 to 64 letters, digits, - and _", f.Name)
		} else {
			names[f.Name] = i
		}
		f.check(at, transports, errs)
	}
	if len(c.Forward) > 0 && len(c.Listeners) == 0 {
		errs.add("forward", "this node has no listeners, so it has no messages to forward")
	}
}

func (f Forward) check(at string, transports []transport.Descriptor, errs *configErrors) {
	d, ok := checkAddress(at, "address", f.Address, f.Insecure, transports, errs)
	if ok && !d.Local {
		_, addr, _ := strings.Cut(f.Address, "://")
		addr, _, _ = strings.Cut(addr, "/")
		if host, port, err := net.SplitHostPort(addr); err == nil && (host == "" || port == "0") {
			errs.add(at+"address", "%q cannot be dialled: write the host and the port of the other node", f.Address)
		}
	}
	if len(f.Tags) == 0 {
		errs.add(at+"tags", "none: name the tags to forward, or # for all")
	}
	for i, filter := range f.Tags {
		if err := topic.CheckFilter(filter); err != nil {
			errs.add(fmt.Sprintf("%stags[%d]", at, i), "%v", err)
		}
	}
	if f.Token != "" && f.TokenFile != "" {
		errs.add(at+"token_file", "beside token: give one of them")
	}
	if f.TokenFile != "" {
		checkFile(at+"token_file", f.TokenFile, errs)
	}
	for _, file := range []struct{ field, value string }{{"cert_file", f.CertFile}, {"key_file", f.KeyFile}, {"ca_file", f.CAFile}} {
		if ok && file.value != "" && !d.Encrypted {
			errs.add(at+file.field, "a %s address has no TLS: use tls://, wss:// or quic://, or leave it out", d.Scheme)
		}
	}
	if ok && d.Encrypted {
		Listener{CertFile: f.CertFile, KeyFile: f.KeyFile}.checkCertificates(at, errs)
		if f.CAFile != "" {
			if err := certs.CheckCA(f.CAFile); err != nil {
				errs.add(at+"ca_file", "%v", err)
			}
		}
	}
	if f.Spool.Size != 0 && (f.Spool.Size < 1<<20 || f.Spool.Size > 1<<40) {
		errs.add(at+"spool.size", "%v is out of range: 1MiB to 1TiB", f.Spool.Size)
	}
}
