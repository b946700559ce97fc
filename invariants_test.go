package ferry_test

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestInvariants checks the dependencies of ARCHITECTURE.md: each package has a list of packages that it may not link, not
// even indirectly.
func TestInvariants(t *testing.T) {
	all := packages(t)
	below := func(p pkg, paths ...string) bool { return slices.ContainsFunc(paths, p.below) }
	rows := []struct {
		name    string
		of      func(p pkg) bool
		refuses func(dep pkg) bool
	}{
		{
			"the root package links the standard library only",
			func(p pkg) bool { return p.ImportPath == module },
			func(dep pkg) bool { return !dep.Standard },
		},
		{
			"field, format and cpu link the standard library and golang.org/x/sys only",
			func(p pkg) bool { return below(p, "field", "format", "cpu") },
			func(dep pkg) bool {
				allowed := dep.Standard || dep.ImportPath == module || below(dep, "field", "format", "cpu", "internal")
				return !allowed && (dep.Module == nil || dep.Module.Path != "golang.org/x/sys")
			},
		},
		{
			"mechanism knows nothing of those who use it",
			func(p pkg) bool { return below(p, "transport", "protocol", "field", "format", "codec", "cpu") },
			func(dep pkg) bool { return below(dep, "stream", "rpc", "proxy", "node", "cmd") },
		},
		{
			"protocols own no socket",
			func(p pkg) bool { return p.below("protocol") && !p.forTests() },
			func(dep pkg) bool {
				return dep.ImportPath == "net" || dep.ImportPath == "crypto/tls" || dep.below("transport")
			},
		},
		{
			"what is in transit is never decoded",
			func(p pkg) bool { return below(p, "broker", "proxy") },
			func(dep pkg) bool { return dep.below("codec") },
		},
		{
			// A program in which reflect looks for a method by a name that is made at run time keeps all exported methods of all its types.
			"the linker can leave out methods of the program that nothing calls",
			func(p pkg) bool { return p.ImportPath == module+"/cmd/ferry" },
			func(dep pkg) bool { return dep.ImportPath == "text/template" || dep.ImportPath == "html/template" },
		},
		{
			"what is shipped does not link the test framework",
			func(p pkg) bool { return p.own() && !p.forTests() },
			func(dep pkg) bool { return dep.ImportPath == "testing" },
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			for _, p := range all {
				if !row.of(p) {
					continue
				}
				for _, dep := range p.Deps {
					if row.refuses(all[dep]) {
						t.Errorf("%s links %s", p.ImportPath, dep)
					}
				}
			}
		})
	}
}

// TestRooms checks that the rooms of the broker import only those of the lines above their own.
func TestRooms(t *testing.T) {
	lines := [][]string{
		{"broker/stats", "broker/stored/internal/durable", "broker/internal/ranks", "broker/internal/routes"},
		{"broker/internal/ledger"},
		{"broker/internal/outlet"},
		{"broker/calls", "broker/stored"},
		{"broker"},
	}
	lineOf := map[string]int{}
	for i, line := range lines {
		for _, room := range line {
			lineOf[module+"/"+room] = i
		}
	}
	for path, p := range packages(t) {
		line, known := lineOf[path]
		if !known && p.below("broker") {
			t.Errorf("%s is not in the list of rooms", path)
		}
		for _, dep := range p.Imports {
			if other, room := lineOf[dep]; known && room && other >= line {
				t.Errorf("%s imports %s", path, dep)
			}
		}
	}
}

// TestOneHome checks that each library is imported only in the place that ARCHITECTURE.md names.
func TestOneHome(t *testing.T) {
	homes := []struct{ module, home string }{
		{"github.com/quic-go/quic-go", "transport/quic"},
		{"github.com/prometheus/", "node"},
		{module + "/internal/cmdline", "cmd"},
	}
	for path, p := range packages(t) {
		for _, h := range homes {
			imports := func(dep string) bool { return strings.HasPrefix(dep, h.module) }
			if p.own() && !p.below(h.home) && slices.ContainsFunc(p.Imports, imports) {
				t.Errorf("%s imports %s, which only %s may", path, h.module, h.home)
			}
		}
	}
}

// TestDependenciesAreExplained checks that docs/dependencies.md has a line for each module that a package imports.
func TestDependenciesAreExplained(t *testing.T) {
	text, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	all := packages(t)
	for path, p := range all {
		if !p.own() {
			continue
		}
		for _, name := range p.Imports {
			dep := all[name]
			if m := dep.Module; m != nil && !dep.own() && !strings.Contains(string(text), "| "+m.Path+" |") {
				t.Errorf("%s imports %s: what for is not said in docs/dependencies.md", path, m.Path)
			}
		}
	}
}

// TestHygiene refuses notes about unfinished work, and skipped tests that do not say what they need.
func TestHygiene(t *testing.T) {
	note := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	skip := regexp.MustCompile(`\b\w{1,2}[.]Skip(f?[(]|Now[(])`) // of t, b, tb, not operator.Skip
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != ".":
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for n := 1; lines.Scan(); n++ {
			line := lines.Text()
			if note.MatchString(line) {
				t.Errorf("%s:%d: a note to self: do it, or write down why not", path, n)
			}
			if skip.MatchString(line) && !strings.Contains(line, `"needs `) {
				t.Errorf("%s:%d: a skip has to say what it needs: internal/needs", path, n)
			}
		}
		return lines.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
}
