package main

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestReached(t *testing.T) {
	const module = "example.com/ferry"
	root := t.TempDir()
	pkg := func(name string, imports ...string) listedPackage {
		p := listedPackage{ImportPath: module + name, Dir: root + filepath.FromSlash(name)}
		for _, i := range imports {
			p.TestImports = append(p.TestImports, module+i)
		}
		return p
	}
	all := []listedPackage{pkg(""), pkg("/field", ""), pkg("/format", "/field"), pkg("/format/json", "/format"), pkg("/node", "/field")}
	for _, row := range []struct {
		name  string
		files change
		want  []string
	}{
		{"nothing", change{}, nil},
		{"a document", change{"CHANGELOG.md"}, []string{""}},
		{"code: not those that start programs", change{"field/path.go"}, []string{"/field", "/format"}},
		{"a test", change{"field/path_test.go"}, []string{"/field"}},
		{"test data", change{"format/json/testdata/x/y.txt"}, []string{"/format/json"}},
		{"a program's own code", change{"node/node.go"}, []string{"/node"}},
	} {
		for i, name := range row.files {
			row.files[i] = filepath.Join(root, filepath.FromSlash(name))
		}
		var got []string
		for _, p := range row.files.reached(all) {
			got = append(got, p.ImportPath[len(module):])
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}
