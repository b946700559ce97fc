package route_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"example.com/ferry/format/all"
	"example.com/ferry/protocol/http1"
	"example.com/ferry/proxy/route"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	match := func(m route.Match) *route.Config { return host(to("it", m)) }
	rule := func(r route.Rule) *route.Config { return host(r) }
	forward := func(f route.Forward) *route.Config {
		return host(route.Rule{Cluster: "c", Forward: f, Match: route.Match{Prefix: "/a"}})
	}
	hosts := func(names ...string) *route.Config {
		return &route.Config{VirtualHosts: []route.VirtualHost{{Hosts: names}}}
	}
	of := func(limit route.RateLimit) *route.Config { return rule(route.Rule{Cluster: "c", RateLimit: &limit}) }
	retry := func(c route.Retry) *route.Config { return forward(route.Forward{Retry: &c}) }
	on := []route.Cause{route.On5xx}
	const first = "virtual_hosts[0].routes[0]"
	for _, c := range []struct {
		name   string
		config *route.Config
		field  string
		reason string // part of the expected reason
	}{
		{"no host", hosts(), "virtual_hosts[0].hosts", "name a host"},
		{"no name", hosts("a", ""), "virtual_hosts[0].hosts[1]", "is not a host"},
		{"star inside", hosts("a.*.b"), "virtual_hosts[0].hosts[0]", "is not a host"},
		{"star alone", hosts("*."), "virtual_hosts[0].hosts[0]", "is not a host"},
		{"long", hosts(strings.Repeat("a", 256)), "virtual_hosts[0].hosts[0]", "is not a host"},
		{"port", hosts("a:80"), "virtual_hosts[0].hosts[0]", "port"},
		{"port of an address", hosts("[::1]:80"), "virtual_hosts[0].hosts[0]", "port"},
		{"twice", hosts("a", "A"), "virtual_hosts[0].hosts[1]", "listed twice"},
		{"below twice", hosts("*.a", "*.A."), "virtual_hosts[0].hosts[1]", "listed twice"},
		{"others twice", hosts("*", "*"), "virtual_hosts[0].hosts[1]", "listed twice"},
		{"two paths", match(route.Match{Path: "/a", Prefix: "/b"}), first + ".match.prefix", ""},
		{"no slash", match(route.Match{SegmentPrefix: "a"}), first + ".match.segment_prefix", "slash"},
		{"query in a path", match(route.Match{Path: "/a?b"}), first + ".match.path", "query"},
		{"bad regex", match(route.Match{Regex: "a)(b"}), first + ".match.regex", "unexpected )"},
		{"bad method", match(route.Match{Methods: []string{"GET", "PO ST"}}), first + ".match.methods[1]", "not a method"},
		{"no header name", match(route.Match{Headers: []route.Header{{}}}), first + ".match.headers[0].name", "name a field"},
		{"two header conditions", match(route.Match{Headers: []route.Header{{Name: "x", Value: "a", Absent: true}}}), first + ".match.headers[0]", "give one"},
		{"bad header regex", match(route.Match{Headers: []route.Header{{Name: "x", Regex: "("}}}), first + ".match.headers[0].regex", "missing"},
		{"no parameter name", match(route.Match{Query: []route.Parameter{{}}}), first + ".match.query[0].name", "name a parameter"},
		{"Bolt and HTTP", match(route.Match{Methods: []string{"GET"}, Bolt: route.Bolt{Class: "C"}}), first + ".match.bolt", "two routes"},
		{"no such format", match(where("xml", "a == 1")), first + ".match.payload.format", `"xml"`},
		{"bad predicate", match(where("json", "a ==")), first + ".match.payload.where", "expected"},
		{"no action", rule(route.Rule{}), first, "0 of"},
		{"two actions", rule(route.Rule{Cluster: "c", Respond: &route.Response{Status: 200}}), first, "2 of"},
		{"no cluster name", rule(route.Rule{Clusters: []route.Weighted{{Weight: 1}}}), first + ".clusters[0].cluster", "name a cluster"},
		{"negative weight", rule(route.Rule{Clusters: []route.Weighted{{"c", -1}, {"d", 1}}}), first + ".clusters[0].weight", "-1"},
		{"no weight", rule(route.Rule{Clusters: []route.Weighted{{"c", 0}}}), first + ".clusters", "sum to 0"},
		{"redirect status", rule(route.Rule{Redirect: &route.Redirect{Status: 200, Host: "h"}}), first + ".redirect.status", "200"},
		{"redirect scheme", rule(route.Rule{Redirect: &route.Redirect{Scheme: "ftp"}}), first + ".redirect.scheme", "https"},
		{"redirect host", rule(route.Rule{Redirect: &route.Redirect{Host: "h/a"}}), first + ".redirect.host", "h/a"},
		{"redirect path", rule(route.Rule{Redirect: &route.Redirect{Path: "/a b"}}), first + ".redirect.path", "/a b"},
		{"redirect port", rule(route.Rule{Redirect: &route.Redirect{Port: 65536}}), first + ".redirect.port", "65535"},
		{"two redirect ports", rule(route.Rule{Redirect: &route.Redirect{Host: "h:1", Port: 2}}), first + ".redirect.port", "give one"},
		{"redirect in circles", rule(route.Rule{Redirect: &route.Redirect{Status: 307}}), first + ".redirect", "the request itself"},
		{"redirect path and prefix", rule(route.Rule{Redirect: &route.Redirect{Path: "/a", Prefix: "/b"}, Match: route.Match{Prefix: "/"}}), first + ".redirect.prefix", "give one"},
		{"redirect prefix of nothing", rule(route.Rule{Redirect: &route.Redirect{Prefix: "/b"}}), first + ".redirect.prefix", "to replace"},
		{"response status", rule(route.Rule{Respond: &route.Response{Status: 100}}), first + ".respond.status", "100"},
		{"response header", rule(route.Rule{Respond: &route.Response{Status: 200, Headers: []http1.Pair{{Name: "Content-Length", Value: "1"}}}}), first + ".respond.headers", "Content-Length"},
		{"request header", forward(route.Forward{Request: route.Edits{Set: []http1.Pair{{Name: "a", Value: "\n"}}}}), first + ".forward.request", "control"},
		{"response edit", forward(route.Forward{Response: route.Edits{Remove: []string{"Connection"}}}), first + ".forward.response", "Connection"},
		{"host rewrite", forward(route.Forward{Rewrite: route.Rewrite{Host: "a b"}}), first + ".forward.rewrite.host", "a b"},
		{"prefix rewrite", forward(route.Forward{Rewrite: route.Rewrite{Prefix: "b"}}), first + ".forward.rewrite.prefix", "slash"},
		{"two rewrites", forward(route.Forward{Rewrite: route.Rewrite{Prefix: "/b", Regex: "c"}}), first + ".forward.rewrite.regex", "give one"},
		{"rewrite regex", forward(route.Forward{Rewrite: route.Rewrite{Regex: "("}}), first + ".forward.rewrite.regex", "missing"},
		{"replacement alone", forward(route.Forward{Rewrite: route.Rewrite{Replacement: "/b"}}), first + ".forward.rewrite.replacement", "give regex"},
		{"replacement with a line break", forward(route.Forward{Rewrite: route.Rewrite{Regex: "c", Replacement: "\n"}}), first + ".forward.rewrite.replacement", `\n`},
		{"rewrite of nothing", rule(route.Rule{Cluster: "c", Forward: route.Forward{Rewrite: route.Rewrite{Prefix: "/b"}}}), first + ".forward.rewrite.prefix", "to replace"},
		{"retry of nothing", retry(route.Retry{}), first + ".forward.retry", "name the failures"},
		{"retry on", retry(route.Retry{On: []route.Cause{"fire"}}), first + ".forward.retry.on[0]", "fire"},
		{"retry status", retry(route.Retry{Statuses: []int{500, 600}}), first + ".forward.retry.statuses[1]", "600"},
		{"retry gRPC status", retry(route.Retry{GRPCStatuses: []int{14, 0}}), first + ".forward.retry.grpc_statuses[1]", "0: write 1 to 16"},
		{"retry unknown gRPC status", retry(route.Retry{GRPCStatuses: []int{17}}), first + ".forward.retry.grpc_statuses[0]", "17"},
		{"retry attempts", retry(route.Retry{On: on, Attempts: -1}), first + ".forward.retry.attempts", "-1"},
		{"long timeout", forward(route.Forward{Timeout: 8761 * time.Hour}), first + ".forward.timeout", "at most 8760h"},
		{"long retry timeout", retry(route.Retry{On: on, PerTryTimeout: 1<<63 - 1}), first + ".forward.retry.per_try_timeout", "at most 8760h"},
		{"retry timeout", retry(route.Retry{On: on, PerTryTimeout: -1}), first + ".forward.retry.per_try_timeout", "-1ns"},
		{"retry ratio", retry(route.Retry{On: on, Budget: route.RetryBudget{Ratio: 11}}), first + ".forward.retry.budget.ratio", "11"},
		{"retry minimum", retry(route.Retry{On: on, Budget: route.RetryBudget{MinPerSecond: math.NaN()}}), first + ".forward.retry.budget.min_per_second", "NaN"},
		{"no rate", of(route.RateLimit{}), first + ".rate_limit.requests_per_second", "0.001"},
		{"rate", of(route.RateLimit{RequestsPerSecond: math.NaN()}), first + ".rate_limit.requests_per_second", "NaN"},
		{"burst", of(route.RateLimit{RequestsPerSecond: 1, Burst: -1}), first + ".rate_limit.burst", "-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := c.config.Check(all.Formats())
			var list route.Errors
			if !errors.As(err, &list) {
				t.Fatalf("got %v, want route.Errors", err)
			}
			var one *route.Error
			if !errors.As(err, &one) || len(list) != 1 || one.Field != c.field || !strings.Contains(one.Reason, c.reason) {
				t.Errorf("got %v\nwant one error at %s with %q", err, c.field, c.reason)
			}
		})
	}
}

// TestCheckAll checks that all errors are returned together, one per line, and that a valid configuration is
// accepted.
func TestCheckAll(t *testing.T) {
	t.Parallel()
	c := host(to("a", route.Match{Path: "b"}), route.Rule{})
	want := `route: virtual_hosts[0].routes[0].match.path: "b" does not begin with a slash: every path does
route: virtual_hosts[0].routes[1]: 0 of cluster, clusters, redirect and respond are given: give one`
	if got := c.Check(nil).Error(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if err := new(route.Config).Check(nil); err != nil {
		t.Errorf("an empty table: %v", err)
	}
}
