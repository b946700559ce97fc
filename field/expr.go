package field

import (
	"strconv"
	"strings"
)

// expr is a parsed predicate. Its three jobs: count its tests, write itself canonically, compile itself.
type expr interface {
	count() int
	// write puts parentheses around what binds weaker than level: 0 takes anything, 1 a conjunct, 2 a factor.
	write(b *strings.Builder, paths []Path, level int)
	// compile appends tests that end at then if the expression holds and at otherwise if not.
	compile(tests *[]Test, then, otherwise int)
}

// junction is several expressions joined by && (all) or ||.
type junction struct {
	all   bool
	parts []expr
}

func (j junction) count() int {
	n := 0
	for _, p := range j.parts {
		n += p.count()
	}
	return n
}

func (j junction) write(b *strings.Builder, paths []Path, level int) {
	own, sign := 0, " || "
	if j.all {
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
		p.write(b, paths, own+1)
	}
}

func (j junction) compile(tests *[]Test, then, otherwise int) {
	end := len(*tests)
	for i, p := range j.parts {
		end += p.count()
		switch {
		case i == len(j.parts)-1:
			p.compile(tests, then, otherwise)
		case j.all:
			p.compile(tests, end, otherwise)
		default:
			p.compile(tests, then, end)
		}
	}
}

type negation struct{ of expr }

func (n negation) count() int { return n.of.count() }

func (n negation) write(b *strings.Builder, paths []Path, _ int) {
	b.WriteByte('!')
	if t, ok := n.of.(Test); ok && t.op > prefix {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	n.of.write(b, paths, 2)
}

func (n negation) compile(tests *[]Test, then, otherwise int) { n.of.compile(tests, otherwise, then) }

func (t Test) count() int { return 1 }

func (t Test) compile(tests *[]Test, then, otherwise int) {
	t.Then, t.Else = then, otherwise
	*tests = append(*tests, t)
}

func (t Test) write(b *strings.Builder, paths []Path, _ int) {
	operand := quotePath(paths[t.Path].String())
	if t.As != AnyType {
		operand = t.As.String() + "(" + operand + ")"
	}
	switch t.op {
	case exists:
		b.WriteString("exists(" + operand + ")")
	case prefix:
		b.WriteString("prefix(" + operand + ", " + strconv.Quote(t.text) + ")")
	default:
		b.WriteString(operand + " " + opNames[t.op] + " " + t.literal())
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
		if !isBare(text[i]) {
			return "`" + strings.ReplaceAll(text, "`", "``") + "`"
		}
	}
	if text == "" {
		return "``"
	}
	return text
}
