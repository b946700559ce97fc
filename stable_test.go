package ferry_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// surface is what semantic versioning covers, as docs/stability.md says: one line for each thing that a user's program, script,
// configuration or dashboard may name. The value is the name that CHANGELOG.md has to mention if the line disappears.
type surface map[string]string

// TestStable compares what semantic versioning covers with stable.txt, which has it as of the last release. CHANGELOG.md has to name what was
// removed or changed since then: each Go name, field of the configuration, metric, verb and flag. Of what was added it has to name the thing
// or its owner: the package, section or verb.
func TestStable(t *testing.T) {
	now := surface{}
	now.addAPI(t)
	now.addConfiguration(t)
	now.addMetrics(t)
	now.addCommandLine(t)
	text, err := os.ReadFile("stable.txt")
	if err != nil && !*update {
		t.Fatal(err)
	}
	before := surface{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		before[line] = nameIn(line)
	}
	if notes := unreleased(t); len(before) > 0 {
		for _, wrong := range unnamed(before, now, notes) {
			t.Error(wrong)
		}
	}
	if *update && !t.Failed() {
		lines := strings.Join(slices.Sorted(maps.Keys(now)), "\n") + "\n"
		if err := os.WriteFile("stable.txt", []byte(lines), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// unnamed returns an error for each difference that notes, the text for users, do not name.
func unnamed(before, now surface, notes string) (errs []error) {
	mentions := func(name string) bool {
		return regexp.MustCompile(`(^|[^\w-])` + regexp.QuoteMeta(name) + `($|[^\w-])`).MatchString(notes)
	}
	for _, line := range slices.Sorted(maps.Keys(before)) {
		if _, same := now[line]; !same && !mentions(before[line]) {
			errs = append(errs, fmt.Errorf("removed or changed, and CHANGELOG.md does not name %s under Unreleased: %s", before[line], line))
		}
	}
	added := map[string][]string{} // by owner
	for _, line := range slices.Sorted(maps.Keys(now)) {
		if _, same := before[line]; same {
			continue
		}
		if names := owners(line); !slices.ContainsFunc(names, mentions) {
			added[names[0]] = append(added[names[0]], line)
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(added)) {
		errs = append(errs, fmt.Errorf("added, and CHANGELOG.md names neither it nor %s under Unreleased: %s", owner, strings.Join(added[owner], "; ")))
	}
	return errs
}

// TestUnnamed checks which differences CHANGELOG.md has to name.
func TestUnnamed(t *testing.T) {
	t.Parallel()
	with := func(lines ...string) surface {
		s := surface{}
		for _, line := range lines {
			s[line] = nameIn(line)
		}
		return s
	}
	for _, row := range []struct {
		name, before, now, notes string
		want                     int
	}{
		{"nothing has changed", "config cpu.queue integer", "config cpu.queue integer", "", 0},
		{"a field was removed", "config cpu.queue integer", "", "`cpu` has no queues", 1},
		{"and is named", "config cpu.queue integer", "", "`cpu.queue` is no more", 0},
		{"a type has changed", "config cpu.queue integer", "config cpu.queue string", "- `cpu.queue` takes sizes such as 4KiB", 0},
		{"a type has changed, unnamed", "config cpu.queue integer", "config cpu.queue string", "- many fields take sizes", 2},
		{"a function was removed", "api stream.Client.Flush func() error", "", "`stream.Client` is simpler", 1},
		{"and is named as a method", "api stream.Client.Flush func() error", "", "`Client.Flush` is gone", 0},
		{"a method was added", "", "api stream.Client.Flush func() error", "`stream.Client` can flush", 0},
		{"a package was added, unnamed", "", "api stream/wasm.Guest struct", "WebAssembly", 1},
		{"a package was added", "", "api stream/wasm.Guest struct", "Guests in WebAssembly: `stream/wasm`", 0},
		{"a metric has another label", "metric ferry_calls_total{code}", "metric ferry_calls_total{service,code}", "`ferry_calls_total` has the service", 0},
		{"a metric was added", "", "metric ferry_calls_total{code}", "Calls have counters", 1},
		{"a metric was added to others", "", "metric ferry_calls_total{code}", "`calls:` has counters", 0},
		{"a flag was removed", "cli sub --where", "", "`ferry sub --where-not`", 1},
		{"and is named as a flag", "cli sub --where", "", "`ferry sub --where` was renamed", 0},
		{"a flag was added", "", "cli sub --count", "`ferry sub` can stop", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			before, now := with(), with()
			if row.before != "" {
				before = with(row.before)
			}
			if row.now != "" {
				now = with(row.now)
			}
			if got := unnamed(before, now, row.notes); len(got) != row.want {
				t.Errorf("%d errors, want %d: %v", len(got), row.want, got)
			}
		})
	}
}

// nameIn returns the name of the thing in a line of stable.txt: its last word before the type, without what it belongs to.
func nameIn(line string) string {
	kind, rest, _ := strings.Cut(line, " ")
	word, _, _ := strings.Cut(rest, " ")
	switch kind {
	case "api": // api stream.Client.Close func() error
		return word[strings.LastIndexByte(word, '.')+1:]
	case "config": // config listeners[].address string
		return strings.TrimSuffix(word[strings.LastIndexByte(word, '.')+1:], "[]")
	case "metric": // metric ferry_dropped_total{reason}
		name, _, _ := strings.Cut(word, "{")
		return name
	default: // cli deploy --rollback
		return rest[strings.LastIndexByte(rest, ' ')+1:]
	}
}

// owners returns the names of which CHANGELOG.md has to have one if a line is new. The first is that of the package, section or verb.
func owners(line string) (names []string) {
	kind, rest, _ := strings.Cut(line, " ")
	word, _, _ := strings.Cut(rest, " ")
	switch kind {
	case "api":
		dir, name, _ := strings.Cut(word, ".")
		names = append(names, dir, dir[strings.LastIndexByte(dir, '/')+1:], strings.Split(name, ".")[0])
	case "config":
		for part := range strings.SplitSeq(word, ".") {
			names = append(names, strings.TrimSuffix(part, "[]"))
		}
	case "metric": // ferry_mqtt_sessions belongs to mqtt
		names = append(names, strings.SplitN(word, "_", 3)[1])
	case "cli":
		names = append(names, strings.Fields(rest)...)
	}
	return append(names, nameIn(line))
}

// unreleased returns the part of CHANGELOG.md since the last release.
func unreleased(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## Unreleased\n")
	if !found {
		t.Fatal("CHANGELOG.md has no Unreleased")
	}
	notes, _, _ := strings.Cut(rest, "\n## ")
	return notes
}

// addConfiguration adds the fields of the configuration's schema.
func (s surface) addConfiguration(t *testing.T) {
	t.Helper()
	var schema map[string]any
	data, err := os.ReadFile("node/config/ferry.schema.json")
	if err == nil {
		err = json.Unmarshal(data, &schema)
	}
	if err != nil {
		t.Fatal(err)
	}
	definitions, _ := schema["$defs"].(map[string]any)
	var walk func(path string, node map[string]any, depth int)
	walk = func(path string, node map[string]any, depth int) {
		if ref, ok := node["$ref"].(string); ok && depth < 20 {
			if d, ok := definitions[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any); ok {
				walk(path, d, depth+1)
			}
			return
		}
		if path != "" {
			line := fmt.Sprintf("config %s %v", path, node["type"])
			s[line] = nameIn(line)
		}
		if items, ok := node["items"].(map[string]any); ok {
			walk(path+"[]", items, depth+1)
		}
		properties, _ := node["properties"].(map[string]any)
		for name, p := range properties {
			if p, ok := p.(map[string]any); ok {
				walk(strings.TrimPrefix(path+"."+name, "."), p, depth+1)
			}
		}
	}
	walk("", schema, 0)
}

// addMetrics adds the metrics of docs/metrics.md, with their labels.
func (s surface) addMetrics(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile("docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(ferry_[^`]+)` \\|").FindAllStringSubmatch(string(data), -1) {
		line := "metric " + m[1]
		s[line] = nameIn(line)
	}
}

// addCommandLine adds the verbs and flags of the completion script for fish, which is made of the grammar.
func (s surface) addCommandLine(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile("cmd/ferry/cli/testdata/completion.fish")
	if err != nil {
		t.Fatal(err)
	}
	from := regexp.MustCompile(`(not )?__fish_seen_subcommand_from (\S+?)['; ]`)
	flag := regexp.MustCompile(` -l ([\w-]+)`)
	verb := regexp.MustCompile(` -f -n \S+.* -a ([\w-]+) -d `)
	for line := range strings.Lines(string(data)) {
		words := []string{"cli"}
		for _, m := range from.FindAllStringSubmatch(line, -1) {
			if m[1] == "" {
				words = append(words, m[2])
			}
		}
		if m := flag.FindStringSubmatch(line); m != nil {
			words = append(words, "--"+m[1])
		} else if m := verb.FindStringSubmatch(line); m != nil {
			words = append(words, m[1])
		}
		if len(words) > 1 {
			text := strings.Join(words, " ")
			s[text] = nameIn(text)
		}
	}
}
