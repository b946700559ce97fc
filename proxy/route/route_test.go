package route_test

import (
	"math"
	"testing"
	"time"

	"example.com/ferry/proxy/route"
)

func TestPick(t *testing.T) {
	t.Parallel()
	tab := table(t, host(
		route.Rule{Name: "shared", Match: route.Match{Path: "/shared"}, Clusters: []route.Weighted{
			{Cluster: "none", Weight: 0}, {Cluster: "a", Weight: 1}, {Cluster: "b", Weight: 3},
		}},
		to("b", route.Match{Path: "/b"}),
		route.Rule{Name: "answer", Respond: &route.Response{Status: 204}},
	))
	shared, single, answers := tab.Routes()[0], tab.Routes()[1], tab.Routes()[2]
	for random, want := range map[uint64]string{0: "a", 1<<62 - 1: "a", 1 << 62: "b", math.MaxUint64: "b"} {
		if got := tab.Clusters()[shared.Pick(random)]; got != want {
			t.Errorf("random %#x: got %s, want %s", random, got, want)
		}
		if got := tab.Clusters()[single.Pick(random)]; got != "b" {
			t.Errorf("one cluster, random %#x: got %s", random, got)
		}
	}
	if got := answers.Pick(1); got != -1 || answers.Forwards() {
		t.Errorf("a route that answers picks %d and forwards: %v", got, answers.Forwards())
	}
	if got := len(tab.Clusters()); got != 3 {
		t.Errorf("%d clusters, want none, a and b once each", got)
	}
}

func TestRewrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		match      route.Match
		rewrite    route.Rewrite
		path, want string
	}{
		{"nothing", route.Match{}, route.Rewrite{Host: "h:80"}, "/a", "/a"},
		{"path", route.Match{Path: "/a"}, route.Rewrite{Prefix: "/b"}, "/a", "/b"},
		{"prefix", route.Match{Prefix: "/api/"}, route.Rewrite{Prefix: "/"}, "/api/x", "/x"},
		{"segments by a path", route.Match{SegmentPrefix: "/api"}, route.Rewrite{Prefix: "/v2"}, "/api/x", "/v2/x"},
		{"segments by the root", route.Match{SegmentPrefix: "/api"}, route.Rewrite{Prefix: "/"}, "/api/x", "/x"},
		{"segments by the root, all", route.Match{SegmentPrefix: "/api/"}, route.Rewrite{Prefix: "/"}, "/api", "/"},
		{"segments of all", route.Match{SegmentPrefix: "/"}, route.Rewrite{Prefix: "/v2/"}, "/x", "/v2/x"},
		{"regex", route.Match{}, route.Rewrite{Regex: "/u/([0-9]+)", Replacement: "/user/${1}x"}, "/v1/u/42/y", "/v1/user/42x/y"},
		{"regex to nothing", route.Match{}, route.Rewrite{Regex: ".*"}, "/a", "/"},
		{"regex takes the slash", route.Match{}, route.Rewrite{Regex: "^/a/"}, "/a/b", "/b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rule := to("it", c.match)
			rule.Forward.Rewrite = c.rewrite
			strip, with := table(t, host(rule)).Routes()[0].Rewrite([]byte(c.path))
			if got := with + c.path[strip:]; got != c.want {
				t.Errorf("%s becomes %s, want %s", c.path, got, c.want)
			}
		})
	}
}

func TestLocation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		match         route.Match
		redirect      route.Redirect
		request, want string
	}{
		{"scheme", route.Match{}, route.Redirect{Scheme: "https"}, "GET h:8080/a?b=1", "https://h/a?b=1"},
		{"host", route.Match{}, route.Redirect{Host: "g:81"}, "GET h:8080/a?b", "//g:81/a?b"},
		{"scheme and host", route.Match{}, route.Redirect{Scheme: "http", Host: "g"}, "GET h/a", "http://g/a"},
		{"path", route.Match{}, route.Redirect{Path: "/new"}, "GET h/a?b", "/new?b"},
		{"no query", route.Match{}, route.Redirect{Path: "/new", StripQuery: true}, "GET h/a?b", "/new"},
		{"prefix", route.Match{SegmentPrefix: "/a"}, route.Redirect{Prefix: "/b"}, "GET h/a/c", "/b/c"},
		{"prefix to the root", route.Match{SegmentPrefix: "/a"}, route.Redirect{Prefix: "/"}, "GET h/a/c", "/c"},
		{"no foreign host", route.Match{}, route.Redirect{StripQuery: true}, "GET h//evil.test", "/.//evil.test"},
		{"no foreign host behind a prefix", route.Match{SegmentPrefix: "/a"}, route.Redirect{Prefix: "/"}, "GET h/a//evil.test", "/.//evil.test"},
		{"no foreign host by a backslash", route.Match{}, route.Redirect{StripQuery: true}, `GET h/\evil.test`, `/./\evil.test`},
		{"host of the request and a port", route.Match{}, route.Redirect{Scheme: "https", Port: 8443}, "GET h:8080/a?b=1", "https://h:8443/a?b=1"},
		{"address of the request and a port", route.Match{}, route.Redirect{Scheme: "https", Port: 8443}, "GET [::1]:80/a", "https://[::1]:8443/a"},
		{"port alone", route.Match{}, route.Redirect{Port: 81}, "GET h//x", "//h:81//x"},
		{"host and a port", route.Match{}, route.Redirect{Host: "g", Port: 81}, "GET h/a", "//g:81/a"},
		{"two slashes of a host", route.Match{}, route.Redirect{Host: "g"}, "GET h//x", "//g//x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := table(t, host(route.Rule{Match: c.match, Redirect: &c.redirect})).Routes()[0]
			if got := string(r.AppendLocation([]byte("at "), get(c.request))); got != "at "+c.want {
				t.Errorf("got %s, want at %s", got, c.want)
			}
			if r.Redirect.Status != 301 {
				t.Errorf("status %d, want 301", r.Redirect.Status)
			}
		})
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	retries := func(c route.Retry) *route.Route {
		rule := to("it", route.Match{})
		rule.Forward.Retry = &c
		return table(t, host(rule)).Routes()[0]
	}
	broad := route.Retry{On: []route.Cause{route.OnConnectFailure, route.OnReset, route.On5xx}, Statuses: []int{409}}
	twice := broad
	twice.Idempotent, twice.Attempts = true, 3
	grpc := route.Retry{GRPCStatuses: []int{1, 14}, Idempotent: true}
	for _, c := range []struct {
		name    string
		retry   route.Retry
		method  string
		attempt route.Attempt
		want    bool
	}{
		{"connect failure", broad, "POST", route.Attempt{Number: 1, Cause: route.OnConnectFailure}, true},
		{"reset before anything was sent", broad, "POST", route.Attempt{Number: 1, Cause: route.OnReset}, true},
		{"reset", broad, "POST", route.Attempt{Number: 1, Cause: route.OnReset, Sent: true}, false},
		{"reset, idempotent", broad, "PUT", route.Attempt{Number: 1, Cause: route.OnReset, Sent: true}, true},
		{"reset, Bolt", broad, "", route.Attempt{Number: 1, Cause: route.OnReset, Sent: true}, false},
		{"reset, said to be idempotent", twice, "", route.Attempt{Number: 2, Cause: route.OnReset, Sent: true}, true},
		{"all attempts", twice, "", route.Attempt{Number: 3, Cause: route.OnReset, Sent: true}, false},
		{"both attempts", broad, "GET", route.Attempt{Number: 2, Cause: route.OnConnectFailure}, false},
		{"timeout, not asked for", broad, "GET", route.Attempt{Number: 1, Cause: route.OnTimeout, Sent: true}, false},
		{"timeout", route.Retry{On: []route.Cause{route.OnTimeout}}, "GET", route.Attempt{Number: 1, Cause: route.OnTimeout, Sent: true}, true},
		{"5xx", broad, "GET", route.Attempt{Number: 1, Status: 599, Sent: true}, true},
		{"5xx to a POST", broad, "POST", route.Attempt{Number: 1, Status: 503, Sent: true}, false},
		{"listed", broad, "GET", route.Attempt{Number: 1, Status: 409, Sent: true}, true},
		{"not listed", broad, "GET", route.Attempt{Number: 1, Status: 408, Sent: true}, false},
		{"gateway error", route.Retry{On: []route.Cause{route.OnGatewayError}}, "GET", route.Attempt{Number: 1, Status: 504, Sent: true}, true},
		{"no gateway error", route.Retry{On: []route.Cause{route.OnGatewayError}}, "GET", route.Attempt{Number: 1, Status: 500, Sent: true}, false},
		{"refused stream", route.Retry{On: []route.Cause{route.OnRefusedStream}}, "POST", route.Attempt{Number: 1, Cause: route.OnRefusedStream}, true},
		{"refused stream, not asked for", broad, "POST", route.Attempt{Number: 1, Cause: route.OnRefusedStream}, false},
		{"gRPC status", grpc, "POST", route.Attempt{Number: 1, Status: 200, GRPCStatus: 14, Sent: true}, true},
		{"gRPC status not listed", grpc, "POST", route.Attempt{Number: 1, Status: 200, GRPCStatus: 13, Sent: true}, false},
		{"gRPC status, not idempotent", route.Retry{GRPCStatuses: []int{14}}, "POST", route.Attempt{Number: 1, Status: 200, GRPCStatus: 14, Sent: true}, false},
		{"gRPC status of no meaning", grpc, "POST", route.Attempt{Number: 1, Status: 200, GRPCStatus: 46, Sent: true}, false},
		{"no gRPC status", grpc, "POST", route.Attempt{Number: 1, Status: 200, Sent: true}, false},
		{"status of no meaning", broad, "GET", route.Attempt{Number: 1, Status: 999, Sent: true}, false},
		{"budget spent", route.Retry{On: []route.Cause{route.On5xx}, Budget: route.RetryBudget{MinPerSecond: -1}}, "GET", route.Attempt{Number: 1, Status: 500, Sent: true}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := retries(c.retry).Retries(route.Idempotent([]byte(c.method)), c.attempt, time.Second); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	none := table(t, host(to("it", route.Match{}))).Routes()[0]
	if none.Retries(true, route.Attempt{Number: 1, Cause: route.OnConnectFailure}, 0) {
		t.Error("a route without retry repeats an attempt")
	}
}
