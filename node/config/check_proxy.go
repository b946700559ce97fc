package config

import (
	"slices"

	"example.com/ferry/format"
	"example.com/ferry/internal/invalid"
	"example.com/ferry/proxy"
)

// TakeCompiled returns the proxy as the last check has compiled it, and forgets it: routing tables are large. It returns nil if there is no proxy, or it
// was taken.
func (c *Config) TakeCompiled() *proxy.Compiled {
	compiled := c.compiled
	c.compiled = nil
	return compiled
}

// checkProxy checks the proxy. Without listeners, it refuses the fields that need streams.
func (c *Config) checkProxy(formats []format.Format, before *proxy.Compiled, errs *configErrors) {
	var err error
	c.compiled, err = c.Proxy.CompileAfter(formats, before)
	(*invalid.Errors)(errs).AddAt("config", "proxy", err)
	if len(c.Listeners) > 0 {
		return
	}
	for _, part := range []struct {
		field string
		asked bool
	}{
		{"live", c.Live.Sensors || c.Live.Functions},
		{"functions", len(c.Functions) > 0},
		{"streams", len(c.Streams) > 0},
		{"engine", c.Engine != Engine{Address: MemoryEngine}},
		{"identities", len(c.Identities) > 0},
		{"names", len(c.Names) > 0 && !c.Admin.OwnCertificate() && !slices.ContainsFunc(c.Proxy.Listeners, func(l proxy.Listener) bool { return l.UsesNodeCertificate() })},
	} {
		if part.asked {
			errs.add(part.field, "for streams, of which this node has none: a file with a proxy has only the listeners that it names; "+
				"add listeners, such as quic://127.0.0.1:4190, or leave %s out", part.field)
		}
	}
}
