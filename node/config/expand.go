package config

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// expression is one ${...} in a value of the file.
type expression struct {
	text       string // as the file has it: ${PORT:4190}
	variable   string // PORT; empty for a file
	file       string // PATH of ${file:PATH}
	preset     string // 4190: everything behind the first colon
	havePreset bool
}

// expressionError says what is wrong with an expression.
type expressionError struct {
	text   string // the expression, or its beginning
	reason string
}

func (e *expressionError) Error() string { return e.text + ": " + e.reason }

// variableName matches the names of environment variables. POSIX.1-2024, section 8.1.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expand returns text with the value of each expression in its place. $${ stands for the text ${, and any other $ for itself; ${client} and ${user} stay. Values
// are not expanded again. The error is an *expressionError, or that of value.
func expand(text string, value func(expression) (string, error)) (string, error) {
	var b strings.Builder
	for {
		before, behind, found := strings.Cut(text, "${")
		if !found {
			b.WriteString(text)
			return b.String(), nil
		}
		if escaped, ok := strings.CutSuffix(before, "$"); ok {
			b.WriteString(escaped + "${")
			text = behind
			continue
		}
		b.WriteString(before)
		inner, rest, closed := strings.Cut(behind, "}")
		if closed && (inner == "client" || inner == "user") { // of grants: the broker puts them in
			b.WriteString("${" + inner + "}")
			text = rest
			continue
		}
		if !closed {
			return "", &expressionError{"${" + firstRunes(inner, 40), "without a closing }: write $${ for the text ${"}
		}
		e, err := parseExpression(inner)
		if err != nil {
			return "", err
		}
		v, err := value(e)
		if err != nil {
			return "", err
		}
		b.WriteString(v)
		text = rest
	}
}

// parseExpression parses what is between ${ and }.
func parseExpression(inner string) (expression, error) {
	e := expression{text: "${" + inner + "}"}
	name, behind, colon := strings.Cut(inner, ":")
	switch {
	case strings.Contains(inner, "${"):
		return e, &expressionError{e.text, "one ${ within another: a default is plain text"}
	case name == "file" && colon && behind == "":
		return e, &expressionError{e.text, "names no file: write ${file:PATH}"}
	case name == "file" && colon:
		e.file = behind
	case !variableName.MatchString(name):
		return e, &expressionError{e.text, fmt.Sprintf("%q is no name of an environment variable: use letters, digits and _, or write $${ for the text ${", name)}
	default:
		e.variable, e.preset, e.havePreset = name, behind, colon
	}
	return e, nil
}

// maxSecretFile bounds a file of ${file:PATH}, in bytes.
const maxSecretFile = 1 << 20

// value returns the value of an expression in a file of the configuration. Files end with a line break, which is not a part of the value.
func (s *Source) value(e expression, in *document) (string, error) {
	text, ok := e.preset, true
	if e.file != "" {
		data, err := s.readSecret(in, e.file)
		if err != nil {
			return "", &expressionError{e.text, err.Error()}
		}
		text = strings.TrimRight(string(data), "\r\n")
	} else if set, found := s.env(e.variable); found {
		text = set
	} else {
		ok = e.havePreset
	}
	s.expanded += len(text)
	switch {
	case !ok:
		return "", &expressionError{e.text, fmt.Sprintf("the environment has no variable %s: set it, give a default as ${%s:default}, or write $${ for the text ${", e.variable, e.variable)}
	case !utf8.ValidString(text):
		return "", &expressionError{e.text, "the value is not UTF-8"}
	case s.expanded > MaxFile:
		return "", &expressionError{e.text, fmt.Sprintf("all values together have more than %d bytes", MaxFile)}
	}
	return text, nil
}
