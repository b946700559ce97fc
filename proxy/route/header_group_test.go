package route_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"example.com/ferry/format/all"
	"example.com/ferry/proxy/route"
)

// headerRule returns a rule with conditions on header fields, and often others.
func (c choices) headerRule() (m route.Match) {
	for range 1 + c.IntN(2) {
		h := route.Header{Name: pick(c, "x", "y", "X"), Value: fmt.Sprint("v", c.IntN(30))}
		if c.IntN(6) == 0 {
			h = pick(c, route.Header{Name: "x", Prefix: "v1"}, route.Header{Name: "y", Absent: true}, route.Header{Name: "x"}, route.Header{Name: "y", Regex: "v[0-4]"})
		}
		m.Headers = append(m.Headers, h)
	}
	switch c.IntN(6) {
	case 0:
		m.Prefix = pick(c, "/", "/a")
	case 1:
		m.Path = "/a/b"
	case 2:
		m.Methods = []string{"GET"}
	case 3:
		m.Payload = &route.Payload{Format: "json", Where: fmt.Sprintf("k == %d", c.IntN(3))}
	}
	return m
}

// TestHeaderGroups compares tables that find routes by the value of a header field with naive.
func TestHeaderGroups(t *testing.T) {
	t.Parallel()
	c := choices{rand.New(rand.NewPCG(5, 6))}
	found, none := map[string]bool{}, 0
	for range 200 {
		v := route.VirtualHost{Hosts: []string{"*"}}
		for i := range 5 + c.IntN(80) {
			m := c.headerRule()
			if c.IntN(12) == 0 {
				m = c.match()
			}
			v.Routes = append(v.Routes, to(fmt.Sprint(i), m))
		}
		config := &route.Config{VirtualHosts: []route.VirtualHost{v}}
		grouped, err := route.NewWithGroups(config, all.Formats(), pick(c, 2, 16))
		if err != nil {
			t.Fatal(err)
		}
		m := grouped.NewMatcher()
		for range 40 {
			r := c.request()
			r.Host = []byte("h")
			for _, name := range []string{"X", "Y"} {
				if c.IntN(4) > 0 {
					r.Header.(header)[name] = fmt.Sprint("v", c.IntN(33))
				}
			}
			payload := fmt.Appendf(nil, `{"k":%d}`, c.IntN(4))
			want := naive(config, r, payload)
			if got := inPieces(m, r, payload, c.IntN(len(payload)+1)); got != want {
				t.Fatalf("%s %s %v, payload %s: got %s, want %s of %+v", r.Method, r.Path, r.Header, payload, got, want, v)
			}
			if want == "none" {
				none++
			} else {
				found[want] = true
			}
		}
	}
	if len(found) < 50 || none < 200 {
		t.Errorf("%d different routes, %d requests without one: too few of one kind to compare", len(found), none)
	}
}

// tenants returns a table of n routes, each for a value of a header field.
func tenants(n int) *route.Config {
	var rules []route.Rule
	for i := range n {
		rules = append(rules, to(fmt.Sprint("tenant-", i), route.Match{Headers: []route.Header{{Name: "x-tenant", Value: fmt.Sprint("tenant-", i)}}}))
	}
	return host(append(rules, to("other", route.Match{}))...)
}

// oneField is a header of one field. Its Get allocates nothing.
type oneField []byte

func (f oneField) Nth(_ string, n int) []byte {
	if n > 0 {
		return nil
	}
	return f
}

func TestHeaderGroupsAllocateNothing(t *testing.T) {
	m := table(t, tenants(1000)).NewMatcher()
	r := *get("GET a/events")
	for name, want := range map[string]string{"tenant-777": "tenant-777", "unknown": "other"} {
		r.Header = oneField(name)
		if n := testing.AllocsPerRun(100, func() {
			if route, _ := m.Match(&r, nil, true); route == nil || route.Name != want {
				t.Fatalf("got %+v, want %s", route, want)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkHeaderRoutes(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m := table(b, tenants(n)).NewMatcher()
			r := *get("GET a/events")
			values := make([]oneField, 64)
			for i := range values {
				values[i] = oneField(fmt.Sprint("tenant-", i*n/len(values)))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				r.Header = values[i%len(values)]
				if route, _ := m.Match(&r, nil, true); route == nil || route.Index == n {
					b.Fatal("another route")
				}
			}
		})
	}
}
