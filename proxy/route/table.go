package route

import (
	"slices"
	"strconv"
	"strings"

	"example.com/ferry/format"
	"example.com/ferry/internal/pace"
)

// Table is a compiled Config. It is immutable except for the counts of its buckets and budgets. Many goroutines may
// use it.
type Table struct {
	hosts    hosts
	clusters []string
	routes   []*Route
	virtual  []*virtualHost          // in the order of the configuration
	byName   map[string]*virtualHost // key is the first of Hosts, in lower case
	searches []fieldSearch
	maxTests int // number of tests in the longest predicate
}

// New compiles a table. formats are the formats that payload conditions may name. If c is invalid, the error is an
// Errors with all errors in c. The Table refers to c, which must not be changed afterwards.
func New(c *Config, formats []format.Format) (*Table, error) { return NewAfter(c, formats, nil) }

// NewAfter is New for the next Config of something that has a table, or nil. Routes keep their buckets and budgets if the virtual host of the same
// name, which is the first of Hosts, had the same Rule, whatever its place and its name. A virtual host with the same Hosts whose Routes are the same
// slice, in the same place of the Config, is not compiled again: both tables share its routes.
func NewAfter(c *Config, formats []format.Format, before *Table) (*Table, error) {
	return newTable(c, formats, before, minGroup)
}

func newTable(c *Config, formats []format.Format, before *Table, leastGroup int) (*Table, error) {
	if t, errs := build(c, formats, before, leastGroup, false); errs == nil {
		return t, nil
	}
	_, errs := build(c, formats, nil, leastGroup, true)
	return nil, errs
}

// build compiles a table. The errors name fields only if named is set.
func build(c *Config, formats []format.Format, before *Table, leastGroup int, named bool) (*Table, Errors) {
	n := len(c.VirtualHosts)
	b := builder{
		before:     before,
		leastGroup: leastGroup,
		formats:    map[string]format.Format{},
		clusters:   map[string]int{},
		searches:   map[string]int{},
		table: &Table{
			virtual: make([]*virtualHost, 0, n), byName: make(map[string]*virtualHost, n),
			hosts: hosts{exact: make(map[string]*virtualHost, n), wildcard: map[string]*virtualHost{}},
		},
	}
	if before != nil {
		b.table.routes = make([]*Route, 0, len(before.routes)+1)
	}
	for _, f := range formats {
		b.formats[f.Name()] = f
	}
	for i := range c.VirtualHosts {
		b.compileVirtualHost(i, &c.VirtualHosts[i], named)
		pace.Step()
	}
	return b.table, b.errs
}

// Check returns all errors in c as Errors, or nil. formats are the formats that payload conditions may name.
func (c *Config) Check(formats []format.Format) error {
	_, err := New(c, formats)
	return err
}

// Clusters returns the names of the clusters that routes forward to, without duplicates. The caller must not change
// the slice.
func (t *Table) Clusters() []string { return t.clusters }

// Routes returns all routes in the order of the configuration. The caller must not change the slice.
func (t *Table) Routes() []*Route { return t.routes }

// builder compiles a Config and collects the errors in it.
type builder struct {
	formats  map[string]format.Format
	clusters map[string]int // index in table.clusters
	searches map[string]int // index in table.searches
	before   *Table         // nil: all is compiled
	table    *Table
	host     *virtualHost // that is compiled
	errs     Errors

	leastGroup int // routes of the smallest payloadGroup
}

// compileVirtualHost compiles virtual host n. Errors name it only if named is set.
func (b *builder) compileVirtualHost(n int, c *VirtualHost, named bool) {
	prior := b.prior(n, c)
	v := b.unchanged(n, prior, c)
	known := v != nil
	if !known {
		v = &virtualHost{hosts: c.Hosts, at: n, rules: c.Routes, routes: make([]*Route, 0, len(c.Routes))}
	}
	b.host, b.table.virtual = v, append(b.table.virtual, v)
	name, at := "", fieldPath("")
	if !known || named {
		name = "virtual_hosts[" + strconv.Itoa(n) + "]"
	}
	if named {
		at = fieldPath(name)
	}
	if len(c.Hosts) == 0 {
		b.addError(at.dot("hosts"), "empty: name a host, or * for all others")
	} else {
		b.table.byName[strings.ToLower(c.Hosts[0])] = v
	}
	valid := prior != nil && slices.Equal(prior.hosts, c.Hosts)
	for i, host := range c.Hosts {
		if reason := b.table.hosts.add(host, v, valid); reason != "" {
			b.addError(at.dot("hosts").index(i), "%q %s", host, reason)
		}
	}
	if known {
		b.table.routes = append(b.table.routes, v.routes...)
		return
	}
	kept := keptLimits{prior: prior}
	for i := range c.Routes {
		r := b.compileRoute(name+".routes["+strconv.Itoa(i)+"]", at.dot("routes").index(i), &c.Routes[i])
		r.Index = len(b.table.routes)
		kept.keep(r, i, &c.Routes[i])
		v.routes = append(v.routes, r)
		v.payloads = v.payloads || r.conditions.payload != nil // it refers to searches of the table
		b.table.routes = append(b.table.routes, r)
		pace.Step()
	}
	v.index = b.table.newIndex(v.routes, b.leastGroup)
}

// prior returns the virtual host of the table before that has the name of c, which is number n, or nil.
func (b *builder) prior(n int, c *VirtualHost) *virtualHost {
	if b.before == nil || len(c.Hosts) == 0 {
		return nil
	}
	if n < len(b.before.virtual) && b.before.virtual[n].hosts[0] == c.Hosts[0] {
		return b.before.virtual[n]
	}
	return b.before.byName[strings.ToLower(c.Hosts[0])]
}

// unchanged returns prior if it has the hosts and the Routes of c, which is number n, in the same place; nil if these, or what they refer to, are
// others now.
func (b *builder) unchanged(n int, prior *virtualHost, c *VirtualHost) *virtualHost {
	if prior == nil || len(c.Routes) == 0 || len(prior.rules) != len(c.Routes) || &prior.rules[0] != &c.Routes[0] {
		return nil
	}
	if prior.at != n || prior.routes[0].Index != len(b.table.routes) || prior.payloads || !slices.Equal(prior.hosts, c.Hosts) {
		return nil
	}
	for _, used := range prior.clusters {
		if b.index(used.name) != used.index {
			return nil
		}
	}
	return prior
}

// clusterIndex returns the index of a cluster that a route of b.host names.
func (b *builder) clusterIndex(at fieldPath, name string) int {
	if name == "" {
		b.addError(at, "empty: name a cluster")
	}
	i := b.index(name)
	b.host.uses(name, i)
	return i
}

// index returns the index of a cluster, which it adds if the table has it not yet.
func (b *builder) index(cluster string) int {
	i, ok := b.clusters[cluster]
	if !ok {
		i = len(b.table.clusters)
		b.clusters[cluster] = i
		b.table.clusters = append(b.table.clusters, cluster)
	}
	return i
}
