package field

import (
	"strconv"
	"strings"
)

// printedPath is a path in the text of a predicate. cast is printed if the test has no cast of its own.
type printedPath struct {
	path Path
	cast Type
}

// expression is a parsed predicate. It counts its tests, prints itself in canonical form, and compiles itself.
type expression interface {
	count() int
	// write prints the expression. It adds parentheses if the expression's operator binds weaker than level: 0 allows
	// any expression, 1 a conjunct, 2 a factor.
	write(b *strings.Builder, operands []printedPath, level int)
	// compile appends the expression's tests. If the expression holds, evaluation continues at index then. If not,
	// evaluation continues at index otherwise.
	compile(tests *[]Test, then, otherwise int)
}

// logicalExpression is several expressions, all joined by && or all joined by ||.
type logicalExpression struct {
	isAnd bool // true for &&, false for ||
	parts []expression
}

func (j logicalExpression) count() int {
	n := 0
	for _, p := range j.parts {
		n += p.count()
	}
	return n
}

func (j logicalExpression) write(b *strings.Builder, operands []printedPath, level int) {
	own, sign := 0, " || "
	if j.isAnd {
		own, sign = 1, " && "
	}
	if own < level {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	for i, p := range j.parts {
		if i > 0 {
			b.WriteString(sign)
		}
		p.write(b, operands, own+1)
	}
}

func (j logicalExpression) compile(tests *[]Test, then, otherwise int) {
	end := len(*tests)
	for i, p := range j.parts {
		end += p.count()
		switch {
		case i == len(j.parts)-1:
			p.compile(tests, then, otherwise)
		case j.isAnd:
			p.compile(tests, end, otherwise)
		default:
			p.compile(tests, then, end)
		}
	}
}

type negation struct{ operand expression }

func (n negation) count() int { return n.operand.count() }

func (n negation) write(b *strings.Builder, operands []printedPath, _ int) {
	b.WriteByte('!')
	if t, ok := n.operand.(Test); ok && t.operator > prefix {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	n.operand.write(b, operands, 2)
}

func (n negation) compile(tests *[]Test, then, otherwise int) {
	n.operand.compile(tests, otherwise, then)
}

func (t Test) count() int { return 1 }

func (t Test) compile(tests *[]Test, then, otherwise int) {
	t.Then, t.Else = then, otherwise
	*tests = append(*tests, t)
}

func (t Test) write(b *strings.Builder, operands []printedPath, _ int) {
	text, as := quotePath(operands[t.Path].path.String()), t.As
	if as == AnyType && !t.Exists {
		as = operands[t.Path].cast
	}
	if as != AnyType {
		text = as.String() + "(" + text + ")"
	}
	switch t.operator {
	case exists:
		b.WriteString("exists(" + text + ")")
	case prefix:
		b.WriteString("prefix(" + text + ", " + strconv.Quote(t.text) + ")")
	default:
		b.WriteString(text + " " + operatorNames[t.operator] + " " + t.literal())
	}
}

func (t Test) literal() string {
	switch t.kind {
	case Bool:
		return strconv.FormatBool(t.boolean)
	case Int:
		return t.number.String()
	}
	return strconv.Quote(t.text)
}

func quotePath(text string) string {
	for i := range len(text) {
		if !isBarePathByte(text[i]) {
			return "`" + strings.ReplaceAll(text, "`", "``") + "`"
		}
	}
	if text == "" {
		return "``"
	}
	return text
}
