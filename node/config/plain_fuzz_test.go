package config

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// plainCases have what readers of YAML read in different ways, by name.
var plainCases = map[string]string{
	"tab after key": "names:\t[a]\n", "tab in value": "names: [a\t]\n", "tab after value": "data_dir: a\t\n", "tab comment": "data_dir: a\t# c\n", "tab only line": "data_dir: a\n\t\nnames: [b]\n",
	"crlf": "data_dir: a\r\nnames: [b]\r\n", "cr": "data_dir: a\rnames: [b]\n", "crlf comment": "# c\r\ndata_dir: a\n", "crlf mid": "data_dir: a\n\r\nnames: [a]\n",
	"bom": "\ufeffdata_dir: a\n", "bom comment": "\ufeff# c\ndata_dir: a\n", "bom mid": "data_dir: a\n\ufeffnames: [b]\n",
	"hash in text": "data_dir: a#b\n", "hash quoted": "data_dir: \"a #b\"\n", "hash flow": "names: [a, b] # c\n", "hash flow quoted": "names: [\"a\", b] # c\n", "hash first": "names: [#a]\n", "hash after comma": "names: [a, #b\n",
	"hash in block": "names:\n  #- a\n  - b\n", "comment between": "log:\n# c\n  level: warn\n", "comment deeper": "log:\n  level: warn\n      # c\nnames: [a]\n", "comment with quote": "data_dir: a # it's \"x\n", "comment colon": "data_dir: a # b: c\n",
	"comment after key": "log: # c\n  level: warn\n", "comment after dash": "names:\n  - # c\n    a\n", "comment: unicode": "# é\ndata_dir: a\n", "line sep in comment": "# a\u2028data_dir: b\n", "nel in comment": "# a\u0085data_dir: b\n",
	"nul in comment": "# a\x00\ndata_dir: b\n", "nul": "data_dir: a\x00b\n", "nul line": "data_dir: a\n\x00\n", "line sep": "data_dir: a\u2028names: [a]\n",
	"trailing spaces": "data_dir: a   \nnames: [a]   \n", "space before colon": "data_dir : a\n", "spaces after colon": "data_dir:    a\n", "duplicate": "data_dir: a\ndata_dir: b\n", "duplicate flow": "log: {level: warn, level: info}\n",
	"octal": "limits: {max_tags: 010}\n", "octal2": "limits: {max_tags: 0o10}\n", "hex": "limits: {max_tags: 0x10}\n", "sexa": "limits: {max_tags: 1:30}\n", "1e3": "limits: {max_tags: 1e3}\n", "plus": "limits: {max_tags: +1}\n", "under": "limits: {max_tags: 1_000}\n",
	"float for int": "limits: {max_tags: 1.0}\n", "zero": "limits: {max_tags: 0}\n", "neg0": "limits: {max_tags: -0}\n", "quoted int": "limits: {max_tags: \"1\"}\n", "text 1e3": "data_dir: 1e3\n", "text .5": "data_dir: .5\n", "text +1": "data_dir: +1\n",
	"tilde": "data_dir: ~\n", "tilde path": "data_dir: ~/x\n", "y": "data_dir: y\n", "n": "data_dir: n\n", "Yes": "data_dir: Yes\n", "ON": "data_dir: ON\n", "NaN": "data_dir: NaN\n", "inf": "data_dir: inf\n", ".inf": "data_dir: .inf\n", "Infinity": "data_dir: Infinity\n", "date": "data_dir: 2001-01-01\n", "time": "data_dir: 2001-12-14t21:59:43.10-05:00\n",
	"bool yes": "cpu: {kernel_slices: yes}\n", "bool True": "cpu: {kernel_slices: True}\n", "bool quoted": "cpu: {kernel_slices: \"true\"}\n", "bool false": "cpu: {kernel_slices: false}\n",
	"flow lines": "names: [a,\n  b]\n", "flow map lines": "log: {level: warn,\n  format: json}\n", "flow nested": "identities: [{name: a, common_name: b}, {name: c}]\n", "flow unspaced": "log: {level:warn}\n", "flow no value": "log: {level}\n", "flow trailing": "names: [a,b,]\n", "flow json": "log: {\"level\": warn}\n", "flow tight": "names: [a,b]\n", "flow tight text": "names: [a,b ,c ]\n", "flow url": "names: [http://a]\n", "flow colon end": "names: [a:]\n", "flow colon": "names: [a:b]\n",
	"quote2": "data_dir: 'it''s'\n", "escape": "data_dir: \"a\\tb\"\n", "escape u": "data_dir: \"\\u0041\"\n", "escape x": "data_dir: \"a\\\n", "backslash single": "data_dir: 'a\\b'\n", "quote open": "data_dir: \"a\n  b\"\n", "quote behind": "data_dir: \"a\" b\n", "empty quoted": "data_dir: \"\"\nnames: ['']\n",
	"empty entry": "names: ['', \"\"]\n", "quote mid": "data_dir: a\"b\"\n", "quoted comma": "names: [\"a,b\", 'c]d']\n",
	"key quoted": "\"data_dir\": a\n", "key colon": "a:b: c\n", "key:value": "data_dir:a\n", "- - a": "names:\n- - a\n", "-a": "names:\n-a\n", "-": "names:\n-\n", "- ": "names:\n- \n  a\n", "dash deep": "identities:\n-   name: a\n    common_name: b\n", "dash deep bad": "identities:\n-   name: a\n  common_name: b\n",
	"empty value": "data_dir:\nnames: [a]\n", "empty list value": "names:\n\ndata_dir: a\n", "empty flow": "names: []\nlog: {}\n", "empty map block": "log:\n",
	"doc start": "---\ndata_dir: a\n", "doc start same": "--- {data_dir: a}\n", "doc end": "data_dir: a\n...\n", "doc second": "data_dir: a\n---\n", "doc second b": "data_dir: a\n---\nnames: [b]\n", "doc end text": "data_dir: a\n... x\n", "doc directive": "%YAML 1.2\n---\ndata_dir: a\n", "--- in value": "data_dir: ---\n", "--- indented": "names:\n  ---\n  - a\n",
	"anchor": "names: &a [b]\n", "alias": "names: [&a b, *a]\n", "tag": "names: !!str [a]\n", "tag2": "data_dir: !!str a\n", "tag3": "data_dir: !a b\n", "merge": "log: {<<: {level: warn}}\n", "merge block": "log:\n  <<: {level: warn}\n",
	"literal": "data_dir: |\n  a\n", "folded": "data_dir: >-\n  a\n", "pipe in": "data_dir: a|b\n", "percent": "data_dir: a%b\n", "at": "data_dir: a@b\n", "at first": "data_dir: @a\n", "equals": "data_dir: a=b\n", "question": "data_dir: a?b\n", "question key": "? data_dir\n: a\n", "dash end": "data_dir: a-\n", "dash in": "data_dir: a - b\n", "comma text": "data_dir: a, b\n", "brace text": "data_dir: a}\n",
	"no newline": "data_dir: a", "no newline list": "names:\n- a\n- b", "spaces only lines": "data_dir: a\n   \nnames: [b]\n", "indented top": "  data_dir: a\n  names: [b]\n", "indent change": "log:\n    level: warn\nnames:\n - a\n", "list same indent": "names:\n- a\ndata_dir: b\n", "list in struct": "admin:\n  hosts:\n  - b\n  address: 127.0.0.1:1\n",
	"colon end": "data_dir: a:\n", "colon space": "data_dir: a: b\n", "address": "data_dir: 127.0.0.1:80\n", "address2": "names: [127.0.0.1:80]\n", "addr weird": "data_dir: 1.2.3.4e5:6\n", "addr weird2": "data_dir: 1...:\n", "addr weird3": "data_dir: 1...:2\n", "slash": "data_dir: /a b\n", "slash colon": "data_dir: /a:b\n", "multi": "data_dir: a b c\n",
	"continuation": "data_dir: a\n  b\n", "continuation flow": "names: [a]\n  b\n", "continuation key": "data_dir: a\n  b: c\n", "continuation blank": "data_dir: a\n\n  b\n", "continuation comment": "data_dir: a # c\n  b\n", "continuation dash": "data_dir: a\n  - b\n", "continuation dash0": "data_dir: a\n- b\n", "list continuation": "names:\n- a\n  b\n", "list continuation2": "names:\n- a\n   - b\n",
	"size": "limits: {queue: 1KiB}\n", "size spaced": "limits: {queue: 1 KiB}\n", "size int": "limits: {queue: 1024}\n", "size quoted": "limits: {queue: \"1KiB\"}\n", "size zero": "limits: {queue: 0KiB}\n", "size B": "limits: {queue: 5B}\n", "size KB": "limits: {queue: 5KB}\n", "size kB": "limits: {queue: 5kB}\n", "size iB": "limits: {queue: 5iB}\n", "size big": "limits: {queue: 999999999999GiB}\n",
	"dur": "limits: {heartbeat: 10s}\n", "dur quoted": "limits: {heartbeat: \"10s\"}\n", "dur zero": "limits: {heartbeat: 0s}\n", "dur 0": "limits: {heartbeat: 0}\n", "dur 01": "limits: {heartbeat: 01s}\n", "dur neg": "limits: {heartbeat: -1s}\n", "dur h": "limits: {heartbeat: 999999h}\n", "dur d": "limits: {heartbeat: 1d}\n", "dur us": "limits: {heartbeat: 1us}\n",
	"case": "Data_dir: a\n", "case enum": "log: {level: WARN}\n", "case bool": "cpu: {kernel_slices: TRUE}\n",
	"pointer null": "proxy: ~\n", "pointer empty": "proxy: {}\n", "pointer empty block": "proxy:\n", "proxy only": "proxy:\n  clusters: [{name: a, endpoints: [{address: 127.0.0.1:1}]}]\n  listeners: [{address: 127.0.0.1:2, protocol: http1, cluster: a}]\n",
	"zero list": "listeners: []\n", "dup listeners": "listeners: []\nproxy: {}\n",
}

// TestPlainCases reads each case alone, before and after other sections: what is read is what the library reads.
func TestPlainCases(t *testing.T) {
	const other = "admin: {address: 127.0.0.1:1}\n"
	plain := 0
	for name, text := range plainCases {
		t.Run(name, func(t *testing.T) {
			for _, text := range []string{text, other + text, text + other, text + "unknown: b\n"} {
				if comparePlain(t, text) {
					plain++
				}
			}
		})
	}
	if plain < 50 {
		t.Errorf("%d texts are plain: too few to compare", plain)
	}
}

// TestPlainLarge reads long lines and deep brackets.
func TestPlainLarge(t *testing.T) {
	for name, text := range map[string]string{
		"brackets": "names: " + strings.Repeat("[", 10_000), "braces": "log: " + strings.Repeat("{level: ", 10_000), "spaces": strings.Repeat(" ", 100_000) + "names: [a]\n",
		"list": "names: [" + strings.Repeat("a, ", 10_000) + "b]\n", "text": "data_dir: " + strings.Repeat("a", 100_000) + "\n", "dashes": strings.Repeat("- ", 10_000) + "a\n",
	} {
		t.Run(name, func(t *testing.T) { comparePlain(t, text) })
	}
}

// TestPlainStructure changes lines and their indentation at random, and what is known from the texts before has the same meaning.
func TestPlainStructure(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	starts := []string{
		hostsOf("      - match: {prefix: /}\n        cluster: web\n      # c\n      - {match: {path: /a}, cluster: web}\n", "      - match: {prefix: /}\n        cluster: web\n"),
		oneHost(3, 1) + "names: [a]\n",
		"log:\n  level: warn\n  format: json\nnames:\n- a\n- b\nadmin:\n  hosts:\n  - a\n  - b\n  address: 127.0.0.1:1\nidentities:\n- name: x\n  publish:\n  - a\n  - b\n- {name: z}\ncpu:\n    queue: 1\n",
	}
	others := []string{"names:", "- a", "- name: z", "hosts: [a]", "# c", "", " ", "log: {level: warn}", "- ", "-", "- - a", "---", "...", "\t", "a", "cluster: web", "routes:", "- match: {prefix: /}", "x: y"}
	memory, plain := new(plainMemory), 0
	for _, text := range starts {
		if !comparePlain(t, text) {
			t.Fatalf("not plain:\n%s", text)
		}
	}
	for range 10_000 {
		lines := strings.Split(starts[r.IntN(len(starts))], "\n")
		for range 1 + r.IntN(2) {
			i, k := r.IntN(len(lines)), r.IntN(len(lines))
			switch r.IntN(6) {
			case 0:
				lines[i] = strings.Repeat(" ", 1+r.IntN(3)) + lines[i]
			case 1:
				lines[i] = strings.TrimPrefix(lines[i], strings.Repeat(" ", 1+r.IntN(3)))
			case 2:
				lines[i] = strings.Repeat(" ", r.IntN(9)) + others[r.IntN(len(others))]
			case 3:
				lines = slices.Insert(lines, i, strings.Repeat(" ", r.IntN(9))+others[r.IntN(len(others))])
			case 4:
				lines = slices.Delete(lines, i, i+1)
			default:
				lines[i], lines[k] = lines[k], lines[i]
			}
		}
		text := strings.Join(lines, "\n")
		if comparePlain(t, text) {
			plain++
		}
		if got, want := readPlain(text, memory), readPlain(text, new(plainMemory)); !reflect.DeepEqual(got, want) {
			t.Fatalf("after other texts\n%+v\nwant\n%+v of\n%s", got, want, text)
		}
	}
	if plain < 500 || plain > 9500 {
		t.Errorf("%d texts are plain: too few, or too many, to compare", plain)
	}
}

// TestPlanSchema: a plan knows all rules of the schema that a value can break.
func TestPlanSchema(t *testing.T) {
	seen := map[*jsonschema.Schema]bool{}
	var walk func(at string, s *jsonschema.Schema)
	walk = func(at string, s *jsonschema.Schema) {
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		if s.Maximum != nil || s.ExclusiveMaximum != nil || s.ExclusiveMinimum != nil || s.MultipleOf != nil || s.Const != nil || s.Not != nil || s.Ref != nil || s.If != nil ||
			len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0 || s.MinLength != nil || s.MaxLength != nil || s.MinItems != nil || s.MaxItems != nil || s.UniqueItems || s.Contains != nil ||
			s.MinProperties != nil || s.MaxProperties != nil || len(s.DependentRequired)+len(s.PatternProperties)+len(s.PrefixItems) > 0 || s.PropertyNames != nil || s.Format != nil {
			t.Errorf("%s: newPlan does not look at a rule of its schema", at)
		}
		if p := s.Pattern; p != nil && p.String() != durationPattern && p.String() != sizePattern {
			t.Errorf("%s: newPlan does not look at the pattern %s", at, p)
		}
		for name, field := range s.Properties {
			walk(join(at, name), field)
		}
		walk(at+"[]", s.Items2020)
	}
	walk("", compiled())
	if len(seen) < 300 {
		t.Errorf("%d schemas: too few", len(seen))
	}
}

// maxFuzzed bounds the texts of FuzzPlain, in bytes: the library takes milliseconds for some kilobytes.
const maxFuzzed = 1 << 10

// FuzzPlain: a plainReader reads what the library reads, or nothing.
func FuzzPlain(f *testing.F) {
	f.Add(oneHost(2, 1))
	f.Add("names: [a, b-c, \"1\"]\nlog:\n  level: warn # loud\nlimits:\n  queue: 64KiB\n  heartbeat: 10s\n")
	f.Add("identities:\n- name: a\n  publish:\n  - a/#\n  token: 0123456789abcdef\n")
	f.Add("functions:\n  - name: f\n    run: x\n    observe: [a]\n")
	for _, text := range plainCases {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) <= maxFuzzed {
			comparePlain(t, text)
		}
	})
}
