package config

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/invalid"
	"example.com/ferry/internal/naming"
	"example.com/ferry/internal/topic"
	"example.com/ferry/proxy"
	"example.com/ferry/proxy/upstream"
	"example.com/ferry/transport"
)

// configErrors is invalid.Errors of this package.
type configErrors invalid.Errors

func (es *configErrors) add(field, reason string, args ...any) {
	(*invalid.Errors)(es).Add("config", field, reason, args...)
}

// check returns everything that is wrong in c. The schema has refused wrong names and types before. before is what a proxy runs with, or nil.
func (c *Config) check(with Program, before *proxy.Compiled) invalid.Errors {
	var errs configErrors
	if c.Proxy != nil {
		c.checkProxy(with.Formats, before, &errs)
	} else if len(c.Listeners) == 0 {
		errs.add("listeners", "none: a node needs an address clients can connect to")
	}
	seen := map[string]int{}
	for i, l := range c.Listeners {
		at := fmt.Sprintf("listeners[%d].", i)
		l.check(at, slices.Concat(with.transports(), edges, gates), &errs)
		c.checkEdge(at, l, &errs)
		if first, ok := seen[l.Address]; ok {
			errs.add(at+"address", "%q stands in listeners[%d] already", l.Address, first)
		}
		seen[l.Address] = i
	}
	c.Admin.check(&errs)
	if c.DataDir == "" {
		errs.add("data_dir", "empty: name a directory")
	}
	for i, name := range c.Names {
		if _, err := netip.ParseAddr(name); err != nil && !isHostName(name) {
			errs.add(fmt.Sprintf("names[%d]", i), "%q is no host name and no IP address: write it without scheme and port, as edge-1.example.com or 192.0.2.7", name)
		}
	}
	logins := c.checkLogins(&errs)
	names := map[string]bool{"local": true, "deployed": true}
	for i, id := range c.Identities {
		at := fmt.Sprintf("identities[%d].", i)
		if names[id.Name] {
			errs.add(at+"name", "%q is taken: names are unique, local is the holder of the token in data_dir, and deployed are the functions that ferry deploy brings", id.Name)
		}
		names[id.Name] = true
		id.check(at, c.anonymous(id.Name), logins.hash(id.Name) != "", &errs)
	}
	c.checkCredentials(logins, &errs)
	c.MQTT.check(&errs)
	checkFilters("deploy.publish", c.Deploy.Publish, &errs)
	checkFilters("deploy.subscribe", c.Deploy.Subscribe, &errs)
	c.checkStreams(with.engines(), &errs)
	c.checkForward(with.transports(), &errs)
	c.checkBridges(&errs)
	c.checkServe(&errs)
	if c.Live.Sensors && c.Live.Interval < 10*time.Millisecond {
		errs.add("live.interval", "%v is too short: at least 10ms", c.Live.Interval)
	}
	c.checkFunctions(with.Functions, &errs)
	c.checkBounds(&errs)
	return invalid.Errors(errs)
}

func (l Listener) check(at string, transports []transport.Descriptor, errs *configErrors) {
	d, ok := checkAddress(at, "address", l.Address, l.Insecure, transports, errs)
	if !ok {
		return
	}
	for _, f := range []struct{ field, value string }{{"cert_file", l.CertFile}, {"key_file", l.KeyFile}, {"client_ca_file", l.ClientCAFile}} {
		if f.value != "" && !d.Encrypted {
			errs.add(at+f.field, "a %s listener has no TLS: use tls://, wss:// or quic://, or leave it out", d.Scheme)
		}
	}
	if d.Encrypted {
		checkPair(at, l.CertFile, l.KeyFile, errs)
		checkCA(at+"client_ca_file", l.ClientCAFile, errs)
	}
	switch {
	case l.MinVersion == "":
	case !l.Edge() || !d.Encrypted:
		errs.add(at+"min_version", "a %s listener has none: leave it out", d.Scheme)
	case l.MinVersion != upstream.TLS12 && l.MinVersion != upstream.TLS13:
		errs.add(at+"min_version", "%q: write %q or %q", l.MinVersion, upstream.TLS12, upstream.TLS13)
	}
	if l.ReceiveWindow != 0 && !d.ReceiveWindow {
		errs.add(at+"receive_window", "a %s listener has none: the kernel bounds what it buffers; leave it out", d.Scheme)
	}
}

// checkPair checks the files of a certificate and its key, in fields cert_file and key_file. Empty files are none.
func checkPair(at, cert, key string, errs *configErrors) {
	certs.Files{CertFile: cert, KeyFile: key}.AddErrors((*invalid.Errors)(errs), "config", at)
}

// checkCA checks a file of CAs. An empty one is none.
func checkCA(at, file string, errs *configErrors) {
	certs.AddErrorsOfCA((*invalid.Errors)(errs), "config", at, file)
}

// check checks an identity. anonymous says that a listener gives it to clients without a credential.
func (id Identity) check(at string, anonymous, user bool, errs *configErrors) {
	switch {
	case id.Name == "":
		errs.add(at+"name", "empty: name the client")
	case anonymous && (id.Token != "" || id.TokenFile != "" || id.CommonName != "" || id.Password != "" || user):
		errs.add(at+"name", "%q is the anonymous identity of a listener, and has a token, a token_file, a password or a common_name: name another one there", id.Name)
	case id.Token == "" && id.TokenFile == "" && id.CommonName == "" && id.Password == "" && !anonymous && !user:
		errs.add(at+"name", "%q has nothing to prove itself by: give it a token, a token_file, a password or a common_name", id.Name)
	case id.Token != "" && id.TokenFile != "":
		errs.add(at+"token_file", "beside token: give one of them")
	}
	checkFilters(at+"publish", id.Publish, errs)
	checkFilters(at+"subscribe", id.Subscribe, errs)
	id.checkVerbs(at, errs)
	for list, patterns := range map[string][]string{"call": id.Call, "serve": id.Serve} {
		for i, p := range patterns {
			if err := topic.CheckServices(p); err != nil {
				errs.add(fmt.Sprintf("%s%s[%d]", at, list, i), "%v", err)
			} else if strings.HasPrefix(p, topic.Own) {
				errs.add(fmt.Sprintf("%s%s[%d]", at, list, i), "%q is a service of the node itself: verbs grant these, such as deploy", p)
			}
		}
	}
}

// checkVerbs checks the verbs of nodes that forward messages.
func (id Identity) checkVerbs(at string, errs *configErrors) {
	forward := slices.Contains(id.Verbs, VerbForward)
	switch {
	case forward && !slices.Contains(id.Verbs, VerbPublish):
		errs.add(at+"verbs", "forward without publish: a node that forwards messages publishes them; add publish")
	case !forward && slices.Contains(id.Verbs, VerbTrustValidation):
		errs.add(at+"verbs", "trust_validation without forward: only the validation of another node can be trusted; add forward")
	}
}

// checkFilters checks a list of filters.
func checkFilters(at string, filters []string, errs *configErrors) {
	for i, f := range filters {
		if err := topic.CheckFilter(f); err != nil {
			errs.add(fmt.Sprintf("%s[%d]", at, i), "%v", err)
		}
	}
}

// isHostName reports whether s is a DNS name without wildcards. RFC 1123, section 2.1.
func isHostName(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if !naming.Valid(label) || len(label) > 63 || strings.Contains(label, "_") || strings.Trim(label, "-") != label {
			return false
		}
	}
	return true
}

func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func checkFile(path, name string, errs *configErrors) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		errs.add(path, "%v", err)
	case info.IsDir():
		errs.add(path, "%s is a directory", name)
	}
}
