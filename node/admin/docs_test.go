package admin

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/metrics.md")

// TestMetricsAreDocumented compares the tables of docs/metrics.md with the metrics that this package describes.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	const path = "../../docs/metrics.md"
	sources, err := filepath.Glob("*metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	call := regexp.MustCompile(`desc\("(ferry_\w+)", "([^"]*)"((?:, "\w+")*)\)`)
	tables := map[string]string{} // by source file
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		var table strings.Builder
		table.WriteString("| metric | meaning |\n|---|---|\n")
		for _, m := range call.FindAllStringSubmatch(string(text), -1) {
			labels := strings.Join(regexp.MustCompile(`\w+`).FindAllString(m[3], -1), ",")
			if labels != "" {
				labels = "{" + labels + "}"
			}
			fmt.Fprintf(&table, "| `%s%s` | %s |\n", m[1], labels, strings.TrimSuffix(m[2], "."))
		}
		tables[source] = table.String()
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile(`(?s)<!-- (\w+\.go) -->\n.*?<!-- end -->`)
	shown := map[string]bool{}
	want := block.ReplaceAllStringFunc(string(text), func(old string) string {
		source := block.FindStringSubmatch(old)[1]
		shown[source] = true
		return "<!-- " + source + " -->\n" + tables[source] + "<!-- end -->"
	})
	for source := range tables {
		if !shown[source] {
			t.Errorf("%s has no table for %s", path, source)
		}
	}
	switch {
	case *update:
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	case want != string(text):
		t.Errorf("%s does not list the metrics of this package: run go test ./node/admin -update", path)
	}
}
