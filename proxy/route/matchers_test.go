package route_test

import (
	"testing"

	"example.com/ferry/proxy/route"
)

// TestFreeMatchers: a Matcher is reused for its own table only.
func TestFreeMatchers(t *testing.T) {
	t.Parallel()
	cfg := &route.Config{VirtualHosts: []route.VirtualHost{{Hosts: []string{"*"}, Routes: []route.Rule{{Cluster: "c"}}}}}
	first, second := table(t, cfg), table(t, cfg)
	var free route.Matchers
	a, b := free.Get(first), free.Get(first)
	if a == b {
		t.Fatal("a Matcher in use is returned")
	}
	free.Put(a)
	if free.Get(first) != a {
		t.Error("a free Matcher is not reused")
	}
	free.Put(a)
	c := free.Get(second)
	free.Put(b) // of the table before
	if c == a || free.Get(second) == b {
		t.Error("a Matcher of another table is returned")
	}
	free.Put(c)
	if free.Get(second) != c {
		t.Error("a free Matcher of the second table is not reused")
	}
}
