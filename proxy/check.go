package proxy

import (
	"errors"
	"fmt"
	"strings"

	"example.com/ferry/format"
	"example.com/ferry/internal/invalid"
	"example.com/ferry/internal/pace"
	"example.com/ferry/loop"
	"example.com/ferry/proxy/bolt"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// Check returns all errors in c as Errors, or nil. formats are the formats that payload conditions may name.
func (c *Config) Check(formats []format.Format) error {
	_, err := c.CompileAfter(formats, nil)
	return err
}

// Compiled is a Config that was checked, with its routing tables.
type Compiled struct {
	cfg    *Config
	tables []*route.Table        // of the listeners
	pages  []exchange.ErrorPages // of the listeners
}

// table returns the table of the listener that has the name of l, or nil.
func (c *Compiled) table(l *Listener) *route.Table {
	if c != nil {
		for i := range c.cfg.Listeners {
			if c.cfg.Listeners[i].name() == l.name() {
				return c.tables[i]
			}
		}
	}
	return nil
}

// Compile checks c, which must not be changed afterwards, and makes what Proxy.PrepareCompiled needs. The error is that of Check.
func (c *Config) Compile(formats []format.Format) (*Compiled, error) {
	return c.CompileAfter(formats, nil)
}

// CompileAfter is Compile for the next configuration of a proxy that runs with before, or nil. Routes that stay are not
// compiled again, and keep their rate limits and retry budgets: see route.NewAfter.
func (c *Config) CompileAfter(formats []format.Format, before *Compiled) (*Compiled, error) {
	k := checker{cfg: c, clusters: map[string]bool{}, protocols: map[string]upstream.Protocol{}, spoken: map[string]upstream.Protocol{}}
	for i := range c.Clusters {
		k.cluster(fmt.Sprintf("clusters[%d]", i), i)
	}
	if len(c.Listeners) == 0 {
		k.add("listeners", "none: a proxy needs an address clients can connect to")
	}
	names, addresses := map[string]int{}, map[string]int{}
	made := &Compiled{c, make([]*route.Table, len(c.Listeners)), make([]exchange.ErrorPages, len(c.Listeners))}
	for i := range c.Listeners {
		l, at := &c.Listeners[i], fmt.Sprintf("listeners[%d]", i)
		if first, ok := names[l.name()]; ok {
			k.add(at+".name", "%q is the name of listeners[%d] already", l.name(), first)
		} else if first, ok := addresses[l.Address]; ok && !strings.HasSuffix(l.Address, ":0") {
			k.add(at+".address", "%q stands in listeners[%d] already", l.Address, first)
		}
		names[l.name()], addresses[l.Address] = i, i
		made.tables[i] = k.listener(at, l, formats, before.table(l))
		made.pages[i] = k.errorPages(at, l)
	}
	k.errs.AddAt("proxy", "overload", c.Overload.Check())
	if err := c.AccessLog.Check(); err != nil {
		k.errs.AddAt("proxy", "access_log", err)
	}
	if len(k.errs) > 0 {
		return nil, k.errs
	}
	return made, nil
}

type checker struct {
	cfg       *Config
	clusters  map[string]bool
	protocols map[string]upstream.Protocol // protocol of each cluster that sets Protocol
	spoken    map[string]upstream.Protocol // protocol that the listeners whose routes name the cluster give it
	errs      Errors
}

func (k *checker) add(at, reason string, args ...any) { k.errs.Add("proxy", at, reason, args...) }

func (k *checker) cluster(at string, i int) {
	c := &k.cfg.Clusters[i]
	if k.clusters[c.Name] {
		k.add(at+".name", "%q is taken by a cluster above", c.Name)
	}
	k.clusters[c.Name] = true
	k.protocols[c.Name] = c.Protocol
	k.errs.AddAt("proxy", at, c.Check())
}

func (k *checker) listener(at string, l *Listener, formats []format.Format, before *route.Table) *route.Table {
	if _, err := loop.ParseAddr(l.Address); err != nil {
		k.add(at+".address", "%q: write a number and a port, as 127.0.0.1:8080, or 0.0.0.0:8080 for all of the machine's addresses, or unix: and a path", l.Address)
	}
	given := 0
	for _, is := range []bool{l.Cluster != "", len(l.Routes) > 0, len(l.VirtualHosts) > 0} {
		if is {
			given++
		}
	}
	if given != 1 {
		k.add(at, "%d of cluster, routes and virtual_hosts: a listener has one of them", given)
		return nil
	}
	table, err := route.NewAfter(l.table(), formats, before)
	var errs Errors
	if errors.As(err, &errs) {
		for _, e := range errs {
			k.add(at+"."+l.field(e.Field), "%s", e.Reason)
		}
		return nil
	}
	if !k.speaks(l, table.Clusters()) {
		k.clusterErrors(at, l)
	}
	k.errs.AddAt("proxy", at+".limits", l.Limits.Check())
	if wrong := l.Path.Check(); wrong != "" {
		k.add(at+".path", "%s", wrong)
	}
	if l.Compression != nil {
		if field, wrong := l.Compression.Check(); wrong != "" {
			k.add(at+".compression."+field, "%s", wrong)
		}
		if l.Protocol == Bolt {
			k.add(at+".compression", "is for HTTP: leave it out with protocol %s", Bolt)
		}
	}
	if l.TLS != nil {
		k.listenerTLS(at+".tls", l.TLS)
	}
	switch l.Protocol {
	case HTTP1, HTTP2, HTTP:
		k.errs.AddAt("proxy", at+".http1", l.HTTP1.Check())
		k.errs.AddAt("proxy", at+".http2", l.HTTP2.Check())
	case Bolt:
		k.errs.AddAt("proxy", at+".bolt", l.Bolt.Check())
		if l.ReasonHeader {
			k.add(at+".reason_header", "is for HTTP: the access log has the reasons of bolt")
		}
		if errors.As(bolt.CheckRoutes(table), &errs) {
			for _, e := range errs {
				k.add(at+"."+l.field(e.Field), "%s", e.Reason)
			}
		}
	default:
		k.add(at+".protocol", "%q: write %s, %s, %s or %s", l.Protocol, HTTP1, HTTP2, HTTP, Bolt)
	}
	return table
}

// errorPages reads the error pages of a listener.
func (k *checker) errorPages(at string, l *Listener) exchange.ErrorPages {
	pages, err := exchange.ReadErrorPages(l.ErrorPages)
	k.errs.AddAt("proxy", at, err)
	if l.Protocol == Bolt && l.ErrorPages != nil {
		k.add(at+".error_pages", "is for HTTP: leave it out with protocol %s", Bolt)
	}
	for i, page := range l.ErrorPages {
		for n, name := range page.Clusters {
			if !k.clusters[name] {
				k.add(fmt.Sprintf("%s.error_pages[%d].clusters[%d]", at, i, n), "there is no cluster %q: add it to clusters", name)
			}
		}
	}
	return pages
}

// speaks notes that a listener's routes name these clusters. It reports whether there are all of them, and the listener can forward to each.
func (k *checker) speaks(l *Listener, clusters []string) bool {
	speaks := l.clusterProtocol()
	for _, name := range clusters {
		own, spoken := k.protocols[name], k.spoken[name]
		if !k.clusters[name] || own != "" && !canForward(speaks, own) || own == "" && spoken != "" && spoken != speaks {
			return false
		}
	}
	for _, name := range clusters {
		k.spoken[name] = speaks
	}
	return true
}

// clusterErrors adds an error for each route whose cluster is missing, or speaks another protocol.
func (k *checker) clusterErrors(at string, l *Listener) {
	speaks := l.clusterProtocol()
	l.eachCluster(func(field func() string, name string) {
		switch spoken := k.spoken[name]; {
		case !k.clusters[name]:
			k.add(at+"."+field(), "there is no cluster %q: add it to clusters", name)
		case k.protocols[name] != "":
			if own := k.protocols[name]; !canForward(speaks, own) {
				k.add(at+"."+field(), "cluster %q speaks %s: a request of %s has no meaning there", name, own, l.Protocol)
			}
		case spoken != "" && spoken != speaks:
			if canForward(spoken, speaks) {
				k.add(at+"."+field(), "another listener speaks %s to cluster %q, this one %s: say in the cluster's protocol which it speaks", spoken, name, speaks)
			} else {
				k.add(at+"."+field(), "another listener speaks %s to cluster %q, this one %s: make it two clusters", spoken, name, speaks)
			}
		}
		k.spoken[name] = speaks
	})
}

// canForward reports whether requests in one protocol can be forwarded in another.
func canForward(from, to upstream.Protocol) bool {
	return (from == upstream.Bolt) == (to == upstream.Bolt)
}

// eachCluster calls tell for each cluster that l names. field returns the path of the name in l.
func (l *Listener) eachCluster(tell func(field func() string, name string)) {
	hosts := l.table().VirtualHosts
	for h := range hosts {
		for r := range hosts[h].Routes {
			pace.Step()
			rule := &hosts[h].Routes[r]
			at := func() string {
				at := l.field(fmt.Sprintf("virtual_hosts[%d].routes[%d]", h, r))
				if l.Cluster == "" {
					at += ".cluster"
				}
				return at
			}
			if rule.Cluster != "" {
				tell(at, rule.Cluster)
			}
			for c, weighted := range rule.Clusters {
				tell(func() string { return fmt.Sprintf("%ss[%d].cluster", at(), c) }, weighted.Cluster)
			}
		}
	}
}

// field translates a field path of package route to a path in l.
func (l *Listener) field(field string) string {
	switch {
	case l.Cluster != "":
		return "cluster"
	case len(l.Routes) > 0:
		return strings.TrimPrefix(field, "virtual_hosts[0].")
	}
	return field
}

// Error is one error in a Config. Its Field is a path such as listeners[0].routes[2].match.path.
type Error = invalid.Error

// Errors is the list of all errors in a Config. It is never empty.
type Errors = invalid.Errors
