package field

import (
	"fmt"
	"strings"
)

// MaxPredicate bounds the text of a predicate, in bytes.
const MaxPredicate = 4096

// MaxNesting bounds how deep parentheses and negations nest in a predicate.
const MaxNesting = 32

// Predicate is a condition on the fields of a message. It is immutable and safe for use by many goroutines. A
// format.Matcher applies a Predicate to encoded bytes. The grammar is ISO 14977 EBNF, with blanks allowed between
// tokens:
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
// Parse defines the syntax of a path. A number is compared without rounding, with a number or with text that consists
// of one number (EdgeX writes 31 as "31"). A float64 below 2^53 stands for its shortest decimal form: 0.1 is equal to
// the text 0.1 and not to 0.10000000000000001. A string is compared byte by byte, with text or bytes. The literals true and
// false are compared with a bool, only by == and !=. Any other comparison is a mismatch. A comparison with a missing
// field is a mismatch too. A mismatch counts as false, even for !=. The negation of a mismatch is true. exists is never
// a mismatch.
type Predicate struct {
	root  expression
	text  string
	set   *Set
	types []Type
	tests []Test
}

// Accept and Reject are the outcomes of a predicate. They are values of Then and Else of a Test.
const (
	Accept = -1
	Reject = -2
)

// Test is one step of a compiled predicate. Evaluation starts with the first element of Tests and continues at Then or
// Else until the next step is Accept or Reject. Then and Else always point to later tests.
type Test struct {
	Path       int  // index in Set().Paths() of the tested path
	As         Type // type of the cast; AnyType without a cast
	Exists     bool // the test holds if Path has any value; the caller does not call Holds
	Then, Else int

	operator operator
	kind     Kind // kind of the literal: Bool, Int (any number) or Text
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

var operatorNames = [...]string{"exists", "prefix", "==", "!=", "<", "<=", ">", ">="}

// ParsePredicate compiles s. An error contains the offset, the expected token and the actual token.
func ParsePredicate(s string) (*Predicate, error) {
	if len(s) > MaxPredicate {
		return nil, fmt.Errorf("field: predicate of %d bytes: at most %d", len(s), MaxPredicate)
	}
	p := parser{text: s, pathIndex: map[string]int{}}
	root, err := p.predicate(0)
	if err == nil && p.skipBlanks() < len(s) {
		err = p.expectedError(`"&&", "||" or the end`)
	}
	if err != nil {
		return nil, err
	}
	set, err := NewSet(p.paths...)
	if err != nil {
		return nil, fmt.Errorf("field: predicate: %w", err)
	}
	c := Predicate{root: root, set: set, types: p.types}
	written := make([]printedPath, set.Len())
	for i, path := range set.Paths() {
		written[i] = printedPath{path, AnyType}
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

// Rename returns a copy of the predicate in which the result of rename replaces each path. A comparison without a cast
// gets the type that rename returns. Rename fails if rename fails, or if the new predicate is invalid.
func (p *Predicate) Rename(rename func(Path) (Path, Type, error)) (*Predicate, error) {
	written := make([]printedPath, p.set.Len())
	for i, path := range p.set.Paths() {
		renamed, as, err := rename(path)
		if err != nil {
			return nil, err
		}
		written[i] = printedPath{renamed, as}
	}
	var b strings.Builder
	p.root.write(&b, written, 0)
	return ParsePredicate(b.String())
}

// String returns the predicate in canonical form. ParsePredicate accepts this form. Equal predicates have equal
// strings.
func (p *Predicate) String() string { return p.text }

// Set returns the set of paths that the predicate tests.
func (p *Predicate) Set() *Set { return p.set }

// Types returns the casts of the paths, in the order of Set().Paths(). A path without a cast has AnyType. The slice is
// shared and must not be changed.
func (p *Predicate) Types() []Type { return p.types }

// Tests returns the compiled program. The slice is shared and must not be changed.
func (p *Predicate) Tests() []Test { return p.tests }

// Holds reports whether the test holds for v. mismatch means that v and the literal cannot be compared. Holds does not
// allocate for text up to 32 bytes, and does not retain v.Bytes. v is a pointer because copying a Value costs more than
// the test.
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
			n := number{integer: v.Int, unsigned: v.Unsigned}
			return t.ordered(compareNumbers(&n, &t.number)), false
		}
	case Float:
		if t.kind == Int {
			n := number{float: v.Float, isFloat: true, text: v.Bytes}
			return t.ordered(compareNumbers(&n, &t.number)), false
		}
	case Bool:
		if t.kind == Bool {
			return t.holdsBool(v.Bool), false
		}
	}
	return false, true
}

// HoldsText is Holds for a text with this content.
func (t *Test) HoldsText(text []byte) (ok, mismatch bool) {
	switch {
	case t.kind == Int:
		n, isNumber := parseNumber(text)
		return isNumber && t.ordered(compareNumbers(&n, &t.number)), !isNumber
	case t.kind == Bool:
		return false, true
	case t.operator == equal:
		return string(text) == t.text, false
	case t.operator == notEqual:
		return string(text) != t.text, false
	case t.operator == prefix:
		return len(text) >= len(t.text) && string(text[:len(t.text)]) == t.text, false
	}
	switch { // a conversion to string inside a comparison does not allocate
	case string(text) < t.text:
		return t.ordered(less), false
	case string(text) > t.text:
		return t.ordered(greater), false
	}
	return t.ordered(equalTo), false
}

// ordered reports whether the test's operator accepts the ordering o.
func (t *Test) ordered(o ordering) bool {
	switch t.operator {
	case equal:
		return o == equalTo
	case notEqual:
		return o != equalTo
	case lessThan:
		return o == less
	case atMost:
		return o == less || o == equalTo
	case greaterThan:
		return o == greater
	}
	return o == greater || o == equalTo
}

// holdsBool is Holds for a bool. The test's literal is a bool.
func (t *Test) holdsBool(v bool) bool { return (v == t.boolean) == (t.operator == equal) }
