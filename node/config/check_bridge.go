package config

import (
	"fmt"

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
	names := ownNames{}
	for i, b := range c.Bridges {
		names.check("bridges", i, b.Name, errs)
		b.check(fmt.Sprintf("bridges[%d].", i), errs)
	}
	if len(c.Bridges) > 0 && len(c.Listeners) == 0 {
		errs.add("bridges", "this node has no listeners, so it has no tags")
	}
}

func (b *Bridge) check(at string, errs *configErrors) {
	dialled{"address", b.Address, b.Insecure, "the broker", b.CertFile, b.KeyFile, b.CAFile}.check(at, brokers, errs)
	b.checkTopics(at, errs)
	checkSecret(at, "password", b.Password, b.PasswordFile, errs)
	if b.User == "" && (b.Password != "" || b.PasswordFile != "") {
		errs.add(at+"user", "missing: the password is that of a user")
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
