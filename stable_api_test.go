package ferry_test

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/format"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// addAPI adds the exported names of all public packages for linux/amd64, with their types.
func (s surface) addAPI(t *testing.T) {
	t.Helper()
	system := build.Default
	system.GOOS, system.GOARCH, system.CgoEnabled, system.BuildTags = "linux", "amd64", false, nil
	for path, p := range packages(t) {
		if !p.own() || p.Name == "main" || p.forTests() || strings.Contains(path+"/", "/internal/") {
			continue
		}
		dir := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
		found, err := system.ImportDir("./"+dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		if dir == "" {
			dir = p.Name
		}
		for _, name := range found.GoFiles {
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, filepath.Join(found.Dir, name), nil, parser.SkipObjectResolution) // without comments
			if err != nil {
				t.Fatal(err)
			}
			s.addFile(dir, set, f)
		}
	}
}

// addFile adds the exported declarations of a file.
func (s surface) addFile(dir string, set *token.FileSet, f *ast.File) {
	add := func(name, kind string, node ast.Node) {
		var text bytes.Buffer
		if node != nil {
			if format.Node(&text, set, node) != nil {
				return
			}
		}
		line := strings.Join(strings.Fields("api "+dir+"."+name+" "+kind+" "+text.String()), " ")
		s[line] = nameIn(line)
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				of := receiver(d.Recv.List[0].Type)
				if !ast.IsExported(of) {
					continue
				}
				name = of + "." + name
			}
			if d.Name.IsExported() {
				add(name, "", d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.IsExported() {
						addType(spec, add)
					}
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						if name.IsExported() {
							add(name.Name, d.Tok.String(), spec.Type)
						}
					}
				}
			}
		}
	}
}

// addType adds a type: exported fields of a struct, and all methods of an interface, one by one, any other type as it is.
func addType(spec *ast.TypeSpec, add func(name, kind string, node ast.Node)) {
	var members *ast.FieldList
	switch of := spec.Type.(type) {
	case *ast.StructType:
		members = of.Fields
		add(spec.Name.Name, "struct", nil)
	case *ast.InterfaceType:
		members = of.Methods
		add(spec.Name.Name, "interface", nil)
	default:
		add(spec.Name.Name, "type", spec.Type)
		return
	}
	for _, m := range members.List {
		if len(m.Names) == 0 && ast.IsExported(receiver(m.Type)) {
			add(spec.Name.Name+"."+receiver(m.Type), "embedded", nil)
		}
		for _, name := range m.Names {
			if name.IsExported() {
				add(spec.Name.Name+"."+name.Name, "", m.Type)
			}
		}
	}
}

// receiver returns the name of a type without its package, pointer and parameters.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.SelectorExpr:
		return of.Sel.Name
	case *ast.Ident:
		return of.Name
	}
	return ""
}
