package main

import (
	"bytes"
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
)

// listedPackage is one package in the output of `go list -json`.
type listedPackage struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	CgoFiles     []string
	TestGoFiles  []string
	XTestGoFiles []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func (p listedPackage) testFiles() []string { return slices.Concat(p.TestGoFiles, p.XTestGoFiles) }

func (p listedPackage) allFiles() []string {
	return slices.Concat(p.GoFiles, p.CgoFiles, p.testFiles())
}

// selection are the packages of one module that have tests.
type selection struct {
	race  []string // packages to test with the race detector
	plain []string // packages to test without the race detector
}

// selectPackages calls needsRace for each package in the module of dir, or of those for each that c reaches, if c is not nil. A package that
// cannot be read is added to plain, because go test reports the reason.
func selectPackages(dir string, c change) (selection, error) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return selection{}, fmt.Errorf("%s: %w", cmd, err)
	}
	var all []listedPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return selection{}, fmt.Errorf("the output of go list -json: %w", err)
		}
		all = append(all, p)
	}
	if c != nil {
		all = c.reached(all)
	}
	var s selection
	for _, p := range all {
		if len(p.testFiles()) > 0 && needsRace(p) {
			s.race = append(s.race, p.ImportPath)
		} else {
			s.plain = append(s.plain, p.ImportPath)
		}
	}
	return s, nil
}

// needsRace reports whether the files of p, with the tests, start goroutines or share memory. That is so if a file has a go
// statement, imports a package of sharedMemoryImports, or uses a type of sync that several goroutines share. All other packages run on the
// goroutine of their caller. If a caller is concurrent, the caller's own tests use the race detector, which then observes the
// code of both packages.
func needsRace(p listedPackage) bool {
	return slices.ContainsFunc(p.allFiles(), func(name string) bool {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		return err == nil && concurrent(file)
	})
}

// sharedMemoryImports are packages that only files with shared memory import.
var sharedMemoryImports = []string{"sync/atomic", "golang.org/x/sync/errgroup"}

// unsharedSyncNames are the names in sync that a file may use without a second goroutine: values computed once, and reused memory.
var unsharedSyncNames = []string{"Once", "OnceFunc", "OnceValue", "OnceValues", "Pool"}

func concurrent(file *ast.File) bool {
	for _, imported := range file.Imports {
		if path, err := strconv.Unquote(imported.Path.Value); err == nil && slices.Contains(sharedMemoryImports, path) {
			return true
		}
	}
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "sync" && !slices.Contains(unsharedSyncNames, n.Sel.Name) {
				found = true
			}
		}
		return !found
	})
	return found
}
