package ferry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "rewrite deps.txt")

const module = "example.com/ferry"

// pkg is one package in the output of `go list`.
type pkg struct {
	ImportPath string
	Name       string
	Standard   bool
	Imports    []string
	Deps       []string // direct and indirect dependencies
	Module     *struct{ Path string }
}

func (p pkg) own() bool { return p.ImportPath == module || p.below("") }

// below reports whether the path of p within this module is path, or lies under path. The empty path is the module's root.
func (p pkg) below(path string) bool {
	if path == "" {
		return strings.HasPrefix(p.ImportPath, module+"/")
	}
	return p.ImportPath == module+"/"+path || strings.HasPrefix(p.ImportPath, module+"/"+path+"/")
}

// forTests reports whether the package is used by tests only. Such a package may link what is never shipped.
func (p pkg) forTests() bool { return strings.HasSuffix(p.Name, "test") || p.Name == "needs" }

// packages returns all packages of the module with their dependencies. The result is that for linux/amd64 without cgo on every
// machine.
func packages(t *testing.T) map[string]pkg {
	t.Helper()
	all, err := list()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return all
}

var list = sync.OnceValues(func() (map[string]pkg, error) {
	cmd := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Name,Standard,Imports,Deps,Module", "./...")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	all := make(map[string]pkg)
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all[p.ImportPath] = p
	}
})

// TestDeps compares the dependencies of each public package with deps.txt. It lists packages of this module by path and others
// by module, but none of the standard library. So a new dependency is visible in a review as a line of deps.txt.
func TestDeps(t *testing.T) {
	all := packages(t)
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(all)) {
		p := all[path]
		if !p.own() || p.Name == "main" || strings.Contains(path, "/internal/") {
			continue
		}
		links := make(map[string]bool)
		for _, dep := range p.Deps {
			switch d := all[dep]; {
			case d.own():
				links[dep] = true
			case d.Module != nil:
				links[d.Module.Path] = true
			}
		}
		fmt.Fprintln(&b, path)
		for _, dep := range slices.Sorted(maps.Keys(links)) {
			fmt.Fprintln(&b, "\t"+dep)
		}
	}
	got := b.String()
	if *update {
		if err := os.WriteFile("deps.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("deps.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("what the packages link is not what deps.txt says. If that is meant: make gen\n%s", diff(string(want), got))
	}
}

// diff returns the lines that only one of want and got has. Each line is printed with its package.
func diff(want, got string) string {
	lines := func(s string) map[string]bool {
		m, head := make(map[string]bool), ""
		for line := range strings.Lines(s) {
			if !strings.HasPrefix(line, "\t") {
				head = strings.TrimSpace(line)
			}
			m[head+" -> "+strings.TrimSpace(line)] = true
		}
		return m
	}
	var b strings.Builder
	w, g := lines(want), lines(got)
	for _, l := range slices.Sorted(maps.Keys(w)) {
		if !g[l] {
			fmt.Fprintln(&b, "-", l)
		}
	}
	for _, l := range slices.Sorted(maps.Keys(g)) {
		if !w[l] {
			fmt.Fprintln(&b, "+", l)
		}
	}
	return b.String()
}
