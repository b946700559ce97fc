package pipeline

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"example.com/ferry/field"
)

// expression computes a value of a message. It reports whether the message has the values that it needs.
type expression func(*evaluation) (field.Value, bool)

// evaluation is what expressions compute with: the operands' values, and memory for texts.
type evaluation struct {
	values []field.Value
	time   int64 // of the message, in Unix nanoseconds
	text   []byte
}

// maxNesting bounds the parentheses of an expression.
const maxNesting = 32

// timeOperand is the time of the message, in an expression.
const timeOperand = "@time"

// expressionParser parses an expression: sums, differences, products and quotients of numbers, fields, texts in quotes and functions.
type expressionParser struct {
	text     string
	at       int
	depth    int
	operands []operand // of all expressions of a step
}

// parse parses the whole of a text.
func (p *expressionParser) parse(text string) (expression, error) {
	p.text, p.at, p.depth = text, 0, 0
	e, err := p.sum()
	if err == nil && p.peek() != 0 {
		err = p.expected("an operator, such as +, or the end")
	}
	return e, err
}

// blanks may stand between the parts of an expression, which may have several lines in YAML.
const blanks = " \t\r\n"

// peek returns the next byte behind blanks; 0 at the end.
func (p *expressionParser) peek() byte {
	for p.at < len(p.text) && strings.IndexByte(blanks, p.text[p.at]) >= 0 {
		p.at++
	}
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// take takes the next byte if it is one of some, and returns it; otherwise 0.
func (p *expressionParser) take(some string) byte {
	c := p.peek()
	if c == 0 || strings.IndexByte(some, c) < 0 {
		return 0
	}
	p.at++
	return c
}

func (p *expressionParser) expected(what string) error {
	if p.peek() == 0 {
		return fmt.Errorf("the expression ends where %s is expected", what)
	}
	return fmt.Errorf("the expression has %.20q at offset %d, where %s is expected", p.text[p.at:], p.at, what)
}

func (p *expressionParser) sum() (expression, error) { return p.chain("+-", p.product) }

func (p *expressionParser) product() (expression, error) { return p.chain("*/", p.value) }

// chain parses values with operators of one rank between them.
func (p *expressionParser) chain(operators string, value func() (expression, error)) (expression, error) {
	left, err := value()
	for err == nil {
		operator := p.take(operators)
		if operator == 0 {
			break
		}
		var right expression
		if right, err = value(); err == nil {
			left = arithmetic(operator, left, right)
		}
	}
	return left, err
}

// arithmetic returns a result of two numbers.
func arithmetic(operator byte, left, right expression) expression {
	return func(e *evaluation) (field.Value, bool) {
		a, ok := number(e, left)
		b, also := number(e, right)
		switch operator {
		case '+':
			a += b
		case '-':
			a -= b
		case '*':
			a *= b
		default:
			a /= b
		}
		return field.Value{Kind: field.Float, Float: a}, ok && also && !math.IsNaN(a) && !math.IsInf(a, 0)
	}
}

func number(e *evaluation, x expression) (float64, bool) {
	v, ok := x(e)
	if !ok {
		return 0, false
	}
	return v.Number()
}

func constant(v field.Value) expression {
	return func(*evaluation) (field.Value, bool) { return v, true }
}

// value parses a number, a text, a field, a call, or an expression in parentheses.
func (p *expressionParser) value() (expression, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, fmt.Errorf("the expression nests deeper than %d", maxNesting)
	}
	defer func() { p.depth-- }()
	switch {
	case p.take("-") != 0:
		x, err := p.value()
		return arithmetic('-', constant(field.Value{Kind: field.Float}), x), err
	case p.take("(") != 0:
		x, err := p.sum()
		if err == nil && p.take(")") == 0 {
			err = p.expected(")")
		}
		return x, err
	case p.peek() == '\'':
		text, err := p.quoted()
		return constant(field.Value{Kind: field.Text, Bytes: []byte(text)}), err
	}
	word := p.word()
	switch {
	case word == "":
		return nil, p.expected("a field, a number, a 'text' or a parenthesis")
	case p.at < len(p.text) && p.text[p.at] == '(':
		return p.call(word)
	case word == timeOperand:
		return func(e *evaluation) (field.Value, bool) { return field.Value{Kind: field.Int, Int: e.time}, true }, nil
	}
	if '0' <= word[0] && word[0] <= '9' {
		f, err := strconv.ParseFloat(word, 64)
		switch {
		case err == nil:
			return constant(field.Value{Kind: field.Float, Float: f}), nil
		case errors.Is(err, strconv.ErrRange):
			return nil, fmt.Errorf("the number %.20s exceeds the range of a 64-bit floating point", word)
		case strings.Contains(word, "-") && strings.Trim(word, "0123456789.-") == "":
			return nil, fmt.Errorf("%.20s is no number: write blanks around -", word)
		}
	}
	return p.field(word)
}

// word takes a path, a number or the name of a function: everything up to a blank, a comma, a quote, a parenthesis or an operator but -,
// which names may have.
func (p *expressionParser) word() string {
	p.peek()
	n := strings.IndexAny(p.text[p.at:], blanks+",'()+*/")
	if n < 0 {
		n = len(p.text) - p.at
	}
	word := p.text[p.at : p.at+n]
	p.at += n
	return word
}

// field returns the value of an operand.
func (p *expressionParser) field(text string) (expression, error) {
	o, err := parseOperand(text)
	if err != nil {
		return nil, err
	}
	i := len(p.operands)
	p.operands = append(p.operands, o)
	return func(e *evaluation) (field.Value, bool) { return e.values[i], e.values[i].Kind != field.Missing }, nil
}

// call parses the call of a function, or a cast.
func (p *expressionParser) call(name string) (expression, error) {
	if t, known := field.ParseType(name); known && t != field.AnyType {
		inner, _, ended := strings.Cut(p.text[p.at:], ")")
		if !ended {
			return nil, fmt.Errorf("the cast %s has no second parenthesis", name)
		}
		p.at += len(inner) + 1
		return p.field(name + inner + ")")
	}
	p.at++
	var list []expression
	unit := Nanoseconds
	for {
		x, err := p.sum()
		if err != nil {
			return nil, err
		}
		list = append(list, x)
		if p.take(",") == 0 {
			break
		}
		if name == "time" {
			text, err := p.quoted()
			if unit = Unit(text); err != nil || !unit.valid() {
				return nil, fmt.Errorf("time has no unit %q: want 'ns', 'us', 'ms' or 's'", text)
			}
			break
		}
	}
	if p.take(")") == 0 {
		return nil, p.expected(")")
	}
	switch {
	case name == "text":
		return joined(list), nil
	case name == "time":
		return timed(list[0], unit.nanoseconds()), nil
	case name == "date" && len(list) == 1:
		return dated(list[0]), nil
	}
	return nil, fmt.Errorf("no function %s of %d values: there are text(VALUE, ...), time(VALUE), time(VALUE, 'UNIT') and date(TIME)", name, len(list))
}

// quoted takes a text in quotes.
func (p *expressionParser) quoted() (string, error) {
	if p.take("'") == 0 {
		return "", p.expected("a 'text'")
	}
	text, _, ended := strings.Cut(p.text[p.at:], "'")
	if !ended {
		return "", fmt.Errorf("the text %.20q has no second quote", p.text[p.at:])
	}
	p.at += len(text) + 1
	return text, nil
}

// joined returns the values as one text.
func joined(list []expression) expression {
	parts := make([]field.Value, len(list))
	return func(e *evaluation) (field.Value, bool) {
		for i, x := range list {
			ok := false
			if parts[i], ok = x(e); !ok {
				return field.Value{}, false
			}
		}
		begin := len(e.text)
		for i := range parts {
			if parts[i].Kind == field.Text {
				e.text = append(e.text, parts[i].Bytes...)
			} else {
				e.text = appendValue(e.text, &parts[i])
			}
		}
		return field.Value{Kind: field.Text, Bytes: e.text[begin:]}, true
	}
}

// timed returns a time in Unix nanoseconds: of a number in a unit, or of text as in RFC 3339.
func timed(x expression, unit int64) expression {
	return func(e *evaluation) (field.Value, bool) {
		v, ok := x(e)
		if !ok {
			return v, false
		}
		at, ok := timeOf(&v, unit)
		return field.Value{Kind: field.Int, Int: at}, ok
	}
}

// dated returns a time as text in RFC 3339, in UTC.
func dated(x expression) expression {
	return func(e *evaluation) (field.Value, bool) {
		v, ok := x(e)
		if !ok {
			return v, false
		}
		at, ok := timeOf(&v, 1)
		begin := len(e.text)
		e.text = time.Unix(0, at).UTC().AppendFormat(e.text, time.RFC3339Nano)
		return field.Value{Kind: field.Text, Bytes: e.text[begin:]}, ok
	}
}
