package config

import (
	"errors"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// document finds the position of a field in a file.
type document struct {
	file  string
	lines []string
	root  ast.Node
}

func newDocument(file string, data []byte) *document {
	return &document{file: file, lines: strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")}
}

// errorAt returns an error with the position of tk.
func (d *document) errorAt(tk *token.Token, field, reason string) *Error {
	e := &Error{File: d.file, Field: field, Reason: reason}
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

// errorAtValue returns an error with the position of the value at path, or of the closest enclosing value in the file.
func (d *document) errorAtValue(path []string, reason string) *Error {
	return d.errorAt(d.token(path), dotted(path), reason)
}

// errorAtKey returns an error with the position of the key at path.
func (d *document) errorAtKey(path []string, reason string) *Error {
	parent, ok := lookup(d.root, path[:len(path)-1])
	if ok {
		for _, kv := range pairs(parent) {
			if kv.Key.GetToken().Value == path[len(path)-1] {
				return d.errorAt(kv.Key.GetToken(), dotted(path), reason)
			}
		}
	}
	return d.errorAtValue(path, reason)
}

func (d *document) token(path []string) *token.Token {
	for n := len(path); n >= 0 && d.root != nil; n-- {
		node, ok := lookup(d.root, path[:n])
		if !ok {
			continue
		}
		if kvs := pairs(node); len(kvs) > 0 {
			return kvs[0].Key.GetToken()
		}
		return node.GetToken()
	}
	return nil
}

// yamlError converts an error of the YAML library.
func (d *document) yamlError(err error) error {
	var e yaml.Error
	if errors.As(err, &e) {
		return Errors{d.errorAt(e.GetToken(), "", e.GetMessage())}
	}
	return Errors{{File: d.file, Reason: err.Error()}}
}

// lookup follows names and indices, through anchors and tags.
func lookup(n ast.Node, path []string) (ast.Node, bool) {
	for _, step := range path {
		n = plain(n)
		var next ast.Node
		if seq, ok := n.(*ast.SequenceNode); ok {
			if i, err := strconv.Atoi(step); err == nil && i < len(seq.Values) {
				next = seq.Values[i]
			}
		}
		for _, kv := range pairs(n) {
			if kv.Key.GetToken().Value == step {
				next = kv.Value
			}
		}
		if next == nil {
			return nil, false
		}
		n = next
	}
	return plain(n), true
}

func plain(n ast.Node) ast.Node {
	for {
		switch v := n.(type) {
		case *ast.AnchorNode:
			n = v.Value
		case *ast.TagNode:
			n = v.Value
		default:
			return n
		}
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
