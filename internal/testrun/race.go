package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// listed is one package as `go list -json` describes it.
type listed struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	CgoFiles     []string
	TestGoFiles  []string
	XTestGoFiles []string
}

func (p listed) testFiles() []string { return slices.Concat(p.TestGoFiles, p.XTestGoFiles) }

func (p listed) allFiles() []string { return slices.Concat(p.GoFiles, p.CgoFiles, p.testFiles()) }

// selection is the packages of one module that have tests, by how they are tested.
type selection struct {
	race  []string // with the race detector
	plain []string // without
}

// selectPackages applies the rule of needsRace to each package that patterns match in the module of dir. A package that
// cannot be read is among plain: go test reports why.
func selectPackages(dir string, patterns ...string) (selection, error) {
	args := append([]string{"list", "-e", "-json=ImportPath,Dir,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles"}, patterns...)
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return selection{}, fmt.Errorf("%s: %w", cmd, err)
	}
	var s selection
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return s, nil
		} else if err != nil {
			return selection{}, fmt.Errorf("the output of go list -json: %w", err)
		}
		if len(p.testFiles()) > 0 && needsRace(p) {
			s.race = append(s.race, p.ImportPath)
		} else {
			s.plain = append(s.plain, p.ImportPath)
		}
	}
}

// needsRace reports whether the files of p, tests included, start goroutines or share memory: they have a go statement,
// import sync/atomic, or use a type of sync that several goroutines meet at. A package without either runs on the goroutine
// that calls it; when a caller is concurrent, the caller's own tests have the race detector, which sees the code of both.
func needsRace(p listed) bool {
	return slices.ContainsFunc(p.allFiles(), func(name string) bool {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		return err == nil && concurrent(file)
	})
}

// sharing is the packages whose import says that a file shares memory.
var sharing = []string{"sync/atomic", "golang.org/x/sync/errgroup"}

// solitary is what files use of sync without a second goroutine: values that are computed once, and memory that is reused.
var solitary = []string{"Once", "OnceFunc", "OnceValue", "OnceValues", "Pool"}

func concurrent(file *ast.File) bool {
	for _, imported := range file.Imports {
		if path, err := strconv.Unquote(imported.Path.Value); err == nil && slices.Contains(sharing, path) {
			return true
		}
	}
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "sync" && !slices.Contains(solitary, n.Sel.Name) {
				found = true
			}
		}
		return !found
	})
	return found
}
