package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// maxIncluded bounds the files that a configuration includes.
const maxIncluded = 1000

// include merges the files that the root names into it, in the order of the list, and those of a pattern in the order of their names.
func (s *Source) include() {
	if s.root == nil {
		return
	}
	if s.bundled != nil {
		s.includeBundled()
		return
	}
	node, _, ok := s.lookup([]string{"include"})
	if !ok {
		return
	}
	var patterns Filters
	if raw, err := decode(node); err != nil || fill(reflect.ValueOf(&patterns).Elem(), raw) != nil {
		return // the schema says what is wrong
	}
	names := []string{s.docs[0].file}
	for i, pattern := range patterns {
		at := []string{"include"}
		if _, list := node.(*ast.SequenceNode); list {
			at = append(at, strconv.Itoa(i))
		}
		if strings.Contains(pattern, "${") && len(s.errs) > 0 {
			continue // it has no value
		}
		if pattern == "" {
			s.errs = append(s.errs, s.errorAtValue(at, "empty: name a file"))
			continue
		}
		pattern = s.docs[0].resolve(pattern)
		s.patterns = append(s.patterns, pattern)
		matches, err := s.matches(pattern)
		if err != nil {
			s.errs = append(s.errs, s.errorAtValue(at, err.Error()))
			continue
		}
		for _, name := range matches {
			switch {
			case name == filepath.Clean(names[0]):
				s.errs = append(s.errs, s.errorAtValue(at, pattern+" includes this file itself: keep the included files in a folder of their own, such as conf.d"))
			case slices.Contains(names, name):
			case len(names) > maxIncluded:
				s.errs = append(s.errs, s.errorAtValue(at, fmt.Sprintf("more than %d files", maxIncluded)))
				return
			default:
				names = append(names, name)
				s.includeFile(name, at)
			}
		}
	}
}

// matches returns the files of a pattern. A name without wildcards must exist.
func (s *Source) matches(pattern string) ([]string, error) {
	found, err := s.match(pattern)
	if err != nil {
		return nil, fmt.Errorf("%q is no pattern: * and ? are wildcards, and [ needs a ]", pattern)
	}
	if len(found) == 0 && !strings.ContainsAny(pattern, "*?[") {
		s.note(pattern, "")
		return nil, fmt.Errorf("%s: no such file", pattern)
	}
	return found, nil
}

// includeFile merges a file into the root. at is the field that names it.
func (s *Source) includeFile(name string, at []string) {
	data, err := s.files(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) { // removed since it was found
			err = fmt.Errorf("%s: %w", name, os.ErrNotExist)
		}
		s.note(name, "")
		s.errs = append(s.errs, s.errorAtValue(at, err.Error()))
		return
	}
	s.includeText(name, data)
}

// includeText merges the text of a file into the root.
func (s *Source) includeText(name string, data []byte) {
	before := len(s.errs)
	root := s.parse(name, data)
	if root == nil || len(s.errs) > before {
		return
	}
	doc := s.docs[len(s.docs)-1]
	if len(pairs(root)) == 0 {
		if _, empty := root.(*ast.MappingNode); !empty {
			s.errs = append(s.errs, doc.errorAt(root.GetToken(), "", "not a mapping: an included file has sections, as the file that includes it"))
		}
		return
	}
	for _, kv := range pairs(root) {
		if kv.Key.GetToken().Value == "include" {
			s.errs = append(s.errs, doc.errorAt(kv.Key.GetToken(), "include", "in an included file: only "+s.docs[0].file+" includes others"))
			return
		}
	}
	s.root = s.merge(s.root, root, doc, nil)
}

// merge returns mapping into with the fields of mapping from, which is of doc: lists are appended, mappings merged, and a value that both
// have is an error. The nodes that from shares with other places of its file stay as they are.
func (s *Source) merge(into, from ast.Node, doc *document, path []string) ast.Node {
	merged := ast.Mapping(into.GetToken(), false, pairs(into)...)
	for _, kv := range pairs(from) {
		name := kv.Key.GetToken().Value
		at := append(slices.Clone(path), name)
		i := slices.IndexFunc(merged.Values, func(old *ast.MappingValueNode) bool { return old.Key.GetToken().Value == name })
		if i < 0 {
			s.origins[kv] = doc
			merged.Values = append(merged.Values, kv)
			continue
		}
		old := merged.Values[i]
		was, is := plain(old.Value), plain(kv.Value)
		wasList, isList := list(was), list(is)
		var value ast.Node
		switch {
		case wasList != nil && isList != nil:
			both := *wasList
			both.Values = slices.Concat(wasList.Values, isList.Values)
			for _, each := range isList.Values {
				s.origins[each] = doc
			}
			value = &both
		case mapping(was) && mapping(is):
			value = s.merge(was, is, doc, at)
		default:
			first := s.errorAtKey(at, "")
			s.errs = append(s.errs, doc.errorAt(kv.Key.GetToken(), dotted(at),
				fmt.Sprintf("is set at %s:%d:%d already: lists append and mappings merge, but a value is set once", first.File, first.Line, first.Column)))
			continue
		}
		replaced := *old
		replaced.Value = value
		if origin := s.origins[old]; origin != nil {
			s.origins[&replaced] = origin
		}
		merged.Values[i] = &replaced
	}
	return merged
}

func list(n ast.Node) *ast.SequenceNode {
	l, _ := n.(*ast.SequenceNode)
	return l
}

func mapping(n ast.Node) bool {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}
