package field

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// parser parses a predicate from left to right. Each method parses one rule of the grammar in Predicate's docstring.
type parser struct {
	text      string
	pos       int // offset in text, in bytes
	paths     []Path
	types     []Type
	pathIndex map[string]int // from the text of a path to its index in paths
}

var errNesting = errors.New("parentheses and negations nest too deep")

func isBarePathByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(`_.-\:/`, c) >= 0
}

// skipBlanks skips white space and returns the offset after the white space.
func (p *parser) skipBlanks() int {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
	return p.pos
}

func (p *parser) consume(token string) bool {
	if !strings.HasPrefix(p.text[p.skipBlanks():], token) {
		return false
	}
	p.pos += len(token)
	return true
}

func (p *parser) expectedError(what string) error {
	if p.skipBlanks() == len(p.text) {
		return fmt.Errorf("field: predicate ends at offset %d, where %s is expected", p.pos, what)
	}
	return fmt.Errorf("field: predicate has %.20q at offset %d, where %s is expected", p.text[p.pos:], p.pos, what)
}

func (p *parser) errorAt(at int, err error) error {
	return fmt.Errorf("field: predicate at offset %d: %w", at, err)
}

func (p *parser) predicate(depth int) (expression, error) { return p.logical(false, depth) }

func (p *parser) logical(all bool, depth int) (expression, error) {
	sign := "||"
	if all {
		sign = "&&"
	}
	var parts []expression
	for {
		var part expression
		var err error
		if all {
			part, err = p.factor(depth)
		} else {
			part, err = p.logical(true, depth)
		}
		if err != nil {
			return nil, err
		}
		if j, ok := part.(logicalExpression); ok && j.isAnd == all { // (a && b) && c
			parts = append(parts, j.parts...)
		} else {
			parts = append(parts, part)
		}
		if !p.consume(sign) {
			break
		}
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return logicalExpression{isAnd: all, parts: parts}, nil
}

func (p *parser) factor(depth int) (expression, error) {
	if depth > MaxNesting {
		return nil, p.errorAt(p.pos, errNesting)
	}
	if p.consume("!") {
		of, err := p.factor(depth + 1)
		if n, ok := of.(negation); ok { // !!a
			return n.operand, err
		}
		return negation{of}, err
	}
	if p.consume("(") {
		inner, err := p.predicate(depth + 1)
		if err == nil && !p.consume(")") {
			err = p.expectedError(`"&&", "||" or ")"`)
		}
		return inner, err
	}
	return p.test()
}

func (p *parser) test() (expression, error) {
	var t Test
	var err error
	switch word := p.functionCall(); word {
	case "exists":
		t.operator, t.Exists = exists, true
		if t.Path, err = p.path(AnyType); err == nil && !p.consume(")") {
			err = p.expectedError(`")"`)
		}
		return t, err
	case "prefix":
		t.operator, t.kind = prefix, Text
		if err = p.operand(&t, p.functionCall()); err == nil && !p.consume(",") {
			err = p.expectedError(`"," and a string`)
		}
		if err == nil {
			t.text, err = p.quotedString()
		}
		if err == nil && !p.consume(")") {
			err = p.expectedError(`")"`)
		}
		return t, err
	default:
		if err = p.operand(&t, word); err != nil {
			return t, err
		}
	}
	for _, o := range []operator{equal, notEqual, atMost, atLeast, lessThan, greaterThan} { // <= before <
		if p.consume(operatorNames[o]) {
			t.operator = o
			return t, p.literal(&t)
		}
	}
	return t, p.expectedError(`a comparison (==, !=, <, <=, >, >=)`)
}

// functionCall reads a name and the opening parenthesis after the name. If either is missing, it reads nothing and
// returns "".
func (p *parser) functionCall() string {
	start := p.skipBlanks()
	end := start
	for end < len(p.text) && isBarePathByte(p.text[end]) {
		end++
	}
	if end == start {
		return ""
	}
	p.pos = end
	if !p.consume("(") {
		p.pos = start
		return ""
	}
	return p.text[start:end]
}

// operand parses a path. If cast is not empty, the path is in the parentheses of this cast.
func (p *parser) operand(t *Test, cast string) (err error) {
	if cast == "" {
		t.Path, err = p.path(AnyType)
		return err
	}
	as, ok := ParseType(cast)
	if !ok || as == AnyType {
		p.pos -= len(cast) + 1
		return p.errorAt(p.pos, fmt.Errorf("unknown function %q: want exists, prefix or one of %v", cast, typeNames[1:]))
	}
	t.As = as
	if t.Path, err = p.path(as); err == nil && !p.consume(")") {
		err = p.expectedError(`")"`)
	}
	return err
}

// path parses the next path and returns its index in p.paths.
func (p *parser) path(as Type) (int, error) {
	start := p.skipBlanks()
	var text string
	if p.consume("`") {
		var b strings.Builder
		for {
			part, _, closed := strings.Cut(p.text[p.pos:], "`")
			if !closed {
				return 0, p.errorAt(start, fmt.Errorf("the path %.20q has no closing backquote", p.text[start:]))
			}
			b.WriteString(part)
			p.pos += len(part) + 1
			if p.pos == len(p.text) || p.text[p.pos] != '`' {
				break
			}
			b.WriteByte('`')
			p.pos++
		}
		text = b.String()
	} else {
		for p.pos < len(p.text) && isBarePathByte(p.text[p.pos]) {
			p.pos++
		}
		if text = p.text[start:p.pos]; text == "" {
			return 0, p.expectedError("a path, exists(, prefix(, a cast, ! or (")
		}
	}
	i, known := p.pathIndex[text]
	if !known {
		path, err := Parse(text)
		if err != nil {
			return 0, p.errorAt(start, err)
		}
		i = len(p.paths)
		p.pathIndex[text] = i
		p.paths, p.types = append(p.paths, path), append(p.types, as)
	}
	if as != AnyType && p.types[i] != AnyType && p.types[i] != as {
		return 0, p.errorAt(start, fmt.Errorf("path %q is read as %v and as %v: choose one", text, p.types[i], as))
	}
	if as != AnyType {
		p.types[i] = as
	}
	return i, nil
}

// literal parses the literal to the right of the comparison operator.
func (p *parser) literal(t *Test) (err error) {
	start := p.skipBlanks()
	if start < len(p.text) && p.text[start] == '"' {
		t.kind = Text
		t.text, err = p.quotedString()
		return err
	}
	end := start
	for end < len(p.text) && (isBarePathByte(p.text[end]) || p.text[end] == '+') {
		end++
	}
	word := p.text[start:end]
	if word == "true" || word == "false" {
		if t.operator != equal && t.operator != notEqual {
			return p.errorAt(start, fmt.Errorf("%s has no order: compare it with == or !=", word))
		}
		t.kind, t.boolean, p.pos = Bool, word == "true", end
		return nil
	}
	n, ok := parseNumber([]byte(word))
	if !ok {
		return p.expectedError(`a number, a string in double quotes, true or false`)
	}
	t.kind, t.number, p.pos = Int, n.canonical(), end
	return nil
}

func (p *parser) quotedString() (string, error) {
	start := p.skipBlanks()
	if !p.consume(`"`) {
		return "", p.expectedError("a string in double quotes")
	}
	var b strings.Builder
	for p.pos < len(p.text) {
		rest := p.text[p.pos:]
		if rest[0] == '"' {
			p.pos++
			return b.String(), nil
		}
		if n := plainPrefixLen(rest); n > 0 {
			b.WriteString(rest[:n])
			p.pos += n
			continue
		}
		if strings.HasPrefix(rest, `\/`) { // JSON, RFC 8259, section 7
			b.WriteByte('/')
			p.pos += 2
			continue
		}
		if r, ok := surrogatePair(rest); ok {
			b.WriteRune(r)
			p.pos += len(`\uXXXX\uXXXX`)
			continue
		}
		r, multibyte, tail, err := strconv.UnquoteChar(rest, '"')
		if err != nil {
			return "", p.errorAt(p.pos, fmt.Errorf("%.12q is no escape of Go or JSON", rest))
		}
		if multibyte {
			b.WriteRune(r)
		} else {
			b.WriteByte(byte(r))
		}
		p.pos = len(p.text) - len(tail)
	}
	return "", p.errorAt(start, fmt.Errorf("the string %.20q has no closing quote", p.text[start:]))
}

// plainPrefixLen counts the bytes before the next quote or escape. The parser copies these bytes unchanged, even if
// they are not UTF-8.
func plainPrefixLen(s string) int {
	if n := strings.IndexAny(s, `"\`); n >= 0 {
		return n
	}
	return len(s)
}

// surrogatePair decodes two escapes that together stand for one rune above U+FFFF, as in JSON (RFC 8259, section 7).
func surrogatePair(s string) (rune, bool) {
	if len(s) < 12 || s[:2] != `\u` || s[6:8] != `\u` {
		return 0, false
	}
	high, err1 := strconv.ParseUint(s[2:6], 16, 16)
	low, err2 := strconv.ParseUint(s[8:12], 16, 16)
	r := utf16.DecodeRune(rune(high), rune(low))
	return r, err1 == nil && err2 == nil && r != '\uFFFD'
}
