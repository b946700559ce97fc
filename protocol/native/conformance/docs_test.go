package conformance_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"example.com/ferry/protocol/native/conformance"
)

var update = flag.Bool("update", false, "rewrite the tables of cases in docs/conformance.md")

const page = "../../../docs/conformance.md"

// TestDocs compares the tables of cases in docs/conformance.md with the code.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	for _, table := range []struct {
		heading string
		cases   []conformance.Case
	}{
		{"## Cases for clients\n\n", conformance.ClientCases()},
		{"## Cases for nodes\n\n", conformance.NodeCases()},
	} {
		head, rest, ok := strings.Cut(got, table.heading)
		if !ok {
			t.Fatalf("%s has no %q", page, table.heading)
		}
		_, tail, _ := strings.Cut(rest, "\n\n")
		if tail != "" {
			tail = "\n" + tail
		}
		rows := "| case | proves | section |\n|---|---|---|\n"
		for _, c := range table.cases {
			rows += fmt.Sprintf("| `%s` | %s | %s |\n", c.Name, c.Idea, c.Section)
		}
		got = head + table.heading + rows + tail
	}
	if *update {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != string(text) {
		t.Errorf("%s differs from the code: run go test -run '^TestDocs$' . -update", page)
	}
}

// TestCases checks that each case has a name of its own, and names a section of docs/native.md.
func TestCases(t *testing.T) {
	text, err := os.ReadFile("../../../docs/native.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			sections[strings.TrimSpace(title)] = true
		}
	}
	for _, list := range [][]conformance.Case{conformance.ClientCases(), conformance.NodeCases()} {
		names := map[string]bool{}
		for _, c := range list {
			if names[c.Name] || !strings.HasSuffix(c.Idea, ".") || !sections[c.Section] {
				t.Errorf("case %+v: want another name, a sentence, and a section of docs/native.md", c)
			}
			names[c.Name] = true
		}
	}
}
