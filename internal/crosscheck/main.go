// Crosscheck checks the types of packages for other platforms, with all packages that they import, from their sources. It finds what the
// compiler finds, apart from functions without a body, in less time: it compiles nothing, and skips the bodies of functions of other modules.
//
//	go run ./internal/crosscheck ./cmd/ferry windows/amd64 freebsd/amd64
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: crosscheck PACKAGE GOOS/GOARCH...")
		os.Exit(2)
	}
	failed := false
	for _, platform := range os.Args[2:] {
		fmt.Println("==", platform)
		if err := check(os.Args[1], platform); err != nil {
			fmt.Fprintf(os.Stderr, "crosscheck: %s: %v\n", platform, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// listed is one package in the output of `go list -deps -json`, which lists a package after those that it imports.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string
	Module     *struct {
		Main      bool
		GoVersion string
	}
	Error *struct{ Err string }
}

// check checks a package, and all that it imports, for a platform, which is GOOS/GOARCH.
func check(pkg, platform string) error {
	goos, goarch, ok := strings.Cut(platform, "/")
	if !ok {
		return errors.New("a platform is GOOS/GOARCH")
	}
	cmd := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module,Error", pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	c := checker{files: token.NewFileSet(), sizes: types.SizesFor("gc", goarch), done: map[string]*types.Package{"unsafe": types.Unsafe}}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return errors.Join(c.errs...)
		} else if err != nil {
			return fmt.Errorf("the output of go list -json: %w", err)
		}
		c.check(p)
	}
}

// checker checks packages in the order of their imports.
type checker struct {
	files *token.FileSet
	sizes types.Sizes
	done  map[string]*types.Package // by import path
	errs  []error
}

func (c *checker) check(p listed) {
	if p.Error != nil {
		c.errs = append(c.errs, errors.New(p.Error.Err))
		return
	}
	if p.ImportPath == "unsafe" {
		return
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(c.files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			c.errs = append(c.errs, err)
			return
		}
		files = append(files, file)
	}
	cfg := types.Config{
		Importer:         importer{c.done, p.ImportMap},
		Sizes:            c.sizes,
		IgnoreFuncBodies: p.Module == nil || !p.Module.Main,
		FakeImportC:      true,
		Error:            func(err error) { c.errs = append(c.errs, err) },
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		cfg.GoVersion = "go" + p.Module.GoVersion
	}
	c.done[p.ImportPath], _ = cfg.Check(p.ImportPath, c.files, files, nil) // Error has the errors
}

// importer finds the packages that were checked, for a package with the given ImportMap.
type importer struct {
	done  map[string]*types.Package
	names map[string]string
}

func (i importer) Import(path string) (*types.Package, error) {
	if mapped, ok := i.names[path]; ok {
		path = mapped
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s was not checked", path)
}
