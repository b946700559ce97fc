package field

import (
	"fmt"
	"strings"
)

// MaxPredicate bounds the text of a predicate, in bytes.
const MaxPredicate = 4096

// MaxNesting bounds how deep parentheses and negations nest in a predicate.
const MaxNesting = 32

// Predicate is a test over the fields of a message: immutable, and safe for use by many goroutines. A format.Matcher
// applies it to encoded bytes. Its grammar (ISO 14977 EBNF, blanks allowed between tokens):
//
//	predicate  = conjunct, { "||", conjunct } ;
//	conjunct   = factor, { "&&", factor } ;
//	factor     = "!", factor | "(", predicate, ")" | test ;
//	test       = "exists", "(", path, ")"
//	           | "prefix", "(", operand, ",", string, ")"
//	           | operand, ( "==" | "!=" | "<" | "<=" | ">" | ">=" ), literal ;
//	operand    = path | cast, "(", path, ")" ;
//	cast       = "int32" | "uint32" | "int64" | "uint64" | "float32" | "float64" | "string" | "bool" | "bytes" ;
//	literal    = number | string | "true" | "false" ;
//	number     = [ sign ], ( digits, [ ".", [ digits ] ] | ".", digits ), [ ( "e" | "E" ), [ sign ], digits ] ;
//	sign       = "-" | "+" ;
//	digits     = digit, { digit } ;
//	string     = a double-quoted string with the escapes of Go or JSON ;
//	path       = bare, { bare } | "`", any text with ` doubled, "`" ;
//	bare       = letter | digit | "_" | "." | "-" | "\" | ":" | "/" ;
//
// A path is written as Parse reads it. A number compares exactly with a number, or with text that is a number as a
// whole (EdgeX writes 31 as "31"). A string compares byte by byte with text or bytes. true and false compare with a
// bool, for equality only. Any other comparison, and one with a missing field, is false and counts as a mismatch, also
// for !=; its negation is true. exists never mismatches.
type Predicate struct {
	root  expression
	text  string
	set   *Set
	types []Type
	tests []Test
}

// Outcomes of a predicate. Then or Else of a Test may have one.
const (
	Accept = -1
	Reject = -2
)

// Test is one step of a compiled predicate. Evaluation starts with the first of Tests and continues at Then or Else
// until it reaches Accept or Reject. Both always point forward.
type Test struct {
	Path       int  // index in Set().Paths() of the path whose value is tested
	As         Type // the cast
	Exists     bool // the test holds if there is any value at Path; Holds is not called
	Then, Else int

	operator operator
	kind     Kind // of the literal: Bool, Int (any number) or Text
	boolean  bool
	number   number
	text     string
}

type operator uint8

const (
	exists operator = iota
	prefix
	equal
	notEqual
	lessThan
	atMost
	greaterThan
	atLeast
)

var opNames = [...]string{"exists", "prefix", "==", "!=", "<", "<=", ">", ">="}

// ParsePredicate compiles s. Its error has the offset, the expected token and the token found.
func ParsePredicate(s string) (*Predicate, error) {
	if len(s) > MaxPredicate {
		return nil, fmt.Errorf("field: predicate of %d bytes: at most %d", len(s), MaxPredicate)
	}
	p := parser{text: s, pathIndex: map[string]int{}}
	root, err := p.predicate(0)
	if err == nil && p.skipBlanks() < len(s) {
		err = p.expected(`"&&", "||" or the end`)
	}
	if err != nil {
		return nil, err
	}
	set, err := NewSet(p.paths...)
	if err != nil {
		return nil, fmt.Errorf("field: predicate: %w", err)
	}
	c := Predicate{root: root, set: set, types: p.types}
	written := make([]writtenPath, set.Len())
	for i, path := range set.Paths() {
		written[i] = writtenPath{path, AnyType}
	}
	var b strings.Builder
	root.write(&b, written, 0)
	c.text = b.String()
	c.tests = make([]Test, 0, root.count())
	root.compile(&c.tests, Accept, Reject)
	return &c, nil
}

// MustParsePredicate is ParsePredicate for predicates known at compile time. It panics on an error.
func MustParsePredicate(s string) *Predicate {
	p, err := ParsePredicate(s)
	if err != nil {
		panic(err)
	}
	return p
}

// Rename returns the predicate with each path replaced by rename's result. A comparison without a cast gets the type
// that rename returns. Rename fails with rename's error, and if the result is not a valid predicate.
func (p *Predicate) Rename(rename func(Path) (Path, Type, error)) (*Predicate, error) {
	written := make([]writtenPath, p.set.Len())
	for i, path := range p.set.Paths() {
		renamed, as, err := rename(path)
		if err != nil {
			return nil, err
		}
		written[i] = writtenPath{renamed, as}
	}
	var b strings.Builder
	p.root.write(&b, written, 0)
	return ParsePredicate(b.String())
}

// String returns the predicate in canonical form, which ParsePredicate accepts. Equal predicates have equal strings.
func (p *Predicate) String() string { return p.text }

// Set returns the paths that the predicate needs, each once.
func (p *Predicate) Set() *Set { return p.set }

// Types returns the casts of the paths, by index in Set().Paths(); AnyType for a path without a cast. The slice is
// shared and must not be changed.
func (p *Predicate) Types() []Type { return p.types }

// Tests returns the compiled program. The slice is shared and must not be changed.
func (p *Predicate) Tests() []Test { return p.tests }

// Holds reports whether the test holds for v, and whether v and the literal cannot be compared. It allocates nothing
// for text up to 32 bytes and keeps no part of v. v is a pointer because copying a Value costs more than the test.
func (t *Test) Holds(v *Value) (ok, mismatch bool) {
	switch v.Kind {
	case Text:
		return t.HoldsText(v.Bytes)
	case Bytes:
		if t.kind == Text {
			return t.HoldsText(v.Bytes)
		}
	case Int:
		if t.kind == Int {
			return t.ordered(compareNumbers(number{integer: v.Int, unsigned: v.Unsigned}, t.number)), false
		}
	case Float:
		if t.kind == Int {
			return t.ordered(compareNumbers(number{float: v.Float, isFloat: true}, t.number)), false
		}
	case Bool:
		if t.kind == Bool {
			return (v.Bool == t.boolean) == (t.operator == equal), false
		}
	}
	return false, true
}

// HoldsText is Holds for a Text with the content text.
func (t *Test) HoldsText(text []byte) (ok, mismatch bool) {
	switch {
	case t.kind == Int:
		n, isNumber := parseNumber(text)
		return isNumber && t.ordered(compareNumbers(n, t.number)), !isNumber
	case t.kind == Bool:
		return false, true
	case t.operator == equal:
		return string(text) == t.text, false
	case t.operator == notEqual:
		return string(text) != t.text, false
	case t.operator == prefix:
		return len(text) >= len(t.text) && string(text[:len(t.text)]) == t.text, false
	}
	switch { // conversions within a comparison do not allocate
	case string(text) < t.text:
		return t.ordered(less), false
	case string(text) > t.text:
		return t.ordered(greater), false
	}
	return t.ordered(same), false
}

// ordered reports whether the test's operator accepts the ordering o.
func (t *Test) ordered(o ordering) bool {
	switch t.operator {
	case equal:
		return o == same
	case notEqual:
		return o != same
	case lessThan:
		return o == less
	case atMost:
		return o == less || o == same
	case greaterThan:
		return o == greater
	}
	return o == greater || o == same
}
