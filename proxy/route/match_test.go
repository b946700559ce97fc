package route_test

import (
	"net/textproto"
	"strings"
	"testing"

	"example.com/ferry/format/all"
	"example.com/ferry/proxy/route"
)

// header is a request header for tests, with one field of each name. Nth ignores case.
type header map[string]string

func (h header) Nth(name string, nth int) []byte {
	for n, v := range h {
		if nth == 0 && strings.EqualFold(n, name) {
			return append([]byte{}, v...)
		}
	}
	return nil
}

// get parses a request for tests: METHOD HOST/PATH?QUERY.
func get(text string) *route.Request {
	method, rest, _ := strings.Cut(text, " ")
	host, path, _ := strings.Cut(rest, "/")
	path, query, _ := strings.Cut("/"+path, "?")
	return &route.Request{Method: []byte(method), Host: []byte(host), Path: []byte(path), Query: []byte(query)}
}

func call(service, method, class string) *route.Request {
	r := &route.Request{}
	r.Bolt.Service, r.Bolt.Method, r.Bolt.Class = []byte(service), []byte(method), []byte(class)
	return r
}

func with(r *route.Request, name, value string) *route.Request {
	r.Header = header{textproto.CanonicalMIMEHeaderKey(name): value}
	return r
}

func table(t testing.TB, c *route.Config) *route.Table {
	t.Helper()
	table, err := route.New(c, all.Formats())
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// to returns a rule called name that forwards to a cluster of the same name.
func to(name string, m route.Match) route.Rule {
	return route.Rule{Name: name, Match: m, Cluster: name}
}

func host(rules ...route.Rule) *route.Config {
	return &route.Config{VirtualHosts: []route.VirtualHost{{Hosts: []string{"*"}, Routes: rules}}}
}

// result returns the name of the route, or the Result if there is none.
func result(r *route.Route, a route.Result) string {
	switch a {
	case route.Found:
		return r.Name
	case route.NeedPayload:
		return "need payload"
	case route.Ambiguous:
		return "ambiguous"
	}
	return "none"
}

func TestMatchers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		match   route.Match
		request *route.Request
		want    bool
	}{
		{"empty", route.Match{}, get("GET a/"), true},
		{"empty, Bolt", route.Match{}, call("s", "m", "c"), true},
		{"path", route.Match{Path: "/a"}, get("GET a/a?b"), true},
		{"path and more", route.Match{Path: "/a"}, get("GET a/a/"), false},
		{"path in another case", route.Match{Path: "/a"}, get("GET a/A"), false},
		{"path encoded", route.Match{Path: "/a"}, get("GET a/%61"), false},
		{"path asterisk", route.Match{Path: "*"}, &route.Request{Path: []byte("*")}, true},
		{"prefix", route.Match{Prefix: "/api"}, get("GET a/api/v1"), true},
		{"prefix itself", route.Match{Prefix: "/api"}, get("GET a/api"), true},
		{"prefix within a segment", route.Match{Prefix: "/api"}, get("GET a/apis"), true},
		{"prefix longer than the path", route.Match{Prefix: "/api"}, get("GET a/ap"), false},
		{"segments", route.Match{SegmentPrefix: "/api"}, get("GET a/api/v1"), true},
		{"segments themselves", route.Match{SegmentPrefix: "/api"}, get("GET a/api"), true},
		{"segments, slash", route.Match{SegmentPrefix: "/api/"}, get("GET a/api"), true},
		{"segments within a segment", route.Match{SegmentPrefix: "/api"}, get("GET a/apis"), false},
		{"segments of all", route.Match{SegmentPrefix: "/"}, get("GET a/x"), true},
		{"segments of all, Bolt", route.Match{SegmentPrefix: "/"}, call("s", "m", "c"), false},
		{"regex", route.Match{Regex: `/u/[0-9]+`}, get("GET a/u/42"), true},
		{"regex of the whole path", route.Match{Regex: `/u/[0-9]+`}, get("GET a/u/42/x"), false},
		{"regex of alternatives", route.Match{Regex: `/a|/b`}, get("GET a/a/b"), false},
		{"regex of anything, Bolt", route.Match{Regex: `.*`}, call("s", "m", "c"), false},
		{"method", route.Match{Methods: []string{"PUT", "POST"}}, get("POST a/"), true},
		{"other method", route.Match{Methods: []string{"PUT", "POST"}}, get("GET a/"), false},
		{"method in another case", route.Match{Methods: []string{"GET"}}, get("get a/"), false},
		{"method, Bolt", route.Match{Methods: []string{"GET"}}, call("s", "m", "c"), false},
		{"header value", route.Match{Headers: []route.Header{{Name: "x-env", Value: "dev"}}}, with(get("GET a/"), "X-Env", "dev"), true},
		{"other header value", route.Match{Headers: []route.Header{{Name: "x-env", Value: "dev"}}}, with(get("GET a/"), "X-Env", "develop"), false},
		{"header prefix", route.Match{Headers: []route.Header{{Name: "x-env", Prefix: "dev"}}}, with(get("GET a/"), "X-Env", "develop"), true},
		{"other header prefix", route.Match{Headers: []route.Header{{Name: "x-env", Prefix: "dev"}}}, with(get("GET a/"), "X-Env", "de"), false},
		{"header regex", route.Match{Headers: []route.Header{{Name: "x-env", Regex: "d.v"}}}, with(get("GET a/"), "X-Env", "dev"), true},
		{"header regex of a part", route.Match{Headers: []route.Header{{Name: "x-env", Regex: "d.v"}}}, with(get("GET a/"), "X-Env", "devs"), false},
		{"header present", route.Match{Headers: []route.Header{{Name: "x-env"}}}, with(get("GET a/"), "X-Env", "dev"), true},
		{"header present and empty", route.Match{Headers: []route.Header{{Name: "x-env"}}}, with(get("GET a/"), "X-Env", ""), true},
		{"header not present", route.Match{Headers: []route.Header{{Name: "x-env"}}}, with(get("GET a/"), "X-Other", "dev"), false},
		{"no header at all", route.Match{Headers: []route.Header{{Name: "x-env", Value: "dev"}}}, get("GET a/"), false},
		{"header absent", route.Match{Headers: []route.Header{{Name: "x-env", Absent: true}}}, get("GET a/"), true},
		{"header not absent", route.Match{Headers: []route.Header{{Name: "x-env", Absent: true}}}, with(get("GET a/"), "X-Env", ""), false},
		{"two headers, one there", route.Match{Headers: []route.Header{{Name: "x-env"}, {Name: "x-other"}}}, with(get("GET a/"), "X-Env", ""), false},
		{"query", route.Match{Query: []route.Parameter{{Name: "v", Value: "2"}}}, get("GET a/?a=1&v=2&b"), true},
		{"query, other value", route.Match{Query: []route.Parameter{{Name: "v", Value: "2"}}}, get("GET a/?v=20"), false},
		{"query there", route.Match{Query: []route.Parameter{{Name: "v"}}}, get("GET a/?a&v"), true},
		{"query not there", route.Match{Query: []route.Parameter{{Name: "v"}}}, get("GET a/?a=v&vv=1"), false},
		{"query encoded", route.Match{Query: []route.Parameter{{Name: "a b", Value: "ä%"}}}, get("GET a/?a+b=%c3%A4%"), true},
		{"query, no digits", route.Match{Query: []route.Parameter{{Name: "a", Value: "%g1"}}}, get("GET a/?a=%g1"), true},
		{"service", route.Match{Bolt: route.Bolt{Service: "Echo:1.0"}}, call("Echo:1.0", "say", "C"), true},
		{"other service", route.Match{Bolt: route.Bolt{Service: "Echo:1.0"}}, call("Echo:2.0", "say", "C"), false},
		{"service and method", route.Match{Bolt: route.Bolt{Service: "Echo:1.0", Method: "say"}}, call("Echo:1.0", "say", "C"), true},
		{"service and other method", route.Match{Bolt: route.Bolt{Service: "Echo:1.0", Method: "say"}}, call("Echo:1.0", "hear", "C"), false},
		{"class", route.Match{Bolt: route.Bolt{Class: "C"}}, call("", "", "C"), true},
		{"other class", route.Match{Bolt: route.Bolt{Class: "C"}}, call("", "", "D"), false},
		{"service, HTTP", route.Match{Bolt: route.Bolt{Service: "Echo:1.0"}}, get("GET a/"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := "none"
			if c.want {
				want = "it"
			}
			if got := result(table(t, host(to("it", c.match))).NewMatcher().Match(c.request, nil, true)); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	named := func(name string, hosts ...string) route.VirtualHost {
		return route.VirtualHost{Hosts: hosts, Routes: []route.Rule{to(name, route.Match{})}}
	}
	hosts := []route.VirtualHost{
		named("exact", "Example.com", "[::1]"), named("below", "*.example.com"), named("deep", "*.b.example.com"),
		named("inside", "x.b.example.com"),
		{Hosts: []string{"empty.example.com"}},
	}
	whole := table(t, &route.Config{VirtualHosts: append(hosts, named("other", "*"))}).NewMatcher()
	strict := table(t, &route.Config{VirtualHosts: hosts}).NewMatcher()
	for host, want := range map[string]string{
		"example.com": "exact", "EXAMPLE.COM:8080": "exact", "example.com.": "exact", "example.com.:80": "exact",
		"[::1]": "exact", "[::1]:80": "exact", "a.example.com": "below", "a.c.example.com": "below", "b.example.com": "below",
		"a.b.example.com": "deep", "X.b.example.com": "inside", "empty.example.com": "none",
		"myexample.com": "other", ".example.com": "other", "": "other", ":80": "other", "[::2]": "other", "com": "other",
		strings.Repeat("a", 300) + ".example.com": "other",
	} {
		r := get("GET x/")
		r.Host = []byte(host)
		if got := result(whole.Match(r, nil, true)); got != want {
			t.Errorf("host %q: got %s, want %s", host, got, want)
		}
		if want == "other" {
			want = "none"
		}
		if got := result(strict.Match(r, nil, true)); got != want {
			t.Errorf("host %q, without a default: got %s, want %s", host, got, want)
		}
	}
}

// TestOrder checks that the first matching route of the configuration is found, even if the index has the routes in
// different lists.
func TestOrder(t *testing.T) {
	t.Parallel()
	m := table(t, host(
		to("prefix x", route.Match{Prefix: "/a/b/x"}),
		to("post", route.Match{Methods: []string{"POST"}}),
		to("exact", route.Match{Path: "/a/b"}),
		to("short prefix", route.Match{Prefix: "/a", Methods: []string{"PUT"}}),
		to("regex", route.Match{Regex: "/a/b/[0-9]"}),
		to("prefix", route.Match{SegmentPrefix: "/a/b"}),
		to("unreachable", route.Match{Path: "/a/b/c"}),
		to("service", route.Match{Bolt: route.Bolt{Service: "S"}}),
		to("rest", route.Match{}),
	)).NewMatcher()
	for _, c := range []struct {
		request *route.Request
		want    string
	}{
		{get("POST a/a/b"), "post"},
		{get("POST a/a/b/x"), "prefix x"},
		{get("PUT a/a/b"), "exact"},
		{get("PUT a/a/b/3"), "short prefix"},
		{get("GET a/a/b/3"), "regex"},
		{get("GET a/a/b/c"), "prefix"},
		{get("GET a/a/bc"), "rest"},
		{get("GET a/"), "rest"},
		{call("S", "", ""), "service"},
		{call("T", "", ""), "rest"},
	} {
		if got := result(m.Match(c.request, nil, true)); got != c.want {
			t.Errorf("%s %s %s: got %s, want %s", c.request.Method, c.request.Path, c.request.Bolt.Service, got, c.want)
		}
	}
}
