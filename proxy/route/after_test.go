package route_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"example.com/ferry/format/all"
	"example.com/ferry/proxy/route"
)

// TestNewAfter changes a configuration again and again. The table that is made after the one before has the same routes, clusters and
// results as a new one.
func TestNewAfter(t *testing.T) {
	t.Parallel()
	c := choices{rand.New(rand.NewPCG(7, 8))}
	shared := 0
	for range 60 {
		config := &route.Config{}
		var last *route.Table
		for range 12 {
			config = c.changed(config)
			after, err := route.NewAfter(config, all.Formats(), last)
			if err != nil {
				t.Fatal(err)
			}
			fresh := table(t, config)
			if !reflect.DeepEqual(after.Clusters(), fresh.Clusters()) || len(after.Routes()) != len(fresh.Routes()) {
				t.Fatalf("got %d routes, clusters %v, want %d routes, clusters %v", len(after.Routes()), after.Clusters(), len(fresh.Routes()), fresh.Clusters())
			}
			for i, r := range after.Routes() {
				want := fresh.Routes()[i]
				if r.Index != i || r.At != want.At || r.Name != want.Name || !reflect.DeepEqual(r.Rule, want.Rule) || r.Pick(0) != want.Pick(0) || r.Pick(1<<63) != want.Pick(1<<63) {
					t.Fatalf("route %d: got %+v, want %+v", i, r, want)
				}
				if last != nil && i < len(last.Routes()) && last.Routes()[i] == r {
					shared++
				}
			}
			m, reference := after.NewMatcher(), fresh.NewMatcher()
			for range 20 {
				r, payload := c.request(), c.payload()
				r.Host = fmt.Appendf(nil, "h%d", c.IntN(8))
				if got, want := inPieces(m, r, payload, c.IntN(len(payload)+1)), inPieces(reference, r, payload, 0); got != want {
					t.Fatalf("%s %s: got %s, want %s", r.Host, r.Path, got, want)
				}
			}
			last = after
		}
	}
	if shared < 1000 {
		t.Errorf("%d routes are shared: too few", shared)
	}
}

// changed returns a configuration that shares most virtual hosts with another one.
func (c choices) changed(last *route.Config) *route.Config {
	next := &route.Config{VirtualHosts: slices.Clone(last.VirtualHosts)}
	made := func() (v route.VirtualHost) {
		for i := range 1 + c.IntN(6) {
			rule := to(fmt.Sprint("route ", i), c.match())
			rule.Cluster = pick(c, "a", "b", "c")
			if c.IntN(4) == 0 {
				rule.Cluster, rule.Clusters = "", []route.Weighted{{Cluster: pick(c, "a", "d"), Weight: 1}, {Cluster: "e", Weight: 2}}
			}
			v.Routes = append(v.Routes, rule)
		}
		return v
	}
	n := len(next.VirtualHosts)
	switch at := c.IntN(n + 1); {
	case at == n || n < 3:
		next.VirtualHosts = append(next.VirtualHosts, made())
	case c.IntN(4) == 0:
		next.VirtualHosts = slices.Delete(next.VirtualHosts, at, at+1)
	case c.IntN(3) == 0:
		other := c.IntN(n)
		next.VirtualHosts[at], next.VirtualHosts[other] = next.VirtualHosts[other], next.VirtualHosts[at]
	default:
		next.VirtualHosts[at] = made()
	}
	for i := range next.VirtualHosts { // the names of hosts change, and the routes stay
		next.VirtualHosts[i].Hosts = []string{fmt.Sprint("h", i)}
	}
	return next
}

// limited returns a rule with a rate limit and a retry budget.
func limited(name string) route.Rule {
	r := to(name, route.Match{Prefix: "/" + name})
	r.RateLimit = &route.RateLimit{RequestsPerSecond: 1, Burst: 1}
	r.Forward.Retry = &route.Retry{On: []route.Cause{route.On5xx}}
	return r
}

// TestNewAfterLimits: a route keeps its bucket and its budget while its rule stays the same in the virtual host of the same name.
func TestNewAfterLimits(t *testing.T) {
	t.Parallel()
	payload := limited("payload")
	payload.Match.Payload = &route.Payload{Format: "json", Where: "k == 1"}
	faster, other, renamed := limited("a"), limited("a"), limited("a")
	renamed.Name = "another"
	faster.RateLimit = &route.RateLimit{RequestsPerSecond: 2, Burst: 1}
	other.Cluster = "b"
	named := func(name string, rules ...route.Rule) route.VirtualHost {
		return route.VirtualHost{Hosts: []string{name}, Routes: rules}
	}
	for _, c := range []struct {
		name      string
		was, is   []route.VirtualHost
		at, wasAt int // the route to compare
		keeps     bool
	}{
		{"the same rules in another list", []route.VirtualHost{named("h", limited("a"))}, []route.VirtualHost{named("h", limited("a"))}, 0, 0, true},
		{"another rule of the host changes", []route.VirtualHost{named("h", limited("a"), limited("b"))}, []route.VirtualHost{named("h", faster, limited("b"))}, 1, 1, true},
		{"a condition on the payload", []route.VirtualHost{named("h", payload)}, []route.VirtualHost{named("h", payload)}, 0, 0, true},
		{"a route before it", []route.VirtualHost{named("h", limited("a"))}, []route.VirtualHost{named("h", limited("b"), limited("a"))}, 1, 0, true},
		{"no route before it any more", []route.VirtualHost{named("h", limited("b"), limited("a"))}, []route.VirtualHost{named("h", limited("a"))}, 0, 1, true},
		{"in another order", []route.VirtualHost{named("h", payload, limited("a"))}, []route.VirtualHost{named("h", limited("a"), payload)}, 1, 0, true},
		{"another name", []route.VirtualHost{named("h", limited("a"))}, []route.VirtualHost{named("h", limited("b"), renamed)}, 1, 0, true},
		{"two routes before it", []route.VirtualHost{named("h", limited("a"), limited("b"), limited("c"))}, []route.VirtualHost{named("h", limited("d"), limited("e"), limited("a"), limited("b"), limited("c"))}, 4, 2, true},
		{"one before it, and one less", []route.VirtualHost{named("h", limited("a"), limited("b"), limited("c"))}, []route.VirtualHost{named("h", limited("d"), limited("a"), limited("c"))}, 2, 2, true},
		{"the same rule twice", []route.VirtualHost{named("h", limited("a"))}, []route.VirtualHost{named("h", limited("a"), limited("a"))}, 1, 0, false},
		{"a host before it", []route.VirtualHost{named("h", limited("a"))}, []route.VirtualHost{named("g", limited("b")), named("h", limited("a"))}, 1, 0, true},
		{"the host moves", []route.VirtualHost{named("g", limited("a")), named("h", limited("a"))}, []route.VirtualHost{named("h", limited("a")), named("g", limited("a"))}, 0, 1, true},
		{"the host has the place of another", []route.VirtualHost{named("g", limited("a")), named("h", limited("a"))}, []route.VirtualHost{named("h", limited("a")), named("g", limited("a"))}, 0, 0, false},
		{"another host", []route.VirtualHost{named("g", limited("a"))}, []route.VirtualHost{named("h", limited("a"))}, 0, 0, false},
		{"another rate", []route.VirtualHost{named("h", limited("a"))}, []route.VirtualHost{named("h", faster)}, 0, 0, false},
		{"another cluster", []route.VirtualHost{named("h", limited("a"))}, []route.VirtualHost{named("h", other)}, 0, 0, false},
		{"a second name of a host", []route.VirtualHost{{Hosts: []string{"g", "h"}, Routes: []route.Rule{limited("a")}}}, []route.VirtualHost{named("g", limited("a")), named("h", limited("a"))}, 1, 0, false},
		{"all hosts", []route.VirtualHost{named("*", limited("a"))}, []route.VirtualHost{named("*", limited("a"))}, 0, 0, true},
		{"in capitals", []route.VirtualHost{named("*.h", limited("a"))}, []route.VirtualHost{named("*.H", limited("a"))}, 0, 0, true},
	} {
		before := table(t, &route.Config{VirtualHosts: c.was})
		after, err := route.NewAfter(&route.Config{VirtualHosts: c.is}, all.Formats(), before)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		was, is := before.Routes()[c.wasAt], after.Routes()[c.at]
		if is.Bucket == nil || is.Budget == nil || (is.Bucket == was.Bucket) != c.keeps || (is.Budget == was.Budget) != c.keeps {
			t.Errorf("%s: the bucket is kept: %v, the budget: %v, want %v", c.name, is.Bucket == was.Bucket, is.Budget == was.Budget, c.keeps)
		}
	}
}

// TestNewAfterWork: the work for the limits of a route does not grow with the number of routes, even if all of them match the same.
func TestNewAfterWork(t *testing.T) {
	allocations := func(routes int) float64 {
		list := func(rate int) *route.Config {
			rules := make([]route.Rule, routes)
			for i := range rules {
				rules[i] = limited("a")
				rules[i].RateLimit = &route.RateLimit{RequestsPerSecond: float64(rate + i)}
			}
			return &route.Config{VirtualHosts: []route.VirtualHost{{Hosts: []string{"h"}, Routes: rules}}}
		}
		before, next := table(t, list(1)), list(1+routes)
		return testing.AllocsPerRun(1, func() {
			if _, err := route.NewAfter(next, all.Formats(), before); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := allocations(50), allocations(800); many > 32*few {
		t.Errorf("%.0f allocations for 50 routes, %.0f for 800", few, many)
	}
}
