package route_test

import (
	"fmt"
	"testing"
	"time"

	"example.com/ferry/proxy/route"
)

// hundred returns a table of 100 routes, a typical number for a gateway.
func hundred() *route.Config {
	var rules []route.Rule
	for i := range 30 {
		rules = append(rules, to("", route.Match{Path: fmt.Sprintf("/api/v1/service%02d/health", i)}))
		rules = append(rules, to("", route.Match{SegmentPrefix: fmt.Sprintf("/api/v1/service%02d", i)}))
	}
	for i := range 35 {
		rules = append(rules, to("", route.Match{Bolt: route.Bolt{Service: fmt.Sprintf("com.example.Service%02d:1.0", i)}}))
	}
	rules = append(rules,
		to("", route.Match{Headers: []route.Header{{Name: "x-canary"}}}),
		to("", route.Match{Prefix: "/static/", Methods: []string{"GET"}}),
		to("", route.Match{Prefix: "/api/", Methods: []string{"POST"}}),
		to("", where("json", `deviceName == "pump-1"`)),
		to("", route.Match{}),
	)
	for i := range rules {
		rules[i].Cluster = "c"
	}
	return &route.Config{VirtualHosts: []route.VirtualHost{
		{Hosts: []string{"api.example.com", "*.api.example.com"}, Routes: rules},
		{Hosts: []string{"*"}, Routes: []route.Rule{{Respond: &route.Response{Status: 404}}}},
	}}
}

var cases = []struct {
	name    string
	request *route.Request
	payload string
}{
	{"exact", get("GET api.example.com/api/v1/service17/health"), ""},
	{"prefix", get("GET api.example.com:8080/api/v1/service17/items/4?x=1"), ""},
	{"below", get("GET eu.api.example.com/api/v1/service17/items"), ""},
	{"bolt", withHost(call("com.example.Service17:1.0", "echo", "")), ""},
	{"payload", with(get("POST api.example.com/events"), "X-Other", "1"), `{"id":"4f1d","deviceName":"pump-1","readings":[]}`},
	{"last", with(get("PUT api.example.com/events"), "X-Other", "1"), `{"id":"4f1d","deviceName":"pump-2","readings":[]}`},
}

func withHost(r *route.Request) *route.Request {
	r.Host = []byte("api.example.com")
	return r
}

// view is a header whose Get costs nothing, so that the benchmark measures only the table.
type view struct{}

func (view) Nth(string, int) []byte { return nil }

func TestMatchAllocates(t *testing.T) {
	m := table(t, hundred()).NewMatcher()
	for _, c := range cases {
		r, payload := *c.request, []byte(c.payload)
		r.Header = view{}
		if n := testing.AllocsPerRun(100, func() {
			if _, result := m.Match(&r, payload[:len(payload)/3], len(payload) == 0); result == route.NeedPayload {
				_, result = m.Continue(&r, payload, true)
				if result != route.Found {
					t.Fatalf("%s: no route", c.name)
				}
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			m := table(b, hundred()).NewMatcher()
			r, payload := *c.request, []byte(c.payload)
			r.Header = view{}
			b.ReportAllocs()
			for b.Loop() {
				if _, result := m.Match(&r, payload, true); result != route.Found {
					b.Fatal("no route")
				}
			}
		})
	}
}

func BenchmarkAllow(b *testing.B) {
	rule := to("it", route.Match{})
	rule.RateLimit = &route.RateLimit{RequestsPerSecond: 1e6}
	bucket := table(b, host(rule)).Routes()[0].Bucket
	b.ReportAllocs()
	for now := time.Duration(0); b.Loop(); now += time.Microsecond {
		if !bucket.Allow(now) {
			b.Fatal("refused")
		}
	}
}
