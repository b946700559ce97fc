package config

import (
	"fmt"
	"net"
	"strings"
	"time"

	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/naming"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/mqtt"
	"example.com/ferry/transport"
)

// brokers are the schemes of other brokers.
var brokers = []transport.Descriptor{
	{Scheme: "mqtt"},
	{Scheme: "mqtts", Encrypted: true},
}

// checkBridges checks the bridges.
func (c *Config) checkBridges(errs *configErrors) {
	names := map[string]int{}
	for i, b := range c.Bridges {
		at := fmt.Sprintf("bridges[%d].", i)
		if first, taken := names[b.Name]; taken {
			errs.add(at+"name", "%q is the name of bridges[%d] already: give this one a name of its own", b.Name, first)
		} else if !naming.Valid(b.Name) {
			errs.add(at+"name", "%q is no name: want 1 to 64 letters, digits, - and _", b.Name)
		} else {
			names[b.Name] = i
		}
		b.check(at, errs)
	}
	if len(c.Bridges) > 0 && len(c.Listeners) == 0 {
		errs.add("bridges", "this node has no listeners, so it has no tags")
	}
}

func (b *Bridge) check(at string, errs *configErrors) {
	d, ok := checkAddress(at, "address", b.Address, b.Insecure, brokers, errs)
	if ok {
		_, addr, _ := strings.Cut(b.Address, "://")
		if host, port, err := net.SplitHostPort(addr); err == nil && (host == "" || port == "0") {
			errs.add(at+"address", "%q cannot be dialled: write the host and the port of the broker", b.Address)
		}
	}
	b.checkTopics(at, errs)
	if b.Password != "" && b.PasswordFile != "" {
		errs.add(at+"password_file", "beside password: give one of them")
	}
	if b.User == "" && (b.Password != "" || b.PasswordFile != "") {
		errs.add(at+"user", "missing: the password is that of a user")
	}
	if b.PasswordFile != "" {
		checkFile(at+"password_file", b.PasswordFile, errs)
	}
	for _, file := range []struct{ field, value string }{{"cert_file", b.CertFile}, {"key_file", b.KeyFile}, {"ca_file", b.CAFile}} {
		if ok && file.value != "" && !d.Encrypted {
			errs.add(at+file.field, "an mqtt address has no TLS: use mqtts://, or leave it out")
		}
	}
	if ok && d.Encrypted {
		Listener{CertFile: b.CertFile, KeyFile: b.KeyFile}.checkCertificates(at, errs)
		if b.CAFile != "" {
			if err := certs.CheckCA(b.CAFile); err != nil {
				errs.add(at+"ca_file", "%v", err)
			}
		}
	}
	if b.KeepAlive != 0 && (b.KeepAlive < time.Second || b.KeepAlive > 65535*time.Second) {
		errs.add(at+"keep_alive", "%v is out of range: 1s to 65535s", b.KeepAlive)
	}
	if b.SessionExpiry != 0 && b.SessionExpiry < time.Second {
		errs.add(at+"session_expiry", "%v is too short: at least 1s", b.SessionExpiry)
	}
	if b.Spool.Size != 0 && (b.Spool.Size < 1<<20 || b.Spool.Size > 1<<40) {
		errs.add(at+"spool.size", "%v is out of range: 1MiB to 1TiB", b.Spool.Size)
	}
}

// checkTopics checks the filters and the prefixes.
func (b *Bridge) checkTopics(at string, errs *configErrors) {
	if len(b.In)+len(b.Out) == 0 {
		errs.add(at+"in", "missing, as is out: name the topics of the broker or the tags of this node to pass on")
	}
	for i, filter := range b.In {
		if _, err := mqtt.ParseFilter(filter); err != nil {
			errs.add(fmt.Sprintf("%sin[%d]", at, i), "%q: %v", filter, err)
		}
	}
	checkFilters(at+"out", b.Out, errs)
	for _, p := range []struct{ field, value string }{{"in_prefix", b.InPrefix}, {"out_prefix", b.OutPrefix}} {
		if p.value == "" {
			continue
		}
		if err := topic.CheckTag(p.value); err != nil {
			errs.add(at+p.field, "%v", err)
		}
	}
	if len(b.ClientID) > mqtt.MaxText || mqtt.CheckText(b.ClientID) != nil {
		errs.add(at+"client_id", "%.80q is no text of at most %d bytes", b.ClientID, mqtt.MaxText)
	}
}
