package node

import (
	"errors"
	"strings"
	"time"

	"example.com/ferry/internal/pace"
	"example.com/ferry/node/config"
	"example.com/ferry/node/deploy"
	"example.com/ferry/proxy"
)

// section is a part of the node that a reload changes. It covers the fields of the configuration that have its name.
//
// A reload has two phases. First every section prepares: it does all that can fail, such as binding an address or reading a
// file, and changes nothing that serves. If any section refuses, all others abort, and the previous configuration stays in
// use as a whole. Otherwise all of them commit, in the order of the list. So the node always runs one file, and what it does
// is what a node would do that was started with this file.
type section struct {
	name    string
	prepare func(*reload) (change, error) // nil if no field of it can change
}

// change is what a section has prepared. A section without a difference returns the zero change.
type change struct {
	what   string // for the log: what is different
	commit func() // puts the change in place, and cannot fail
	abort  func() // releases what prepare has made; nil if that is nothing
}

// sections returns all sections. A later one may use what an earlier one has prepared. The last commits are those that other
// programs see: when the admin server has its new configuration, everything it shows is in place.
func (n *Node) sections() []section {
	return []section{
		{name: "data_dir"},
		{name: "cpu"},
		{name: "engine"},
		{"mqtt", n.prepareMQTT},
		{"log", n.prepareLog},
		{"names", n.prepareNames},
		{"deploy", n.prepareDeploy},
		{"identities", n.prepareIdentities},
		{"limits", n.prepareLimits},
		{"drain", n.prepareDrain},
		{"listeners", n.prepareListeners},
		{"streams", n.prepareStreams},
		{"forward", n.prepareForward},
		{"bridges", n.prepareBridges},
		{"serve", n.prepareServe},
		{"functions", n.prepareFunctions},
		{"live", n.prepareLive},
		{"proxy", n.prepareProxy},
		{"admin", n.prepareAdmin},
	}
}

// reload is one application of a configuration.
type reload struct {
	last, next *config.Config
	proxy      *proxy.Proxy      // what Node.proxy will be; set by the section proxy
	deployed   []deploy.Function // what will be deployed
	only       string            // the function that is deployed or removed; all others stay. Empty: any may change
}

// Refused says that a section cannot apply a configuration, which therefore is not in use.
type Refused struct {
	Section string // as in the configuration: identities
	Err     error  // names the field, and what to do
}

// Error returns the text of Err, which begins with the field.
func (e *Refused) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Refused) Unwrap() error { return e.Err }

// Apply replaces the node's configuration, as a whole or not at all, while the node runs. It returns an error that joins
// *Refused if a section cannot apply it. n refers to next from then on, which must not be changed.
func (n *Node) Apply(next *config.Config) error {
	if err := next.Check(n.extensions.Program()); err != nil {
		return err
	}
	return n.applyChecked(next)
}

// applyChecked is Apply for a configuration that was checked.
func (n *Node) applyChecked(next *config.Config) error {
	n.applying.Lock()
	defer n.applying.Unlock()
	if n.serving == nil {
		return errors.New("node: reload: the node does not run, or is stopping")
	}
	n.phase(PhaseReloading)
	defer n.phase(PhaseReady)
	changed, err := n.apply(&reload{last: n.config(), next: next, proxy: n.proxy, deployed: n.deployed.list()})
	n.reloads.count(err, time.Now())
	if err != nil {
		return err
	}
	for _, c := range changed {
		n.log.Info("configuration applied", "section", c.name, "changed", c.what)
	}
	if len(changed) == 0 {
		n.log.Info("configuration applied: nothing has changed")
	}
	return nil
}

// applied is a change that was committed.
type applied struct{ name, what string }

// apply prepares all sections and commits them, or aborts them.
func (n *Node) apply(r *reload) (changed []applied, err error) {
	var ready []change
	var refused []error
	fixed := n.needRestarts(r)
	for _, s := range n.sections() {
		if refuses := fixed[s.name]; len(refuses) > 0 {
			refused = append(refused, refuses...)
			continue
		}
		if s.prepare == nil {
			continue
		}
		pace.Step()
		c, err := s.prepare(r)
		for _, each := range split(err) {
			refused = append(refused, &Refused{s.name, each})
		}
		if err != nil {
			continue
		}
		ready = append(ready, c)
		if c.what != "" {
			changed = append(changed, applied{s.name, c.what})
		}
	}
	if len(refused) > 0 {
		for i := len(ready) - 1; i >= 0; i-- {
			if ready[i].abort != nil {
				ready[i].abort()
			}
		}
		return nil, errors.Join(refused...)
	}
	n.cfg.Store(r.next)
	for _, c := range ready {
		if c.commit != nil {
			c.commit()
		}
	}
	return changed, nil
}

// split returns the single errors that err joins; nil if err is nil.
func split(err error) []error {
	if err == nil {
		return nil
	}
	var ofProxy proxy.Errors
	if errors.As(err, &ofProxy) {
		return ofProxy.Unwrap()
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // the outermost error only
		return joined.Unwrap()
	}
	return []error{err}
}

// differences describes what was added, removed and changed.
func differences(added, removed, changed []string) string {
	var parts []string
	for _, p := range []struct {
		verb  string
		names []string
	}{{"added", added}, {"removed", removed}, {"changed", changed}} {
		if len(p.names) > 0 {
			parts = append(parts, p.verb+" "+strings.Join(p.names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}
