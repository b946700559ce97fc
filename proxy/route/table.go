package route

import (
	"runtime"
	"strconv"

	"example.com/ferry/format"
)

// Table is a compiled Config. It is immutable except for the counts of its buckets and budgets. Many goroutines may
// use it.
type Table struct {
	hosts    hosts
	clusters []string
	routes   []*Route
	inOrder  []*virtualHost // as in the Config
	searches []fieldSearch
	maxTests int // number of tests in the longest predicate
}

// New compiles a table. formats are the formats that payload conditions may name. If c is invalid, the error is an
// Errors with all errors in c. The Table refers to c, which must not be changed afterwards.
func New(c *Config, formats []format.Format) (*Table, error) { return NewAfter(c, formats, nil) }

// NewAfter is New for the next Config of something that has a table, or nil. A virtual host whose Routes are the same slice as in the Config of before, in the
// same place, is not compiled again: both tables share its routes, with their buckets and budgets.
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
	b := builder{
		before:     before,
		leastGroup: leastGroup,
		formats:    map[string]format.Format{},
		clusters:   map[string]int{},
		searches:   map[string]int{},
		table:      &Table{hosts: hosts{exact: map[string]*virtualHost{}, wildcard: map[string]*virtualHost{}}},
	}
	for _, f := range formats {
		b.formats[f.Name()] = f
	}
	for i := range c.VirtualHosts {
		name, at := "virtual_hosts["+strconv.Itoa(i)+"]", fieldPath("")
		if named {
			at = fieldPath(name)
		}
		b.compileVirtualHost(name, at, &c.VirtualHosts[i])
	}
	return b.table, b.errs
}

// turn is how many routes are compiled before other goroutines get their turn: event loops share the processor.
const turn = 32

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
	errs     Errors

	leastGroup int // routes of the smallest payloadGroup
}

// compileVirtualHost compiles the virtual host called name. at is its name too, or empty.
func (b *builder) compileVirtualHost(name string, at fieldPath, c *VirtualHost) {
	v := b.unchanged(c)
	known := v != nil
	if !known {
		v = &virtualHost{rules: c.Routes, routes: make([]*Route, 0, len(c.Routes))}
	}
	b.table.inOrder = append(b.table.inOrder, v)
	if len(c.Hosts) == 0 {
		b.addError(at.dot("hosts"), "empty: name a host, or * for all others")
	}
	for i, host := range c.Hosts {
		if reason := b.table.hosts.add(host, v); reason != "" {
			b.addError(at.dot("hosts").index(i), "%q %s", host, reason)
		}
	}
	if known {
		b.table.routes = append(b.table.routes, v.routes...)
		return
	}
	for i := range c.Routes {
		r := b.compileRoute(name+".routes["+strconv.Itoa(i)+"]", at.dot("routes").index(i), &c.Routes[i])
		r.Index = len(b.table.routes)
		v.routes = append(v.routes, r)
		b.table.routes = append(b.table.routes, r)
		if r.Index%turn == 0 {
			runtime.Gosched()
		}
	}
	v.index = b.table.newIndex(v.routes, b.leastGroup)
}

// unchanged returns the virtual host of the table before that c was compiled to; nil if c, or what its routes refer to, is another now.
func (b *builder) unchanged(c *VirtualHost) *virtualHost {
	if b.before == nil || len(b.table.inOrder) >= len(b.before.inOrder) || len(c.Routes) == 0 {
		return nil
	}
	v := b.before.inOrder[len(b.table.inOrder)]
	if len(v.rules) != len(c.Routes) || &v.rules[0] != &c.Routes[0] || v.routes[0].Index != len(b.table.routes) {
		return nil
	}
	for _, r := range v.routes {
		if r.conditions.payload != nil { // it refers to searches of the table
			return nil
		}
		for i, w := range r.clusters {
			name := r.Cluster
			if name == "" {
				name = r.Clusters[i].Cluster
			}
			if b.clusterIndex("", name) != w.cluster {
				return nil
			}
		}
	}
	return v
}

func (b *builder) clusterIndex(at fieldPath, name string) int {
	if name == "" {
		b.addError(at, "empty: name a cluster")
	}
	i, ok := b.clusters[name]
	if !ok {
		i = len(b.table.clusters)
		b.clusters[name] = i
		b.table.clusters = append(b.table.clusters, name)
	}
	return i
}
