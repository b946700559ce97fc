package config

import (
	"fmt"

	"example.com/ferry/transport"
)

// checkForward checks the links.
func (c *Config) checkForward(transports []transport.Descriptor, errs *configErrors) {
	names := ownNames{}
	for i, f := range c.Forward {
		names.check("forward", i, f.Name, errs)
		f.check(fmt.Sprintf("forward[%d].", i), transports, errs)
	}
	if len(c.Forward) > 0 && len(c.Listeners) == 0 {
		errs.add("forward", "this node has no listeners, so it has no messages to forward")
	}
}

func (f Forward) check(at string, transports []transport.Descriptor, errs *configErrors) {
	dialled{"address", f.Address, f.Insecure, "the other node", f.CertFile, f.KeyFile, f.CAFile}.check(at, transports, errs)
	if len(f.Tags) == 0 {
		errs.add(at+"tags", "none: name the tags to forward, or # for all")
	}
	checkFilters(at+"tags", f.Tags, errs)
	checkSecret(at, "token", f.Token, f.TokenFile, errs)
}
