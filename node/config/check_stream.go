package config

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/internal/phrase"
	"example.com/ferry/internal/topic"
	"example.com/ferry/transport"
)

// checkStreams checks the engine and what it is to store. known are the engines of the program.
func (c *Config) checkStreams(known []EngineDescriptor, errs *configErrors) {
	engine, ok := c.checkEngine(known, errs)
	names := ownNames{}
	for i, s := range c.Streams {
		at := fmt.Sprintf("streams[%d].", i)
		if s.Name != "" || len(s.Tags) > 0 {
			names.check("streams", i, s.Name, errs)
		}
		c.checkFilters(i, errs)
		s.check(at, errs)
		if ok {
			s.checkEngine(at, engine, errs)
		}
		c.checkDeadLetter(i, errs)
	}
}

// checkEngine checks the engine. It returns what the engine can do, and false if the address is wrong.
func (c *Config) checkEngine(known []EngineDescriptor, errs *configErrors) (EngineDescriptor, bool) {
	e := c.Engine
	if strings.Contains(e.Address, "@") { // no error shows the address
		errs.add("engine.address", "has a user or a password: name the account's .creds file in credentials_file instead")
		return EngineDescriptor{}, false
	}
	i := slices.IndexFunc(known, func(d EngineDescriptor) bool { return d.Matches(e.Address) })
	if i < 0 {
		if len(c.Streams) == 0 && e.Address == MemoryEngine { // of a program without engines
			return EngineDescriptor{}, false
		}
		syntax := make([]string, len(known))
		for j, d := range known {
			syntax[j] = d.Syntax()
		}
		errs.add("engine.address", "this program has no engine %q: want %s", e.Address, phrase.Or(syntax))
		return EngineDescriptor{}, false
	}
	d := known[i]
	if d.Remote {
		_, hosts, _ := strings.Cut(e.Address, "://")
		for host := range strings.SplitSeq(hosts, ",") {
			checkEngineHost(e.Address, strings.TrimSpace(host), errs)
		}
	}
	for _, f := range []struct {
		field string
		given bool
		fits  bool
		why   string
	}{
		{"sync", e.Sync != "", d.Disk, "says when engine embedded writes to its disk; write address: embedded, or leave sync out"},
		{"interval", e.Interval < 0, false, "is negative: write a time such as 1s"},
		{"interval", e.Interval > 0, e.Sync == SyncInterval, "is the time between two writes of sync: interval; write that, or leave interval out"},
		{"credentials_file", e.CredentialsFile != "", d.Remote, "is for servers elsewhere; write address: nats://HOST:PORT, or leave it out"},
		{"ca_file", e.CAFile != "", d.Encrypted, "verifies servers with TLS; write address: tls://HOST:PORT, or leave it out"},
	} {
		if f.given && !f.fits {
			errs.add("engine."+f.field, "%s", f.why)
		}
	}
	if e.CredentialsFile != "" {
		checkFile("engine.credentials_file", e.CredentialsFile, errs)
	}
	checkCA("engine.ca_file", e.CAFile, errs)
	return d, true
}

// checkEngineHost checks one server of an address. Its port may be missing.
func checkEngineHost(address, host string, errs *configErrors) {
	hostport := host
	if _, _, err := net.SplitHostPort(host); err != nil {
		hostport = net.JoinHostPort(strings.Trim(host, "[]"), "4222")
	}
	if err := transport.CheckHostPort(hostport); host == "" || strings.Contains(host, "/") || err != nil || strings.HasPrefix(hostport, ":") {
		errs.add("engine.address", "%q: %q is no server: write HOST:PORT, and a comma before the next one", address, host)
	}
}

// checkFilters checks the tags of stream i, and that no stream before it stores one of them.
func (c *Config) checkFilters(i int, errs *configErrors) {
	if len(c.Streams[i].Tags) == 0 {
		errs.add(fmt.Sprintf("streams[%d].tags", i), "none: name the tags to store, or # for all")
	}
	for j, filter := range c.Streams[i].Tags {
		at := fmt.Sprintf("streams[%d].tags[%d]", i, j)
		if err := topic.CheckFilter(filter); err != nil {
			errs.add(at, "%v", err)
			continue
		}
		for k, other := range c.Streams[:i+1] {
			filters := other.Tags
			if k == i {
				filters = filters[:j]
			}
			for l, f := range filters {
				if topic.CheckFilter(f) == nil && topic.Overlap(f, filter) {
					errs.add(at, "%q and %q of streams[%d].tags[%d] match the same tags: one stream stores a tag", filter, f, k, l)
				}
			}
		}
	}
}

func (s Stream) check(at string, errs *configErrors) {
	for _, p := range []struct{ field, path string }{{"key", s.Key}, {"idempotency.key", s.Idempotency.Key}} {
		if p.path == "" {
			continue
		}
		if _, err := field.Parse(p.path); err != nil {
			errs.add(at+p.field, "%v", err)
		}
	}
	for i, d := range s.Redelivery.Backoff {
		if d <= 0 {
			errs.add(fmt.Sprintf("%sredelivery.backoff[%d]", at, i), "%v is too short: at least 1ms", d)
		}
	}
	if s.Delivery == AtLeastOnce {
		return
	}
	if s.Retention == (Retention{}) && s.Storage != StorageMemory {
		errs.add(at+"retention", "none: a stream that is delivered at most once is stored to be read again; say how much, "+
			"such as {age: 24h}, or write delivery: at-least-once")
	}
	switch r := s.Redelivery; {
	case r.Max != 0 || len(r.Backoff) > 0 || r.Wait != 0:
		errs.add(at+"redelivery", "needs delivery: at-least-once: other streams deliver a message once")
	case s.DeadLetter != "":
		errs.add(at+"dead_letter", "needs delivery: at-least-once: other streams deliver a message once")
	}
}

// checkEngine checks that the engine can do what the stream asks for.
func (s Stream) checkEngine(at string, d EngineDescriptor, errs *configErrors) {
	if !d.Durable && s.Delivery == AtLeastOnce {
		errs.add(at+"delivery", "engine %s cannot promise at-least-once: what it stores ends with the process; write engine: {address: embedded}", d)
	}
	if !d.Durable && s.Storage == StorageFile {
		errs.add(at+"storage", "engine %s has no files: write storage: memory, or engine: {address: embedded}", d)
	}
	if d.Durable && s.Storage == StorageMemory && s.Delivery == AtLeastOnce && s.Replicas == 1 {
		errs.add(at+"storage", "one copy in memory cannot promise at-least-once: write storage: file, or more replicas in a cluster")
	}
	switch {
	case s.Replicas <= d.MaxReplicas:
	case d.Remote:
		errs.add(at+"replicas", "%d copies: JetStream has at most %d", s.Replicas, d.MaxReplicas)
	default:
		errs.add(at+"replicas", "engine %s has one copy, on this machine: leave replicas out, or write engine: {address: nats://HOST:PORT} of a cluster", d)
	}
}

// checkDeadLetter checks that the dead letters of stream i are stored, by another stream, and come to an end.
func (c *Config) checkDeadLetter(i int, errs *configErrors) {
	s, at := c.Streams[i], fmt.Sprintf("streams[%d].dead_letter", i)
	if s.DeadLetter == "" {
		return
	}
	if err := topic.CheckTag(s.DeadLetter); err != nil {
		errs.add(at, "%v", err)
		return
	}
	to := c.storing(s.DeadLetter)
	switch {
	case to < 0:
		errs.add(at, "no stream stores %q: add one, such as {tags: %s, delivery: at-least-once}", s.DeadLetter, s.DeadLetter)
		return
	case to == i:
		errs.add(at, "%q is a tag of this stream: its subscribers would get their dead letters again; use another stream", s.DeadLetter)
		return
	case c.Streams[to].Delivery != AtLeastOnce:
		errs.add(at, "%q is a tag of streams[%d], which may lose it: write delivery: at-least-once there", s.DeadLetter, to)
		return
	}
	for range c.Streams { // as many steps as a path without a cycle can have
		next := c.Streams[to].DeadLetter
		if next == "" {
			return
		}
		if to = c.storing(next); to < 0 {
			return
		}
		if to == i {
			errs.add(at, "dead letters would come back to this stream: let one of the streams on the way have no dead_letter")
			return
		}
	}
}

// storing returns the index of the stream that stores a tag; -1 if there is none.
func (c *Config) storing(tag string) int {
	return slices.IndexFunc(c.Streams, func(s Stream) bool {
		return slices.ContainsFunc(s.Tags, func(f string) bool { return topic.CheckFilter(f) == nil && topic.Match(f, tag) })
	})
}
