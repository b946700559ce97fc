package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"example.com/ferry/field"
)

// SyntaxError is an error in a hint file.
type SyntaxError struct {
	Line   int    // line of the file, from 1
	Field  string // path of the member with the error; "" for an error about the whole file
	Reason string
}

func (e *SyntaxError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("schema: line %d: %s", e.Line, e.Reason)
	}
	return fmt.Sprintf("schema: line %d: %s: %s", e.Line, e.Field, e.Reason)
}

// parser reads a hint file from front to back.
type parser struct {
	data    []byte
	decoder *json.Decoder
	path    []string // names of the members around the current position, outermost first
	named   map[string]*namedType
}

func (p *parser) line(offset int64) int {
	return 1 + bytes.Count(p.data[:min(max(offset, 0), int64(len(p.data)))], []byte("\n"))
}

func (p *parser) syntaxError(reason string, values ...any) *SyntaxError {
	return &SyntaxError{Line: p.line(p.decoder.InputOffset()), Field: strings.Join(p.path, "."), Reason: fmt.Sprintf(reason, values...)}
}

func (p *parser) token() (json.Token, error) {
	t, err := p.decoder.Token()
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, &SyntaxError{p.line(syntax.Offset), strings.Join(p.path, "."), strings.TrimPrefix(syntax.Error(), "json: ")}
	case err != nil:
		return nil, p.syntaxError("the file ends where more should come")
	}
	return t, nil
}

// describeToken formats t for an error message.
func describeToken(t json.Token) string {
	if t == nil {
		return "null"
	}
	return fmt.Sprint(t)
}

// parseObject reads an object. For each member it calls member with the name; member reads the value.
func (p *parser) parseObject(member func(string) error) error {
	t, err := p.token()
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return p.syntaxError("%s where an object { should be", describeToken(t))
	}
	if len(p.path) > 2*field.MaxSteps {
		return p.syntaxError("fields within fields, more than %d deep: a path has so many steps at most", field.MaxSteps)
	}
	seen := map[string]bool{}
	for {
		t, err := p.token()
		if err != nil {
			return err
		}
		name, ok := t.(string)
		if !ok { // the closing brace, because the decoder accepts nothing else here
			return nil
		}
		p.path = append(p.path, name)
		if seen[name] {
			return p.syntaxError("it is there twice")
		}
		seen[name] = true
		if err := member(name); err != nil {
			return err
		}
		p.path = p.path[:len(p.path)-1]
	}
}

func (p *parser) parseBool() (bool, error) {
	t, err := p.token()
	if err != nil {
		return false, err
	}
	b, ok := t.(bool)
	if !ok {
		return false, p.syntaxError("%s where true or false should be", describeToken(t))
	}
	return b, nil
}
