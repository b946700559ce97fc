package config

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// substitution puts the values of expressions into the tree of one file. It works on the scalars of the parsed YAML: a value can be
// nothing but one text, number or boolean, whatever characters it has, and comments are not looked at.
type substitution struct {
	source *Source
	doc    *document
	done   map[ast.Node]bool // nodes that aliases share: mappings and lists are visited once
}

// walk replaces the expressions below n, and returns what stands in the place of n. of is the schema of n; nil if n is unknown there.
func (s *substitution) walk(n ast.Node, of *schema) ast.Node {
	switch v := n.(type) {
	case *ast.AnchorNode:
		v.Value = s.walk(v.Value, of)
	case *ast.TagNode:
		v.Value = s.walk(v.Value, of)
	case *ast.MappingNode, *ast.MappingValueNode:
		if s.done[n] {
			return n
		}
		s.done[n] = true
		for _, kv := range pairs(n) {
			below := of
			if kv.Key.GetToken().Value != "<<" { // what is merged has the fields of this mapping
				below = of.field(kv.Key.GetToken().Value)
			}
			kv.Value = s.walk(kv.Value, below)
		}
	case *ast.SequenceNode:
		if s.done[n] {
			return n
		}
		s.done[n] = true
		for i := range v.Values {
			v.Values[i] = s.walk(v.Values[i], of.item())
		}
	case *ast.StringNode:
		return s.scalar(v, v, of)
	case *ast.LiteralNode:
		return s.scalar(v, v.Value, of)
	}
	return n
}

// scalar returns what stands in the place of n, whose text is that of text.
func (s *substitution) scalar(n ast.Node, text *ast.StringNode, of *schema) ast.Node {
	if !strings.Contains(text.Value, "${") {
		return n
	}
	secret := false
	value, err := expand(text.Value, func(e expression) (string, error) {
		v, err := s.source.value(e, s.doc)
		if err == nil && (e.file != "" || s.source.private || secretVariable(e.variable)) {
			secret = true
			s.source.secrets = append(s.source.secrets, v)
		}
		return v, err
	})
	if err != nil {
		var wrong *expressionError
		errors.As(err, &wrong) // value returns no other one
		s.source.errs = append(s.source.errs, s.doc.errorAtText(n.GetToken(), wrong.text, wrong.reason))
		return n
	}
	tk := text.Token
	if s.done[n] { // an alias shares the node, and may stand where another type is expected
		tk = again(tk)
	}
	s.done[n] = true
	n = typed(tk, value, of)
	if secret {
		s.source.secretNodes[n] = true
	}
	return n
}

// again returns a copy of tk, behind it in the file: the library looks for the tokens of a node there.
func again(tk *token.Token) *token.Token {
	copied := *tk
	copied.Prev = tk
	if tk.Next != nil {
		tk.Next.Prev = &copied
	}
	tk.Next = &copied
	return &copied
}

// typed returns a node at tk, which it changes, with a value: a number or boolean if the schema has one in its place and the value is one, and otherwise
// text. The library decodes some types from the origin of the token: that of text is quoted.
func typed(tk *token.Token, value string, of *schema) ast.Node {
	var types types
	if of != nil {
		types = of.Types
	}
	scalar := func(text string) *token.Token {
		tk.Type, tk.Value, tk.Origin = token.StringType, text, text
		return tk
	}
	word := strings.TrimSpace(value)
	switch {
	case slices.Contains(types, "string"):
	case slices.Contains(types, "boolean") && (word == "true" || word == "false"):
		return ast.Bool(scalar(word))
	case slices.Contains(types, "integer") || slices.Contains(types, "number"):
		if i, err := strconv.ParseInt(word, 10, 64); err == nil {
			return ast.Integer(scalar(strconv.FormatInt(i, 10))) // without the leading zeros of octal numbers
		}
		if f, err := strconv.ParseFloat(word, 64); err == nil && slices.Contains(types, "number") {
			return ast.Float(scalar(strconv.FormatFloat(f, 'f', -1, 64)))
		}
	}
	quoted, _ := json.Marshal(value) // of valid UTF-8: it cannot fail
	tk.Type, tk.Value, tk.Origin = token.DoubleQuoteType, value, string(quoted)
	return ast.String(tk)
}
