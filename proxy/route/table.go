package route

import (
	"fmt"

	"example.com/ferry/format"
)

// Table is a compiled Config: immutable but for the counts of its buckets and budgets, and safe for use by many goroutines.
type Table struct {
	hosts    hosts
	clusters []string
	routes   []*Route
	seeks    []seek
	tests    int // of the longest predicate
}

// New compiles a table. formats are those that payloads may be named in. What is wrong in c gives Errors, all at once. What
// c points to is kept and must not be changed afterwards.
func New(c *Config, formats []format.Format) (*Table, error) {
	b := builder{
		formats:  map[string]format.Format{},
		clusters: map[string]int{},
		seeks:    map[string]int{},
		table:    &Table{hosts: hosts{exact: map[string]*virtualHost{}, below: map[string]*virtualHost{}}},
	}
	for _, f := range formats {
		b.formats[f.Name()] = f
	}
	for i := range c.VirtualHosts {
		b.virtualHost(place(fmt.Sprintf("virtual_hosts[%d]", i)), &c.VirtualHosts[i])
	}
	if b.errs != nil {
		return nil, b.errs
	}
	return b.table, nil
}

// Check reports what is wrong in c: nil or Errors.
func (c *Config) Check(formats []format.Format) error {
	_, err := New(c, formats)
	return err
}

// Clusters returns the names of the clusters that routes forward to, each once. The slice is shared: it must not be changed.
func (t *Table) Clusters() []string { return t.clusters }

// Routes returns all routes, in the order they are written in. The slice is shared: it must not be changed.
func (t *Table) Routes() []*Route { return t.routes }

// builder compiles a Config and collects what is wrong in it.
type builder struct {
	formats  map[string]format.Format
	clusters map[string]int // place in table.clusters
	seeks    map[string]int // place in table.seeks
	table    *Table
	errs     Errors
}

func (b *builder) virtualHost(at place, c *VirtualHost) {
	v := &virtualHost{}
	if len(c.Hosts) == 0 {
		b.add(at.dot("hosts"), "none: name a host, or * for all others")
	}
	for i, name := range c.Hosts {
		if reason := b.table.hosts.add(name, v); reason != "" {
			b.add(at.dot("hosts").index(i), "%q %s", name, reason)
		}
	}
	for i := range c.Routes {
		r := b.route(at.dot("routes").index(i), &c.Routes[i])
		r.Index = len(b.table.routes)
		v.routes = append(v.routes, r)
		b.table.routes = append(b.table.routes, r)
	}
	v.index = newIndex(v.routes)
}

func (b *builder) cluster(at place, name string) int {
	if name == "" {
		b.add(at, "empty: name a cluster")
	}
	i, ok := b.clusters[name]
	if !ok {
		i = len(b.table.clusters)
		b.clusters[name] = i
		b.table.clusters = append(b.table.clusters, name)
	}
	return i
}
