package config

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/ferry/internal/phrase"
	"example.com/ferry/internal/topic"
	"example.com/ferry/transport"
)

// problem is something the schema cannot say.
type problem struct {
	path   []string
	reason string
}

type problems []problem

func (ps *problems) add(path, format string, args ...any) {
	*ps = append(*ps, problem{strings.Split(path, "."), fmt.Sprintf(format, args...)})
}

func (c *Config) problems(with Program) problems {
	var ps problems
	if c.Proxy != nil {
		c.proxyProblems(with.Formats, &ps)
	} else if len(c.Listeners) == 0 {
		ps.add("listeners", "none: a node needs an address clients can connect to")
	}
	seen := map[string]int{}
	for i, l := range c.Listeners {
		at := fmt.Sprintf("listeners.%d.", i)
		l.problems(at, with.transports(), &ps)
		if first, ok := seen[l.Address]; ok {
			ps.add(at+"address", "%q stands in listeners[%d] already", l.Address, first)
		}
		seen[l.Address] = i
	}
	if a := c.Admin.Address; a != "" && a != "off" {
		if err := transport.CheckHostPort(a); err != nil {
			ps.add("admin.address", "%q %v", a, err)
		}
	}
	if c.DataDir == "" {
		ps.add("data_dir", "empty: name a directory")
	}
	names := map[string]bool{"local": true}
	for i, id := range c.Identities {
		at := fmt.Sprintf("identities.%d.", i)
		if names[id.Name] {
			ps.add(at+"name", "%q is taken: names are unique, and local is the holder of the token in data_dir", id.Name)
		}
		names[id.Name] = true
		id.problems(at, &ps)
	}
	c.Limits.problems(&ps)
	for i, s := range c.Streams {
		at := fmt.Sprintf("streams.%d.", i)
		if err := topic.CheckFilter(s.Tags); err != nil {
			ps.add(at+"tags", "%v", err)
		}
		if s.Engine == Memory && s.Delivery == AtLeastOnce {
			ps.add(at+"delivery", "engine memory cannot promise at-least-once: it keeps nothing for a subscriber that is away; write at-most-once")
		}
	}
	if c.Live.Sensors && c.Live.Interval < 10*time.Millisecond {
		ps.add("live.interval", "%v is too short: at least 10ms", c.Live.Interval)
	}
	c.functionProblems(with.Functions, &ps)
	c.durationProblems(&ps)
	return ps
}

func (l Listener) problems(at string, transports []transport.Descriptor, ps *problems) {
	scheme, addr, ok := strings.Cut(l.Address, "://")
	if !ok {
		ps.add(at+"address", "%q has no scheme: write %s", l.Address, phrase.Or(each(transports, transport.Descriptor.Syntax)))
		return
	}
	i := slices.IndexFunc(transports, func(d transport.Descriptor) bool { return d.Scheme == scheme })
	switch {
	case len(transports) == 0:
		ps.add(at+"address", "this program has no transport %s", scheme)
		return
	case i < 0:
		ps.add(at+"address", "unknown scheme %q: want %s", scheme, phrase.Or(each(transports, func(d transport.Descriptor) string { return d.Scheme })))
		return
	}
	d := transports[i]
	open := !d.Encrypted && !d.Local
	if err := d.CheckAddress(addr); err != nil {
		ps.add(at+"address", "%q %v", l.Address, err)
	} else if open && !l.Insecure && !isLoopback(addr) {
		ps.add(at+"address", "%q is plain %s beyond this machine: tokens would cross the network in the clear; use tls:// or quic://, or say insecure: true",
			l.Address, strings.ToUpper(scheme))
	}
	for _, f := range []struct{ field, value string }{{"cert_file", l.CertFile}, {"key_file", l.KeyFile}, {"client_ca_file", l.ClientCAFile}} {
		switch {
		case f.value == "":
		case !d.Encrypted:
			ps.add(at+f.field, "a %s listener has no TLS: use tls:// or quic://, or leave it out", scheme)
		default:
			checkFile(at+f.field, f.value, ps)
		}
	}
	if d.Encrypted && (l.CertFile == "") != (l.KeyFile == "") {
		ps.add(at+"address", "cert_file and key_file go together: one of them is missing")
	}
	switch {
	case l.ReceiveWindow == 0:
	case !d.ReceiveWindow:
		ps.add(at+"receive_window", "a %s listener has none: the kernel bounds what it buffers; leave it out", scheme)
	case l.ReceiveWindow < 64<<10 || l.ReceiveWindow > 1<<30:
		ps.add(at+"receive_window", "%v is out of range: at least 64KiB, at most 1GiB", l.ReceiveWindow)
	}
	if l.Insecure && !open {
		ps.add(at+"insecure", "has no effect on a %s listener: only an unencrypted one, such as tcp, can be insecure", scheme)
	}
}

// each returns what text says of each transport.
func each(list []transport.Descriptor, text func(transport.Descriptor) string) []string {
	all := make([]string, len(list))
	for i, d := range list {
		all[i] = text(d)
	}
	return all
}

func (id Identity) problems(at string, ps *problems) {
	switch {
	case id.Name == "":
		ps.add(at+"name", "empty: name the client")
	case id.Token == "" && id.TokenFile == "" && id.CommonName == "":
		ps.add(at+"name", "%q has nothing to prove itself by: give it a token, a token_file or a common_name", id.Name)
	case id.Token != "" && id.TokenFile != "":
		ps.add(at+"token_file", "beside token: give one of them")
	}
	if sum, ok := strings.CutPrefix(id.Token, "sha256:"); ok {
		if raw, err := hex.DecodeString(sum); err != nil || len(raw) != 32 {
			ps.add(at+"token", "sha256: is not followed by 64 hex digits")
		}
	} else if id.Token != "" && len(id.Token) < 16 {
		ps.add(at+"token", "too short to be a secret: at least 16 characters")
	}
	if id.TokenFile != "" {
		checkFile(at+"token_file", id.TokenFile, ps)
	}
	for list, filters := range map[string][]string{"publish": id.Publish, "subscribe": id.Subscribe} {
		for i, f := range filters {
			if err := topic.CheckFilter(f); err != nil {
				ps.add(at+list+"."+strconv.Itoa(i), "%v", err)
			}
		}
	}
}

func (l Limits) problems(ps *problems) {
	const smallest = 1 << 10
	for _, s := range []struct {
		field string
		size  Size
	}{{"max_frame", l.MaxFrame}, {"window", l.Window}, {"queue", l.Queue}} {
		if s.size < smallest || s.size > 1<<30 {
			ps.add("limits."+s.field, "%v is out of range: 1KiB to 1GiB", s.size)
		}
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"handshake_timeout", l.HandshakeTimeout}, {"heartbeat", l.Heartbeat}, {"write_timeout", l.WriteTimeout}, {"drain_timeout", l.DrainTimeout}} {
		if d.value < 10*time.Millisecond {
			ps.add("limits."+d.field, "%v is too short: at least 10ms", d.value)
		}
	}
}

func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func checkFile(path, name string, ps *problems) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		ps.add(path, "%v", err)
	case info.IsDir():
		ps.add(path, "%s is a directory", name)
	}
}
