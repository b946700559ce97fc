package config

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"example.com/ferry/internal/yamlread"
)

// document is one file of a configuration.
type document struct {
	file  string
	lines []string
	first *token.Token // of the file
	order int          // 0 for the file that includes the others
}

func newDocument(file string, data []byte) *document {
	return &document{file: file, lines: strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")}
}

// decode returns the value of a node: a map, a list, a text, a number or a bool.
func decode(node ast.Node) (raw any, err error) {
	err = yamlread.Do(func() error { return yaml.NodeToValue(node, &raw) })
	return raw, err
}

// errorAt returns an error with the position of tk.
func (d *document) errorAt(tk *token.Token, field, reason string) *Error {
	e := &Error{File: d.file, Field: field, Reason: reason, order: d.order}
	if tk != nil && tk.Position != nil {
		e.Line, e.Column = tk.Position.Line, tk.Position.Column
		if e.Line >= 1 && e.Line <= len(d.lines) && !mayHoldSecret(field, d.lines[e.Line-1]) {
			e.Source = d.lines[e.Line-1]
		}
	}
	return e
}

// mayHoldSecret reports whether a line of the file is not quoted in errors, as it may have a token: also one that is on a line
// of its own, or behind a misspelled name.
func mayHoldSecret(field, line string) bool {
	line = strings.ToLower(line)
	return strings.HasPrefix(field, "identities[") || strings.Contains(line, "tok") || strings.Contains(line, "identities") ||
		strings.Contains(line, "://") && strings.Contains(line, "@")
}

// maxScalarLines bounds the lines in which errorAtText searches.
const maxScalarLines = 1000

// errorAtText returns an error with the position of text in the scalar at tk, or with that of the scalar.
func (d *document) errorAtText(tk *token.Token, text, reason string) *Error {
	e := d.errorAt(tk, "", text+": "+reason)
	for i := max(e.Line, 1); i <= len(d.lines) && i < e.Line+maxScalarLines; i++ {
		line, from := d.lines[i-1], 0
		if i == e.Line {
			from = len(firstRunes(line, e.Column-1))
		}
		if at := strings.Index(line[from:], text); at >= 0 {
			e.Line, e.Column, e.Source = i, utf8.RuneCountInString(line[:from+at])+1, ""
			if !mayHoldSecret("", line) {
				e.Source = line
			}
			break
		}
	}
	return e
}

// errorAtValue returns an error with the position of the value at path, or of the closest enclosing value in the files.
func (s *Source) errorAtValue(path []string, reason string) *Error {
	if e := s.inRoutes(path, reason); e != nil {
		return e
	}
	for n := len(path); n >= 0 && s.root != nil; n-- {
		node, doc, ok := s.lookup(path[:n])
		if !ok {
			continue
		}
		tk := node.GetToken()
		if kvs := pairs(node); len(kvs) > 0 {
			tk = kvs[0].Key.GetToken()
			if origin := s.origins[kvs[0]]; origin != nil {
				doc = origin
			}
		}
		return doc.errorAt(tk, dotted(path), reason)
	}
	return s.docs[0].errorAt(nil, dotted(path), reason)
}

// errorAtKey returns an error with the position of the key at path.
func (s *Source) errorAtKey(path []string, reason string) *Error {
	if parent, doc, ok := s.lookup(path[:len(path)-1]); ok {
		for _, kv := range pairs(parent) {
			if kv.Key.GetToken().Value != path[len(path)-1] {
				continue
			}
			if origin := s.origins[kv]; origin != nil {
				doc = origin
			}
			return doc.errorAt(kv.Key.GetToken(), dotted(path), reason)
		}
	}
	return s.errorAtValue(path, reason)
}

// yamlError converts an error of the YAML library.
func (d *document) yamlError(err error) Errors {
	var e yaml.Error
	if errors.As(err, &e) {
		reason := e.GetMessage()
		if strings.Contains(reason, "not allowed in this context") { // the library's words for a line that belongs to nothing above it
			reason += ": indent the line like its neighbors, or put the value in quotes"
		}
		return Errors{d.errorAt(e.GetToken(), "", reason)}
	}
	return Errors{{File: d.file, Reason: err.Error(), order: d.order}}
}

// lookup follows names and indices from the root, through tags, and returns the file of what it finds, too.
func (s *Source) lookup(path []string) (n ast.Node, doc *document, ok bool) {
	n, doc = s.root, s.docs[0]
	enter := func(at ast.Node) {
		if origin := s.origins[at]; origin != nil {
			doc = origin
		}
	}
	for _, step := range path {
		n = plain(n)
		var next ast.Node
		if seq, ok := n.(*ast.SequenceNode); ok {
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(seq.Values) {
				next = seq.Values[i]
				enter(next)
			}
		}
		for _, kv := range pairs(n) {
			if kv.Key.GetToken().Value == step {
				next = kv.Value
				enter(kv)
			}
		}
		if next == nil {
			return nil, nil, false
		}
		n = next
	}
	return plain(n), doc, n != nil
}

// plain returns a node without its tags.
func plain(n ast.Node) ast.Node {
	for {
		tag, ok := n.(*ast.TagNode)
		if !ok {
			return n
		}
		n = tag.Value
	}
}

func pairs(n ast.Node) []*ast.MappingValueNode {
	switch v := n.(type) {
	case *ast.MappingNode:
		return v.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{v}
	}
	return nil
}

// steps is the inverse of dotted.
func steps(field string) []string {
	return strings.Split(strings.NewReplacer("[", ".", "]", "").Replace(field), ".")
}

// dotted returns a path as a field is written in errors: listeners[0].address.
func dotted(path []string) string {
	var b strings.Builder
	for _, step := range path {
		if _, err := strconv.Atoi(step); err == nil {
			b.WriteString("[" + step + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(step)
	}
	return b.String()
}
