package field

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxSteps bounds the number of steps in a path. Parse refuses a longer path.
const MaxSteps = 32

// Step is one step of a Path. The text of a step is parsed in three ways. A format uses the way that fits the
// container.
type Step struct {
	Name  string // text key: the text with \. and \\ unescaped
	Index int    // index, integer key or field number: the text as a decimal number; -1 if the text has another form, a sign or a leading zero
	Key   int    // Y3 key from 0x00 to 0x3f: the text as a number in 0x hex; -1 if the text has another form
}

// String returns text that Parse reads as this step. The text is the escaped name, or the key or index of a step
// without a name. It is empty for a step that no path can express, such as an empty text key.
func (s Step) String() string {
	switch {
	case s.Name != "":
		return stepEscaper.Replace(s.Name)
	case s.Key >= 0:
		return fmt.Sprintf("0x%02x", s.Key)
	case s.Index >= 0:
		return strconv.Itoa(s.Index)
	}
	return ""
}

var stepEscaper = strings.NewReplacer(`.`, `\.`, `\`, `\\`)

// Path is a compiled path. It is immutable and safe for use by many goroutines. It contains only a slice, because the
// compiler passes structs of more than four words in memory.
type Path struct{ steps []Step }

// Parse compiles s. The text is names and indices joined by dots. Within a name, `\.` is a dot and `\\` is a backslash.
// The empty string is the path of the whole message. A step for a Y3 key is the low six bits of the tag byte in hex, as
// in 0x10.0x11.
func Parse(s string) (Path, error) {
	if s == "" {
		return Path{}, nil
	}
	var steps []Step
	var name strings.Builder
	start := 0
	flush := func(end int) error {
		if name.Len() == 0 {
			return fmt.Errorf("field: path %q has an empty step at offset %d", s, start)
		}
		if len(steps) == MaxSteps {
			return fmt.Errorf("field: path %q has more than %d steps", s, MaxSteps)
		}
		steps = append(steps, newStep(name.String()))
		name.Reset()
		start = end + 1
		return nil
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i+1 == len(s) || (s[i+1] != '.' && s[i+1] != '\\') {
				return Path{}, fmt.Errorf(`field: path %q has a lone backslash at offset %d: write \. for a dot or \\ for a backslash`, s, i)
			}
			i++
			name.WriteByte(s[i])
		case '.':
			if err := flush(i); err != nil {
				return Path{}, err
			}
		default:
			name.WriteByte(c)
		}
	}
	if err := flush(len(s)); err != nil {
		return Path{}, err
	}
	return Path{steps}, nil
}

// MustParse is Parse for paths known at compile time. It panics on an error.
func MustParse(s string) Path {
	p, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return p
}

func newStep(name string) Step {
	st := Step{Name: name, Index: -1, Key: -1}
	if n, err := strconv.ParseUint(name, 10, 31); err == nil && (name == "0" || name[0] != '0') {
		st.Index = int(n)
	}
	if strings.HasPrefix(name, "0x") || strings.HasPrefix(name, "0X") {
		if n, err := strconv.ParseUint(name[2:], 16, 6); err == nil {
			st.Key = int(n)
		}
	}
	return st
}

// String returns the text from which the path was parsed.
func (p Path) String() string {
	var b strings.Builder
	for i, st := range p.steps {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(st.String())
	}
	return b.String()
}

// Parent returns the path of the container around the value at p, and the step from the container to the value. The
// whole message has no container: ok is false.
func (p Path) Parent() (parent Path, last Step, ok bool) {
	if len(p.steps) == 0 {
		return Path{}, Step{Index: -1, Key: -1}, false
	}
	n := len(p.steps) - 1
	return Path{p.steps[:n:n]}, p.steps[n], true
}

// Len returns the number of steps. It is 0 for the path of the whole message.
func (p Path) Len() int { return len(p.steps) }

// Steps returns the steps. The slice is shared and must not be changed.
func (p Path) Steps() []Step { return p.steps }
