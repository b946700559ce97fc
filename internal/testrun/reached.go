package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// change is the files that a change touches, as absolute paths.
type change []string

// since returns the change from the commit where this branch left base, with what is not committed.
func since(base string) (change, error) {
	root, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	root = strings.TrimSpace(root)
	fork, err := git("merge-base", base, "HEAD")
	if err != nil {
		return nil, err
	}
	changed, err := git("diff", "--name-only", "--no-relative", strings.TrimSpace(fork))
	if err != nil {
		return nil, err
	}
	added, err := git("ls-files", "--others", "--exclude-standard", "--full-name", root)
	if err != nil {
		return nil, err
	}
	c := change{} // not nil: see moduleBatches
	for name := range strings.Lines(changed + added) {
		c = append(c, filepath.Join(root, filepath.FromSlash(strings.TrimSuffix(name, "\n"))))
	}
	return c, nil
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

// reached returns the packages among all with a file of c, and those that import a package whose code has changed, apart from those that
// start programs. A file in testdata, or in another folder without Go files, belongs to the package above it.
func (c change) reached(all []listedPackage) (found []listedPackage) {
	touched, code := map[string]bool{}, map[string]bool{} // by import path
	for _, file := range c {
		var owner listedPackage
		for _, p := range all {
			if strings.HasPrefix(file, p.Dir+string(filepath.Separator)) && len(p.Dir) > len(owner.Dir) {
				owner = p
			}
		}
		touched[owner.ImportPath] = true
		if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") {
			code[owner.ImportPath] = true
		}
	}
	for _, p := range all {
		imports := slices.Concat(p.Imports, p.TestImports, p.XTestImports)
		if touched[p.ImportPath] || !startsPrograms(p.ImportPath) && slices.ContainsFunc(imports, func(path string) bool { return code[path] }) {
			found = append(found, p)
		}
	}
	return found
}
