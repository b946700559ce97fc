package route_test

import (
	"fmt"
	"time"

	"example.com/ferry/format/all"
	"example.com/ferry/proxy/route"
)

func Example() {
	table, err := route.New(&route.Config{VirtualHosts: []route.VirtualHost{{
		Hosts: []string{"*"},
		Routes: []route.Rule{
			{Match: route.Match{Path: "/health"}, Respond: &route.Response{Status: 200, Body: "ok"}},
			{Match: route.Match{SegmentPrefix: "/api"}, Cluster: "backend"},
		},
	}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := table.NewMatcher()
	for _, path := range []string{"/health", "/api/items", "/apis"} {
		r, result := m.Match(&route.Request{Path: []byte(path)}, nil, true)
		switch {
		case result != route.Found:
			fmt.Println(path, "has no route")
		case r.Forwards():
			fmt.Println(path, "->", table.Clusters()[r.Pick(0)])
		default:
			fmt.Println(path, "->", r.Respond.Status, r.Respond.Body)
		}
	}
	// Output:
	// /health -> 200 ok
	// /api/items -> backend
	// /apis has no route
}

// A route may depend on a field of the payload. The route is found as soon as that field has arrived.
func ExampleMatcher_Match() {
	alarms := route.Rule{Cluster: "alarms"}
	alarms.Match.Payload = &route.Payload{Format: "json", Where: `kind == "alarm"`}
	table, err := route.New(&route.Config{VirtualHosts: []route.VirtualHost{{
		Hosts:  []string{"*"},
		Routes: []route.Rule{alarms, {Cluster: "others"}},
	}}}, all.Formats())
	if err != nil {
		fmt.Println(err)
		return
	}
	m, request := table.NewMatcher(), &route.Request{Path: []byte("/events")}
	match := m.Match
	for _, arrived := range []string{`{"ki`, `{"kind":"alarm",`} {
		r, result := match(request, []byte(arrived), false)
		match = m.Continue
		if result == route.NeedPayload {
			fmt.Println(arrived, "is not enough")
			continue
		}
		fmt.Println(arrived, "->", r.Cluster)
	}
	// Output:
	// {"ki is not enough
	// {"kind":"alarm", -> alarms
}

func ExampleConfig_Check() {
	c := route.Config{VirtualHosts: []route.VirtualHost{{
		Hosts:  []string{"example.com:80"},
		Routes: []route.Rule{{Match: route.Match{Prefix: "api"}, Cluster: "backend"}},
	}}}
	fmt.Println(c.Check(nil))
	// Output:
	// route: virtual_hosts[0].hosts[0]: "example.com:80" has a port, which is not matched: leave it out
	// route: virtual_hosts[0].routes[0].match.prefix: "api" does not begin with a slash: every path does
}

func ExampleRoute_Rewrite() {
	rule := route.Rule{Match: route.Match{SegmentPrefix: "/api"}, Cluster: "backend"}
	rule.Forward.Rewrite.Prefix = "/v2"
	table, err := route.New(&route.Config{VirtualHosts: []route.VirtualHost{{Hosts: []string{"*"}, Routes: []route.Rule{rule}}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	path := "/api/items"
	strip, with := table.Routes()[0].Rewrite([]byte(path))
	fmt.Println(with + path[strip:])
	// Output: /v2/items
}

func ExampleBucket_Allow() {
	rule := route.Rule{Cluster: "backend", RateLimit: &route.RateLimit{RequestsPerSecond: 10, Burst: 2}}
	table, err := route.New(&route.Config{VirtualHosts: []route.VirtualHost{{Hosts: []string{"*"}, Routes: []route.Rule{rule}}}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	bucket := table.Routes()[0].Bucket
	for _, now := range []time.Duration{0, 0, 0, 100 * time.Millisecond} {
		fmt.Println(now, bucket.Allow(now))
	}
	// Output:
	// 0s true
	// 0s true
	// 0s false
	// 100ms true
}
