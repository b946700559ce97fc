package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"example.com/ferry/proxy/route"
)

// routesHead is a file whose listener has a file of routes.
const routesHead = `proxy:
  clusters: [{name: web, endpoints: [{address: 127.0.0.1:1}]}]
  listeners:
    - address: 127.0.0.1:2
      protocol: http1
      routes_file: routes.jsonl
`

// writeRoutes writes a configuration and its file of routes, and returns the path of the first.
func writeRoutes(t *testing.T, yaml string, lines ...string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"node.yaml": yaml, "routes.jsonl": strings.Join(lines, "\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "node.yaml")
}

// TestRoutesFile holds that routes of a file of their own are what the same routes in YAML are, behind those.
func TestRoutesFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ list, first, second, third string }{
		{
			routesList, `{"name": "a", "match": {"path": "/a", "methods": ["GET"], "query": [{"name": "q", "value": "1"}]}, "clusters": [{"cluster": "web", "weight": 3}]}`,
			`{"match": {"prefix": "/b"}, "cluster": "web", "forward": {"timeout": "1m30s", "retry": {"on": ["5xx"], "attempts": 3, "statuses": [429], "idempotent": true}, "request": {"set": [{"name": "X-A", "value": "${b}"}]}}}`,
			`{"respond": {"status": 404, "body": "ü\n"}, "rate_limit": {"requests_per_second": 0.5}, "compression": {"min_size": "2KiB", "off": true}}`,
		},
		{
			hostsList, `{"hosts": ["a.example"], "routes": [{"cluster": "web"}]}`,
			`{"hosts": ["b.example", "*.b.example"], "routes": [{"match": {"path": "/"}, "cluster": "web"}, {"redirect": {"scheme": "https"}}]}`,
			`{"hosts": ["*"]}`,
		},
	} {
		all := fmt.Sprintf("      %s:\n        - %s\n", c.list, c.first)
		want, err := Parse("node.yaml", []byte(strings.Replace(routesHead, "      routes_file: routes.jsonl\n", "", 1)+all+
			strings.ReplaceAll("        - "+c.second+"\n        - "+c.third+"\n", "${", "$${")), Program{})
		if err != nil {
			t.Fatal(err)
		}
		path := writeRoutes(t, routesHead+all, c.second, "", "\t"+c.third+"\r")
		got, err := Load(path, Program{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Proxy.Listeners[0].RoutesFile != "routes.jsonl" {
			t.Errorf("got %q", got.Proxy.Listeners[0].RoutesFile)
		}
		if differences := want.Differences(got); len(differences) > 0 {
			t.Errorf("%s: differences to the same routes in YAML: %+v", c.list, differences)
		}
		shown, err := got.Resolved()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Parse("node.yaml", []byte(strings.ReplaceAll(string(shown), "${", "$${")), Program{}); err != nil || !reflect.DeepEqual(again.Proxy, want.Proxy) {
			t.Errorf("%s: what counts, read again: %v\n%s", c.list, err, shown)
		}
		source, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if sent, err := source.Bundle().Source().Config(Program{}); err != nil || !reflect.DeepEqual(sent.Proxy, got.Proxy) {
			t.Errorf("%s: as a bundle: %v, %+v", c.list, err, sent)
		}
	}
}

// TestRoutesFileErrors holds that errors name the file and the line.
func TestRoutesFileErrors(t *testing.T) {
	t.Parallel()
	const good = `{"match": {"prefix": "/a"}, "cluster": "web"}`
	for _, c := range []struct {
		yaml  string
		lines []string
		want  string
	}{
		{routesHead, []string{good, "", "{"}, "routes.jsonl:3:1: "},
		{routesHead, []string{good, `{"cluster": "web", "cluster": "web"}`}, "routes.jsonl:2:1: "},
		{routesHead, []string{good, good + " {}"}, "routes.jsonl:2:1: "},
		{routesHead, []string{`["a"]`}, "routes.jsonl:1:1: no object"},
		{routesHead, []string{good, `{"match": {"prefx": "/"}, "cluster": "web"}`}, `routes.jsonl:2:1: match.prefx: unknown field: did you mean "prefix"?`},
		{routesHead, []string{`{"cluster": 1}`}, "routes.jsonl:1:1: cluster: number where string is expected"},
		{routesHead, []string{`{"cluster": "web", "forward": {"timeout": "soon"}}`}, "routes.jsonl:1:1: forward.timeout: "},
		{routesHead, []string{good, `{"hosts": ["a"]}`}, "routes.jsonl:2:1: one of virtual_hosts after lines with routes"},
		{routesHead, []string{good, "", good, `{"cluster": "other"}`}, `routes.jsonl:4:1: proxy.listeners[0].routes[2].cluster: there is no cluster "other"`},
		{routesHead + "      routes: [{cluster: web}]\n", []string{`{"cluster": "other"}`}, `routes.jsonl:1:1: proxy.listeners[0].routes[1].cluster: there is no`},
		{routesHead + "      routes: [{cluster: other}]\n", []string{good}, `node.yaml:7:26: proxy.listeners[0].routes[0].cluster: there is no`},
		{routesHead, []string{`{"hosts": ["a"], "routes": [{"cluster": "web"}, {"match": {"regex": "("}, "cluster": "web"}]}`}, "routes.jsonl:1:1: proxy.listeners[0].virtual_hosts[0].routes[1].match.regex"},
		{routesHead + "      routes: [{cluster: web}]\n", []string{`{"hosts": ["a"]}`}, "node.yaml:4:7: proxy.listeners[0]: 2 of cluster, routes and virtual_hosts"},
		{routesHead, []string{""}, "node.yaml:4:7: proxy.listeners[0]: 0 of cluster"},
		{strings.Replace(routesHead, "routes.jsonl", "none", 1), nil, "node.yaml:6:20: proxy.listeners[0].routes_file: config: "},
	} {
		_, err := Load(writeRoutes(t, c.yaml, c.lines...), Program{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q:\ngot  %v\nwant %s", c.lines, err, c.want)
		}
	}
	long := make([]string, 1000)
	for i := range long {
		long[i] = "{"
	}
	_, err := Load(writeRoutes(t, routesHead, long...), Program{})
	var errs Errors
	if !errors.As(err, &errs) || len(errs) != maxRoutesErrors {
		t.Errorf("of a file with 1000 wrong lines: %v", err)
	}
}

// TestRoutesFileReload holds that a change of the file is seen, that entries whose lines stay are shared, wherever they are, and that a file with an
// error leaves what is shared as it was.
func TestRoutesFileReload(t *testing.T) {
	t.Parallel()
	host := func(name, prefix string) string {
		return fmt.Sprintf(`{"hosts": [%q], "routes": [{"match": {"prefix": %q}, "cluster": "web"}]}`, name, prefix)
	}
	a, b, c := host("a", "/"), host("b", "/"), host("c", "/")
	path := writeRoutes(t, routesHead, a, b, c)
	source, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	first, err := source.Config(Program{})
	if err != nil || source.Stale() {
		t.Fatalf("%v, stale %t", err, source.Stale())
	}
	known := map[string]*route.Rule{}
	for _, h := range first.Proxy.Listeners[0].VirtualHosts {
		known[h.Hosts[0]] = &h.Routes[0]
	}
	for _, step := range []struct {
		lines  []string
		shared string // names of hosts whose routes are those of the first reading
	}{
		{[]string{a, host("b", "/2"), c}, "ac"},
		{[]string{"{"}, ""},
		{[]string{c, host("b", "/2"), a}, "ac"},
		{[]string{host("d", "/"), c, a}, "ac"},
	} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "routes.jsonl"), []byte(strings.Join(step.lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		if !source.Stale() {
			t.Error("a changed file of routes is not noticed")
		}
		if source, err = ReadAfter(path, source); err != nil {
			t.Fatal(err)
		}
		cfg, err := source.Config(Program{})
		if (err != nil) != (step.shared == "") {
			t.Fatalf("%q: %v", step.lines, err)
		}
		if err != nil {
			continue
		}
		shared := ""
		for _, h := range cfg.Proxy.Listeners[0].VirtualHosts {
			if known[h.Hosts[0]] == &h.Routes[0] {
				shared += h.Hosts[0]
			}
		}
		if len(cfg.Proxy.Listeners[0].VirtualHosts) != 3 || len(shared) != len(step.shared) || strings.Trim(shared, step.shared) != "" {
			t.Errorf("%q: the routes of %q are shared, want %q", step.lines, shared, step.shared)
		}
	}
	if list := source.Watched(); len(list) != 2 || filepath.Base(list[1]) != "routes.jsonl" {
		t.Errorf("watched: %q", list)
	}
}

// FuzzRoutesFile compares lines with the same JSON in YAML: one list of routes must not be two configurations.
func FuzzRoutesFile(f *testing.F) {
	for _, line := range []string{
		`{"name": "a", "match": {"path": "/a", "headers": [{"name": "x", "absent": true}]}, "cluster": "web"}`,
		`{"cluster": "web", "forward": {"timeout": "1m30s", "retry": {"budget": {"ratio": 0.5, "min_per_second": 3}}}}`,
		`{"respond": {"status": 2e2}}`, `{"cluster": "we\u0062"}`, `{"cluster": null}`, `{"clusters": [{"cluster": "web", "weight": 1}]}`,
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.ContainsAny(line, "\n\r$") {
			return
		}
		d, wrong := decodeRoutesFile(&routesFile{name: "routes.jsonl", text: line}, nil)
		if wrong != nil || d.list != routesList {
			return
		}
		library := newSource("node.yaml", []byte("proxy: {listeners: [{address: '127.0.0.1:1', protocol: http1, routes: ["+line+"]}]}"), nil)
		cfg, errs := library.decoded()
		if errs != nil {
			return // YAML is stricter in places: tabs, long keys
		}
		if got := cfg.Proxy.Listeners[0].Routes; len(got) == 1 && !reflect.DeepEqual(got[0], d.routes[0]) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", line, d.routes[0], got[0])
		}
	})
}
