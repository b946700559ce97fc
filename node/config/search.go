package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"example.com/ferry/internal/pace"
)

// search finds the fields of a configuration that a rule selects. It descends only into types that have such fields: a configuration may
// have thousands of routes.
type search struct {
	selects func(reflect.StructField) bool
	skips   []reflect.Type                 // not searched
	fields  map[reflect.Type][]searchField // of structs
}

// searchField is a field that is selected, or whose type has such fields.
type searchField struct {
	index    int
	name     string // empty for an inlined field
	selected bool
}

func newSearch(selects func(reflect.StructField) bool, skips ...reflect.Type) *search {
	s := &search{selects, skips, map[reflect.Type][]searchField{}}
	s.add(reflect.TypeFor[Config]())
	return s
}

// searchNames searches the fields with these names.
func searchNames(names ...string) *search {
	return newSearch(func(f reflect.StructField) bool { return slices.Contains(names, yamlName(f)) })
}

// add reports whether a type has selected fields.
func (s *search) add(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return s.add(t.Elem())
	case reflect.Struct:
		if slices.Contains(s.skips, t) {
			return false
		}
	default:
		return false
	}
	if known, ok := s.fields[t]; ok {
		return len(known) > 0
	}
	s.fields[t] = nil // a type within itself
	var found []searchField
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		inline := options == "inline"
		if !f.IsExported() || name == "-" || name == "" && !inline {
			continue
		}
		if selected := s.selects(f); selected || s.add(f.Type) {
			found = append(found, searchField{i, name, selected})
		}
	}
	s.fields[t] = found
	return len(found) > 0
}

// each calls visit for each selected field of a configuration. field is its name, such as proxy.clusters[0].idle_timeout, and is valid
// during the call.
func (s *search) each(c *Config, visit func(field searchPath, v reflect.Value)) {
	s.walk(make(searchPath, 0, 16), reflect.ValueOf(c), visit)
}

func (s *search) walk(at searchPath, v reflect.Value, visit func(searchPath, reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			s.walk(at, v.Elem(), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			s.walk(append(at, searchStep{index: i}), v.Index(i), visit)
			pace.Step()
		}
	case reflect.Struct:
		for _, f := range s.fields[v.Type()] {
			depth := len(at)
			if f.name != "" {
				at = append(at, searchStep{name: f.name})
			}
			if f.selected {
				visit(at, v.Field(f.index))
			} else {
				s.walk(at, v.Field(f.index), visit)
			}
			at = at[:depth]
		}
	}
}

// searchPath leads to a field.
type searchPath []searchStep

// searchStep is the name of a field, or the index of an entry of a list.
type searchStep struct {
	name  string
	index int
}

// String returns the path as errors name it.
func (p searchPath) String() string { return p.text(strconv.Itoa) }

// text returns the path with what index makes of the indices.
func (p searchPath) text(index func(int) string) string {
	var b strings.Builder
	for _, step := range p {
		switch {
		case step.name == "":
			b.WriteString("[" + index(step.index) + "]")
		case b.Len() > 0:
			b.WriteString("." + step.name)
		default:
			b.WriteString(step.name)
		}
	}
	return b.String()
}
