package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// module is the path of this module; its root is two folders up.
const module = "example.com/ferry/"

// sources reads what reflection cannot: the comments of fields and the constants of types. It parses a package on its first use.
type sources struct {
	t        *testing.T
	packages map[string]*source // by import path
}

// source is one package.
type source struct {
	comments  map[string]string   // by type.field
	constants map[string][]string // by type, in the order they are declared
}

// comment returns the comment of a field of t as a sentence that does not begin with its name.
func (s *sources) comment(t reflect.Type, field string) string {
	text := s.of(t).comments[t.Name()+"."+field]
	if text == "" {
		s.t.Errorf("%v.%s has no comment", t, field)
		return ""
	}
	_, text, _ = strings.Cut(text, " ")
	text = strings.TrimPrefix(strings.TrimPrefix(text, "is "), "are ")
	if first, _, _ := strings.Cut(text, " "); strings.Contains(first, "://") {
		return text // an address, whose scheme is in lower case
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// constants returns the values that a type of text has in its package.
func (s *sources) constants(t reflect.Type) []string {
	if t.PkgPath() == "" {
		return nil
	}
	return s.of(t).constants[t.Name()]
}

func (s *sources) of(t reflect.Type) *source {
	path := t.PkgPath()
	if known := s.packages[path]; known != nil {
		return known
	}
	made := &source{comments: map[string]string{}, constants: map[string][]string{}}
	dir := filepath.Join("..", "..", strings.TrimPrefix(path, module))
	list, err := os.ReadDir(dir)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range list {
		if name := f.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.ParseComments)
			if err != nil {
				s.t.Fatal(err)
			}
			made.add(file)
		}
	}
	if s.packages == nil {
		s.packages = map[string]*source{}
	}
	s.packages[path] = made
	return made
}

// add records the declarations of a file.
func (s *source) add(file *ast.File) {
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if of, ok := spec.Type.(*ast.StructType); ok {
					s.addFields(spec.Name.Name, of)
				}
			case *ast.ValueSpec:
				if of, ok := spec.Type.(*ast.Ident); ok && group.Tok == token.CONST {
					s.addConstants(of.Name, spec)
				}
			}
		}
	}
}

func (s *source) addFields(of string, t *ast.StructType) {
	for _, f := range t.Fields.List {
		for _, name := range f.Names {
			s.comments[of+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
		}
	}
}

func (s *source) addConstants(of string, spec *ast.ValueSpec) {
	for _, value := range spec.Values {
		if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				s.constants[of] = append(s.constants[of], text)
			}
		}
	}
}
