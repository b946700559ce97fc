package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/ferry/internal/cmdline"
)

var update = flag.Bool("update", false, "rewrite testdata with the program's current output")

// outcome is the exit status and the output of one command line.
type outcome struct {
	status         int
	stdout, stderr string
}

func ferryWith(stdin string, args ...string) outcome {
	var stdout, stderr bytes.Buffer
	status := Run(builtin(), args, strings.NewReader(stdin), &stdout, &stderr)
	return outcome{status, stdout.String(), stderr.String()}
}

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

func TestSchemaIsThatOfConfigurations(t *testing.T) {
	t.Parallel()
	got := ferryWith("", "schema")
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal([]byte(got.stdout), &schema); err != nil || got.status != 0 || got.stderr != "" {
		t.Fatalf("status %d, %q, %v", got.status, got.stderr, err)
	}
	for _, field := range []string{"listeners", "proxy", "limits", "functions"} {
		if schema.Properties[field] == nil {
			t.Errorf("the schema has no %s", field)
		}
	}
}

// TestVerbs checks the table of verbs in docs/cli.md: it has each verb once, with an example that the command line accepts.
func TestVerbs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	var cli grammar
	program := newProgram(&cli, builtin())
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]+ \\| `(?:echo [^`]* )?ferry ([^`]+)` \\|$")
	word := regexp.MustCompile(`'([^']*)'|[^\s']+`)
	rows := map[string]int{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		rows[m[1]]++
		var args []string
		for _, w := range word.FindAllString(m[2], -1) {
			if strings.HasPrefix(w, ">") {
				break // where the shell writes the output
			}
			args = append(args, strings.Trim(w, "'"))
		}
		at, err := program.Parse(args)
		if err == nil {
			err = at.Check()
		}
		if err != nil {
			t.Errorf("ferry %s: %v", m[2], err)
		} else if verb := at.Path(); verb != m[1] {
			t.Errorf("the example of %s is one of %s", m[1], verb)
		}
	}
	leaves(program, func(verb *cmdline.Verb) {
		if _, runs := verb.Target.(interface{ Run(e *env) error }); !runs {
			t.Errorf("%s has no method Run", verb.FullPath())
		}
		if name := verb.Path(); rows[name] != 1 && !verb.Hidden {
			t.Errorf("the table of docs/cli.md has %d rows of %s, want 1", rows[name], name)
		}
	})
}

// leaves calls do for each verb that has no verbs.
func leaves(of *cmdline.Verb, do func(*cmdline.Verb)) {
	for _, verb := range of.Verbs {
		leaves(verb, do)
	}
	if of.Verbs == nil {
		do(of)
	}
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		want string // part of standard error
	}{
		{"nothing", nil, "Usage: ferry <command>"},
		{"unknown verb", []string{"fly"}, "unexpected argument fly"},
		{"unknown flag", []string{"get", "--fast", "id"}, "unknown flag --fast"},
		{"no path", []string{"get"}, "expected \"<path>"},
		{"bad path", []string{"get", "a..b"}, `path "a..b" has an empty step at offset 2`},
		{"bad type", []string{"get", "-t", "xml", "id"}, "--type must be one of"},
		{"bad cast", []string{"get", "--as", "int7", "id"}, "--as must be one of"},
		{"bad output", []string{"get", "-o", "yaml", "id"}, "--output must be one of"},
		{"bad size", []string{"get", "--max", "64miles", "id"}, `"64miles" is not a size`},
		{"no value", []string{"set", "id"}, `"id" has no =: want PATH=VALUE`},
		{"bad path in set", []string{"set", `a\b=1`}, "lone backslash at offset 1"},
		{"no target", []string{"convert", "--from", "json"}, "missing flags: --to"},
		{"bad shell", []string{"completion", "tcsh"}, "must be one of"},
		{"bad address", []string{"sub", "-a", "127.0.0.1:4190", "#"}, `"127.0.0.1:4190" is no address: want quic://HOST:PORT`},
		{"address of nothing", []string{"pub", "-a", "tcp://", "a"}, `"tcp://" is no address`},
		{"bad filter", []string{"sub", "a/#/b"}, `filter "a/#/b" goes on behind #`},
		{"bad second filter", []string{"sub", "a", "a/#/b"}, `filter "a/#/b" goes on behind #`},
		{"two filters of a stream", []string{"sub", "--from", "first", "a", "b"}, "2 tag filters: --from and --durable read one"},
		{"two filters of a durable", []string{"sub", "a", "--durable", "d", "b"}, "2 tag filters"},
		{"wildcard to publish on", []string{"pub", "a/+"}, `tag "a/+" holds the wildcard`},
		{"bad predicate", []string{"sub", "--where", "a >", "#"}, "ferry sub: field: predicate"},
		{"unknown name in a predicate", []string{"sub", "--schema", "../../../examples/messages/noise.json", "--where", "event.niose.level > 1", "#"}, `event has no field "niose": is it noise?`},
		{"a place in no stream", []string{"sub", "--from", "last", "#"}, `--from "last": want first, a sequence number from 1, a time`},
		{"no configuration", []string{"check"}, "missing flags: --config"},
		{"no UTF-8", []string{"set", "id=\xff"}, `argument "id=\xff" is not UTF-8`},
		{"too many words", []string{"get", "id", "a", "b"}, "unexpected argument b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := ferryWith("{}", c.args...)
			if got.status != statusUsage || !strings.Contains(got.stderr, c.want) || got.stdout != "" {
				t.Errorf("got %+v, want status 2 and %q", got, c.want)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	verb, flag := ferryWith("", "version"), ferryWith("", "--version")
	if verb.status != 0 || !strings.HasPrefix(verb.stdout, "ferry ") {
		t.Errorf("ferry version: got %+v", verb)
	}
	if verb != flag {
		t.Errorf("ferry --version: got %+v, want %+v", flag, verb)
	}
	if got := ferryWith("", "version", "-o", "json"); got.status != 0 || !strings.HasPrefix(got.stdout, `{"version":`) {
		t.Errorf("ferry version -o json: got %+v", got)
	}
}
