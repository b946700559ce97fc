package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// folder writes files, by their names, into a new folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestValues: values of the environment and of files, with the type that the field has.
func TestValues(t *testing.T) {
	for name, value := range map[string]string{
		"FERRY_TEST_NUMBER": "0042", "FERRY_TEST_YES": "true", "FERRY_TEST_TEXT": "a: [b] # c", "FERRY_TEST_EMPTY": "", "FERRY_TEST_HOST": "edge-1.plant",
	} {
		t.Setenv(name, value)
	}
	dir := folder(t, map[string]string{"secrets/token": "0123456789012345\n", "node.yaml": `
# ${FERRY_TEST_NONE} in a comment counts for nothing
listeners:
  - address: tcp://127.0.0.1:${FERRY_TEST_NONE:4190} # ${FERRY_TEST_NONE}
admin: {address: '${FERRY_TEST_EMPTY:127.0.0.1:1}'}
data_dir: ${FERRY_TEST_TEXT}
names: [&host '${FERRY_TEST_HOST}', "192.0.2.${FERRY_TEST_NONE:7}"]
identities:
  - name: ${FERRY_TEST_NONE:*not-an-alias}
    token: ${file:secrets/token}
    publish: ['$${a}', '$$x']
limits: {max_tags: '${FERRY_TEST_NUMBER}', queue: '${FERRY_TEST_NONE:64KiB}', heartbeat: "${FERRY_TEST_NONE:3s}"}
live:
  sensors: ${FERRY_TEST_YES}
functions:
  - name: f
    run: r
    observe: [a]
    where: |
      name == "${FERRY_TEST_HOST}"
`})
	got, err := Load(filepath.Join(dir, "node.yaml"), Program{Functions: []string{"r"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"a default in a longer text", got.Listeners[0].Address, "tcp://127.0.0.1:4190"},
		{"a variable that is set to nothing", got.Admin.Address, ""},
		{"text that looks like YAML", got.DataDir, "a: [b] # c"},
		{"names", got.Names, []string{"edge-1.plant", "192.0.2.7"}},
		{"a default that looks like an alias", got.Identities[0].Name, "*not-an-alias"},
		{"a file, though it looks like a number", got.Identities[0].Token, "0123456789012345"},
		{"escapes", got.Identities[0].Publish, []string{"${a}", "$$x"}},
		{"a number", got.Limits.MaxTags, 42},
		{"a size", got.Limits.Queue, Size(64 << 10)},
		{"a boolean", got.Live.Sensors, true},
		{"a block of text", got.Functions[0].Where, "name == \"edge-1.plant\"\n"},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: got %#v, want %#v", c.name, c.got, c.want)
		}
	}
}

// TestValuesRefused: errors name the file and the place of the expression, and no secret.
func TestValuesRefused(t *testing.T) {
	t.Setenv("FERRY_TEST_WORD", "many")
	t.Setenv("FERRY_TEST_BYTES", "\xff")
	dir := folder(t, map[string]string{"secret": "a-very-secret/value:of a file\n", "binary": "a\x00b"})
	for _, c := range []struct{ name, text, want string }{
		{"undefined", "data_dir: a/${FERRY_TEST_NONE}/b\n", "node.yaml:1:13: ${FERRY_TEST_NONE}: the environment has no variable FERRY_TEST_NONE: set it"},
		{"in quotes", "names: [a, \"b ${FERRY_TEST_NONE}\"]\n", "node.yaml:1:15: ${FERRY_TEST_NONE}: "},
		{"in a block", "data_dir: |\n  a\n  ä ${FERRY_TEST_NONE}\n", "node.yaml:3:5: ${FERRY_TEST_NONE}: "},
		{"not closed", "data_dir: ${FERRY_TEST_NONE\n", "node.yaml:1:11: ${FERRY_TEST_NONE: without a closing }"},
		{"not a number", "limits: {max_tags: '${FERRY_TEST_WORD}'}\n", "node.yaml:1:20: limits.max_tags: string where integer is expected"},
		{"not UTF-8", "data_dir: ${FERRY_TEST_BYTES}\n", "node.yaml:1:11: ${FERRY_TEST_BYTES}: the value is not UTF-8"},
		{"no structure", "limits: '${FERRY_TEST_NONE:{max_tags: 1}'\n", "node.yaml:1:9: limits: string where object is expected"},
		{"no such file", "data_dir: ${file:none}\n", "node.yaml:1:11: ${file:none}: config: stat " + dir},
		{"a binary file", "data_dir: ${file:binary}\n", "is not a text file"},
		{"two of them", "data_dir: ${FERRY_TEST_NONE}\nnames: ['${FERRY_TEST_NIL}']\n", "node.yaml:2:10: ${FERRY_TEST_NIL}: "},
		{"a secret that is not valid", "log: {level: '${file:secret}'}\n", "node.yaml:1:14: log.level: this value is not valid: it is a secret, and not shown"},
		{"a secret in another field", "names: ['${file:secret}']\n", "names[0]: this value is not valid"},
		{"an alias without anchor", "data_dir: *a\n", "node.yaml:1:11: *a: no anchor &a stands before it"},
		{"an alias of itself", "names: &a [*a]\n", "node.yaml:1:12: *a: no anchor"},
	} {
		_, err := Parse(filepath.Join(dir, "node.yaml"), []byte(c.text), Program{})
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		if text := strings.ReplaceAll(err.Error(), filepath.Join(dir, "node.yaml"), "node.yaml"); !strings.Contains(text, c.want) || strings.Contains(text, "a-very") {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, text, c.want)
		}
	}
}

// TestAliasesThatGrow: aliases of aliases do not take the memory.
func TestAliasesThatGrow(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("names: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		b.WriteString("k" + string(rune('0'+i)) + ": &a" + string(rune('1'+i)) + " [" + strings.Repeat("*a"+string(rune('0'+i))+", ", 9) + "x]\n")
	}
	if _, err := Parse("node.yaml", []byte(b.String()), Program{}); err == nil || !strings.Contains(err.Error(), "with those of aliases") {
		t.Errorf("got %v", err)
	}
}

// TestInclude: lists append, mappings merge, and errors name the file that has the mistake.
func TestInclude(t *testing.T) {
	t.Setenv("FERRY_TEST_DIR", "conf.d")
	dir := folder(t, map[string]string{
		"node.yaml": "include: ['${FERRY_TEST_DIR}/*.yaml', more.yaml, conf.d/20.yaml, none.d/*]\n" +
			"listeners: [{address: 'tcp://127.0.0.1:1'}]\nlimits: {queue: 64KiB}\nlive: &live {sensors: true}\n",
		"conf.d/10.yaml": "listeners:\n- {address: 'tcp://127.0.0.1:2', <<: &l {validate: off}}\n- {<<: *l, address: 'tcp://127.0.0.1:3'}\nlimits:\n  window: 1MiB\n",
		"conf.d/20.yaml": "names: [b.example.com]\nidentities: [{name: a, token: &l '${file:../token}', publish: ['#']}]\n",
		"conf.d/30.yaml": "# nothing\n",
		"conf.d/x.yml":   "this: is not read\n",
		"more.yaml":      "names: [a.example.com]\nlimits: {max_tags: 7}\nidentities: [{name: b, token: 'the token of b is long', subscribe: ['#']}]\n",
		"token":          "the token of a is long",
	})
	s, err := Read(filepath.Join(dir, "node.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Config(Program{})
	if err != nil {
		t.Fatal(err)
	}
	var addresses, names []string
	for _, l := range got.Listeners {
		addresses = append(addresses, strings.TrimPrefix(l.Address, "tcp://127.0.0.1:")+string(l.Validate))
	}
	for _, i := range got.Identities {
		names = append(names, i.Name+" "+i.Token)
	}
	if !slices.Equal(addresses, []string{"1full", "2off", "3off"}) || !slices.Equal(got.Names, []string{"b.example.com", "a.example.com"}) ||
		!slices.Equal(names, []string{"a the token of a is long", "b the token of b is long"}) {
		t.Errorf("got the lists %v, %v, %v", addresses, got.Names, names)
	}
	if got.Limits.Queue != 64<<10 || got.Limits.Window != 1<<20 || got.Limits.MaxTags != 7 || !got.Live.Sensors {
		t.Errorf("got %+v, %+v", got.Limits, got.Live)
	}
	var watched []string
	for _, path := range s.Watched() {
		rel, _ := filepath.Rel(dir, path)
		watched = append(watched, filepath.ToSlash(rel))
	}
	if want := []string{"node.yaml", "conf.d/10.yaml", "conf.d/20.yaml", "token", "conf.d/30.yaml", "more.yaml"}; !slices.Equal(watched, want) {
		t.Errorf("got the files %q, want %q", watched, want)
	}
	if s.Stale() {
		t.Error("the same files are another text")
	}
	token := filepath.Join(dir, "token")
	for _, text := range []string{"another token of a", ""} {
		if err := os.WriteFile(token, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if !s.Stale() {
			t.Errorf("with %q in the file of a token the text is the same", text)
		}
		if s, err = Read(s.Name()); err != nil || s.Stale() {
			t.Errorf("read again: %v, stale %v", err, s.Stale())
		}
	}
	if err := os.Remove(filepath.Join(dir, "conf.d/30.yaml")); err != nil {
		t.Fatal(err)
	}
	if !s.Stale() {
		t.Error("without an included file the text is the same")
	}
	if s, err = Read(s.Name()); err != nil || s.Stale() {
		t.Errorf("read again: %v, stale %v", err, s.Stale())
	}
	if err := os.WriteFile(filepath.Join(dir, "conf.d/40.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if list := s.Watched(); !slices.Contains(list, filepath.Join(dir, "conf.d/40.yaml")) {
		t.Errorf("a new file is not watched: %q", list)
	}
	if !s.Stale() {
		t.Error("with a new file the text is the same")
	}
}

func TestIncludeRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, main, other string
		want              []string
	}{
		{"a value twice", "include: o.yaml\nlimits:\n  queue: 1MiB\n", "limits:\n  # same\n  queue: 1MiB\n", []string{"o.yaml:3:3: limits.queue: is set at node.yaml:3:3 already: lists append and mappings merge, but a value is set once"}},
		{"of two included files", "include: [o.yaml, p.yaml]\n", "data_dir: a\n", []string{"p.yaml:2:1: data_dir: is set at o.yaml:1:1 already"}},
		{"a list and a mapping", "include: o.yaml\nlimits: {}\n", "limits: []\n", []string{"o.yaml:1:1: limits: is set at node.yaml:2:1 already"}},
		{"an unknown field", "include: o.yaml\nlimits: {queue: 1MiB}\n", "limits:\n  window: 1MiB\n  quee: 1MiB\n", []string{"o.yaml:3:3: limits.quee: unknown field"}},
		{"a bad value of an appended entry", "include: o.yaml\nlisteners: [{address: 'tcp://127.0.0.1:1'}]\n", "listeners:\n- address: tcp://127.0.0.1:2\n- address: nonsense\n", []string{"o.yaml:3:12: listeners[2].address: "}},
		{"a bad value of this file", "include: o.yaml\nlimits: {max_tags: 0}\n", "limits: {queue: 1}\n", []string{"node.yaml:2:20: limits.max_tags: "}},
		{"errors of both, in order", "include: o.yaml\ndata_dir: ''\n", "limits: {queue: 1}\n", []string{"node.yaml:2:11: data_dir: ", "o.yaml:1:17: limits.queue: "}},
		{"bad YAML", "include: o.yaml\n", "a: [\n", []string{"o.yaml:1:4: "}},
		{"a variable", "include: o.yaml\n", "names:\n- ${FERRY_TEST_NONE}\n", []string{"o.yaml:2:3: ${FERRY_TEST_NONE}: "}},
		{"includes of includes", "include: o.yaml\n", "include: node.yaml\n", []string{"o.yaml:1:1: include: in an included file: only "}},
		{"itself", "include: '*.yaml'\n", "", []string{"node.yaml:1:10: include: ", "includes this file itself"}},
		{"a missing file", "include: [none.yaml]\n", "", []string{"node.yaml:1:11: include[0]: ", "none.yaml: no such file"}},
		{"a bad pattern", "include: 'a[*'\n", "", []string{"node.yaml:1:10: include: ", "is no pattern"}},
		{"not a text", "include: {a: b}\n", "", []string{"include: object where string or array is expected"}},
		{"a list", "include: o.yaml\n", "- a\n", []string{"o.yaml:1:1: not a mapping"}},
		{"a folder", "include: d\n", "", []string{"d is a directory"}},
		{"a type of YAML's", "include: o.yaml\n", "live: {sensors: 'x'}\n", []string{"o.yaml:1:17: live.sensors: string where boolean is expected"}},
	} {
		dir := folder(t, map[string]string{"node.yaml": c.main, "o.yaml": c.other, "p.yaml": "\ndata_dir: b\n", "d/x": ""})
		_, err := Load(filepath.Join(dir, "node.yaml"), Program{})
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		text, from := strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""), 0
		for _, want := range c.want {
			i := strings.Index(text[from:], want)
			if i < 0 {
				t.Errorf("%s: got\n%s\nwant %q", c.name, text, want)
				break
			}
			from += i
		}
	}
}

// TestResolved: what counts, without secrets, and a valid configuration again.
func TestResolved(t *testing.T) {
	t.Setenv("FERRY_TEST_HOST", "edge-1.plant")
	t.Setenv("FERRY_TEST_DB_PASSWORD", "MARKED-variable")
	t.Setenv("FERRY_TEST_TOKEN_DIR", "c.plant")
	t.Setenv("FERRY_TEST_PROGRAM", os.Args[0])
	dir := folder(t, map[string]string{"token": "MARKED-of-a-file\n", "o.yaml": "names: [b.plant]\n", "dir": "MARKED-directory"})
	text := `
include: o.yaml
listeners: [{address: 'tcp://127.0.0.1:1'}]
names: ['${FERRY_TEST_HOST}', '${FERRY_TEST_TOKEN_DIR}']
data_dir: ${file:dir}
identities:
  - {name: a, token: MARKED-inline-token, publish: ['#']}
  - {name: b, token: '${file:token}', publish: ['#']}
functions:
  - {name: f, wasm: ../../stream/wasm/testdata/guest.wasm, observe: [a], env: {KEY: MARKED-environment}}
  - {name: g, command: ['${FERRY_TEST_PROGRAM}', '--password=${FERRY_TEST_DB_PASSWORD}'], observe: [a]}
proxy:
  clusters: [{name: c, endpoints: [{address: '127.0.0.1:1'}]}]
  listeners:
    - address: 127.0.0.1:0
      protocol: http1
      routes:
        - match: {headers: [{name: X-Api-Key, value: MARKED-match}]}
          cluster: c
          forward: {request: {set: [{name: Authorization, value: MARKED-header}, {name: X-Site, value: plant}]}}
        - cluster: c
`
	cfg, err := Parse(filepath.Join(dir, "node.yaml"), []byte(text), Program{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := cfg.Resolved()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"- edge-1.plant", "- b.plant", "- c.plant", "data_dir: '[redacted]'", "token: '[redacted]'", "KEY: '[redacted]'", "value: plant", "max_frame: 1MiB", "heartbeat: 10s"} {
		if !strings.Contains(strings.ReplaceAll(string(got), `"`, "'"), want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(string(got), "MARKED") || strings.Contains(string(got), "o.yaml") {
		t.Errorf("got\n%s", got)
	}
	if cfg.Identities[0].Token != "MARKED-inline-token" || cfg.Functions[0].Env["KEY"] != "MARKED-environment" {
		t.Error("the configuration itself has changed")
	}
	if asJSON, err := cfg.ResolvedJSON(); err != nil || !strings.HasPrefix(string(asJSON), "{") || strings.Contains(string(asJSON), "MARKED") {
		t.Errorf("got %s, %v", asJSON, err)
	}
	plain, err := Parse("node.yaml", []byte("limits: {queue: 2MiB}\nstreams: [{tags: a/#, retention: {age: 1h}}]\nnames: [a.b]\n"), Program{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err = plain.Resolved(); err != nil {
		t.Fatal(err)
	}
	again, err := Parse("resolved.yaml", got, Program{})
	if err != nil || !reflect.DeepEqual(again, plain) {
		t.Errorf("%v: from\n%s\nread again\n%+v\nwant\n%+v", err, got, again, plain)
	}
}

// TestValuesOfAliases: an alias of a scalar has the value of its expressions, with the type that is expected where it stands.
func TestValuesOfAliases(t *testing.T) {
	t.Setenv("FERRY_TEST_NUMBER", "42")
	dir := folder(t, map[string]string{"token": "0123456789012345\n"})
	got, err := Parse(filepath.Join(dir, "node.yaml"), []byte(`
data_dir: &number ${FERRY_TEST_NUMBER}
limits: {max_tags: *number, max_frame: &size '${FERRY_TEST_NONE:64KiB}', queue: *size}
names: [&host 'h${FERRY_TEST_NUMBER}', b, *host]
log: {level: &level '${FERRY_TEST_NONE:debug}'}
identities:
  - {name: a, token: &token '${file:token}', publish: [*token, *number]}
  - {name: *level, common_name: *token}
`), Program{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ got, want any }{
		{got.DataDir, "42"},
		{got.Limits.MaxTags, 42},
		{got.Names, []string{"h42", "b", "h42"}},
		{got.Identities[1].Name, "debug"},
		{got.Identities[1].CommonName, "0123456789012345"},
		{got.Identities[0].Publish, []string{"0123456789012345", "42"}},
		{got.Redacted().Identities[0].Publish, []string{redacted, "42"}},
		{got.Limits.Queue, Size(64 << 10)},
		{got.Limits.MaxFrame, Size(64 << 10)},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("got %#v, want %#v", c.got, c.want)
		}
	}
}

// TestResolvedSecrets: in other forms than those of TestResolved.
func TestResolvedSecrets(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"secret": "MARKED-of-a-file\n"})
	for _, c := range []struct{ name, text string }{
		{"a value with a tag", "data_dir: !!str ${file:secret}\n"},
		{"a value within a tag", "names: !!seq [!!str '${file:secret}']\n"},
		{"a password with an @", "data_dir: nats://user:MARKED@MARKED@127.0.0.1\n"},
	} {
		cfg, err := Parse(filepath.Join(dir, "node.yaml"), []byte(c.text), Program{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got, err := cfg.Resolved(); err != nil || strings.Contains(string(got), "MARKED") || !strings.Contains(string(got), redacted) {
			t.Errorf("%s: %v: got\n%s", c.name, err, got)
		}
	}
}
