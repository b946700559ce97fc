package config

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fieldsOf returns the names of all fields below a type, as Rule.Field names them.
func fieldsOf(t reflect.Type, at string) []string {
	switch t.Kind() {
	case reflect.Pointer:
		return fieldsOf(t.Elem(), at)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return fieldsOf(t.Elem(), at+"[]")
		}
	case reflect.Struct:
		var all []string
		for i := range t.NumField() {
			f := t.Field(i)
			name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			switch {
			case !f.IsExported() || name == "-":
			case options == "inline":
				all = append(all, fieldsOf(f.Type, at)...)
			default:
				all = append(all, fieldsOf(f.Type, join(at, name))...)
			}
		}
		return all
	}
	return []string{at}
}

// TestEveryFieldHasARule: a new field says what a reload does with it, and no rule is left of one that is gone.
func TestEveryFieldHasARule(t *testing.T) {
	t.Parallel()
	unused := map[string]bool{}
	for _, r := range Rules() {
		if unused[r.Field] {
			t.Errorf("two rules for %s", r.Field)
		}
		unused[r.Field] = true
	}
	fields := fieldsOf(reflect.TypeFor[Config](), "")
	for _, field := range fields {
		r := RuleOf(field)
		if r.Field == "" {
			t.Errorf("%s has no rule: add one to rules, in effect.go, and a test of it to node/effect_test.go", field)
		}
		for rule := range unused {
			if strings.HasPrefix(field, rule) {
				delete(unused, rule)
			}
		}
	}
	for rule := range unused {
		t.Errorf("the rule of %s is of no field", rule)
	}
	if r := RuleOf("listeners[].receive_window"); r.Effect != NeedsRestart {
		t.Errorf("got %+v", r)
	}
	if r := RuleOf("listeners[].http.origins"); r.Field != "listeners[].http" {
		t.Errorf("got %+v", r)
	}
}

// TestRulesAreDocumented compares the table in docs/configuration.md with the rules.
func TestRulesAreDocumented(t *testing.T) {
	t.Parallel()
	const path = "../../docs/configuration.md"
	var table strings.Builder
	table.WriteString("| field | a change while the node runs | |\n|---|---|---|\n")
	for _, r := range Rules() {
		notes := slices.DeleteFunc([]string{r.Note, "removed: " + r.Gone}, func(note string) bool { return note == "" || note == "removed: " })
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", r.Field, r.Effect, strings.Join(notes, "; "))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile(`(?s)(<!-- rules -->\n).*?(<!-- end -->)`)
	want := block.ReplaceAllString(string(text), "${1}"+strings.ReplaceAll(table.String(), "$", "$$")+"${2}")
	switch {
	case !block.Match(text):
		t.Errorf("%s has no place for the rules", path)
	case *update:
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	case want != string(text):
		t.Errorf("%s does not list the rules: run go test ./node/config -update", path)
	}
}

// TestDifferences: entries are compared by address or name, and secrets are not shown.
func TestDifferences(t *testing.T) {
	t.Parallel()
	parse := func(text string) *Config {
		t.Helper()
		c, err := Parse("node.yaml", []byte(text), Program{Functions: []string{"r"}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const common = `
listeners: [{address: 'tcp://127.0.0.1:1'}, {address: 'tcp://127.0.0.1:2'}]
identities: [{name: a, token: the-first-token-of-a, publish: ['#']}, {name: b, token: the-first-token-of-b}]
limits: {max_frame: 64KiB}
functions: [{name: f, run: r, observe: [a]}, {name: g, run: r, observe: [a]}]
proxy:
  clusters: [{name: c, endpoints: [{address: '127.0.0.1:1'}]}]
  listeners:
    - address: 127.0.0.1:80
      protocol: http1
      routes: [{name: one, cluster: c, match: {path: /1}}, {name: two, cluster: c}, {name: three, cluster: c}]
`
	was := parse(common)
	for _, c := range []struct {
		name    string
		replace []string
		want    []string
	}{
		{"nothing", nil, nil},
		{"the order of listeners", []string{"[{address: 'tcp://127.0.0.1:1'}, {address: 'tcp://127.0.0.1:2'}]", "[{address: 'tcp://127.0.0.1:2'}, {address: 'tcp://127.0.0.1:1'}]"}, nil},
		{
			"a listener for another one",
			[]string{"{address: 'tcp://127.0.0.1:1'}, {address: 'tcp://127.0.0.1:2'}", "{address: 'tcp://127.0.0.1:2', validate: off}, {address: 'tls://127.0.0.1:3'}"},
			[]string{"removed listeners tcp://127.0.0.1:1  at listeners[0] applies", "changed listeners tcp://127.0.0.1:2 validate at listeners[0].validate full>off applies", "added listeners tls://127.0.0.1:3  at listeners[1] applies"},
		},
		{"a token", []string{"the-first-token-of-a", "the-second-token-of-a"}, []string{"changed identities a token at identities[0].token applies"}},
		{"a grant", []string{"publish: ['#']", "publish: [x, y]"}, []string{"changed identities a publish at identities[0].publish [#]>[x y] applies"}},
		{"a limit", []string{"max_frame: 64KiB", "max_frame: 128KiB"}, []string{"changed limits  max_frame at limits.max_frame 64KiB>128KiB needs restart"}},
		{"a function", []string{"{name: g, run: r,", "{name: g, run: r, where: x > 1,"}, []string{"changed functions g where at functions[1].where >x > 1 restarts"}},
		{"no function", []string{", {name: g, run: r, observe: [a]}", ""}, []string{"removed functions g  at functions[1] applies"}},
		{"a route", []string{"path: /1", "path: /2"}, []string{"changed proxy listeners 127.0.0.1:80 routes one match.path at proxy.listeners[0].routes[0].match.path /1>/2 applies"}},
		{
			"the order of routes",
			[]string{"{name: two, cluster: c}, {name: three, cluster: c}", "{name: three, cluster: c}, {name: two, cluster: c}"},
			[]string{"changed proxy listeners 127.0.0.1:80 routes.order at proxy.listeners[0].routes.order applies"},
		},
		{"a protocol", []string{"protocol: http1", "protocol: http"}, []string{"changed proxy listeners 127.0.0.1:80 protocol at proxy.listeners[0].protocol http1>http needs restart"}},
		{"a cluster", []string{"[{name: c, endpoints: [{address: '127.0.0.1:1'}]}]", "[{name: c, endpoints: [{address: '127.0.0.1:2'}]}, {name: d, endpoints: [{address: '127.0.0.1:2'}]}]"}, []string{
			"changed proxy clusters c endpoints at proxy.clusters[0].endpoints applies", "added proxy clusters d  at proxy.clusters[1] applies",
		}},
	} {
		text := common
		if c.replace != nil {
			text = strings.Replace(common, c.replace[0], c.replace[1], 1)
			if text == common {
				t.Fatalf("%s changes nothing", c.name)
			}
		}
		var got []string
		for _, d := range was.Differences(parse(text)) {
			line := fmt.Sprintf("%s %s %s %s at %s", d.Kind, d.Section, d.Entry, d.Field, d.At)
			if d.Was+d.Is != "" {
				line += " " + d.Was + ">" + d.Is
			}
			got = append(got, line+" "+string(d.Effect))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
