package config

import (
	"errors"
	"reflect"
	"strings"

	"example.com/ferry/internal/pace"
)

// Most files use a small part of YAML: mappings and lists in blocks or on one line, and text, numbers and booleans without escapes. A
// plainReader decodes that part straight into a Config, many times as fast as the YAML library, which makes tokens, a tree, plain values
// for the schema, and then the Config. It refuses all other files, and all that the schema refuses: the library reads those, and says
// what is wrong. TestPlain and FuzzPlain hold that both read the same Config.

// plainReader reads one text.
type plainReader struct {
	plainLines
	memory *plainMemory
}

// errNotPlain is the value of the panic of a plainReader at what it does not read.
var errNotPlain = errors.New("config: not plain YAML")

// refuse ends the reading: the YAML library has to read the text.
func refuse() { panic(errNotPlain) }

// readPlain returns the configuration in a text on top of the defaults, or nil if the text is not plain. What the text has in common with that
// of the last call for memory is taken from there.
func readPlain(text string, memory *plainMemory) (cfg *Config) {
	if hasVariable(text) {
		return nil
	}
	defer func() {
		memory.fresh, memory.found = nil, nil
		if v := recover(); v != nil {
			if v != errNotPlain { //nolint:errorlint // it is the value of refuse
				panic(v)
			}
			cfg = nil
		}
	}()
	r := plainReader{plainLines: plainLines{text: text}, memory: memory}
	memory.begin()
	r.next()
	if !r.have {
		return nil
	}
	cfg = defaults()
	p := configPlan()
	seen := r.structure(p, reflect.ValueOf(cfg).Elem(), 0)
	if r.have || seen&p.fields["include"].bit != 0 {
		return nil
	}
	if seen&p.fields["proxy"].bit != 0 && seen&p.fields["listeners"].bit == 0 {
		cfg.Listeners = nil
	}
	memory.end()
	return cfg
}

// hasVariable reports whether a text has ${...}.
func hasVariable(text string) bool {
	const piece = 64 << 10
	for len(text) > piece {
		if strings.Contains(text[:piece+1], "${") {
			return true
		}
		text = text[piece:]
		pace.Step()
	}
	return strings.Contains(text, "${")
}

// value decodes the value of a field whose name ends the line before, and is indented by indent.
func (r *plainReader) value(p *plan, to reflect.Value, indent int) {
	if !r.have {
		refuse()
	}
	switch {
	case p.kind == reflect.Pointer && r.indent > indent:
		made := reflect.New(p.elem.typ)
		r.value(p.elem, made.Elem(), indent)
		to.Set(made)
	case p.kind == reflect.Struct && r.indent > indent && !r.entry():
		r.structure(p, to, r.indent)
	case p.kind == reflect.Slice && r.indent >= indent && r.entry():
		r.list(p, to)
	default:
		refuse()
	}
}

// structure decodes a mapping whose names are indented by indent, and returns the bits of the fields that it has.
func (r *plainReader) structure(p *plan, to reflect.Value, indent int) (seen uint64) {
	for r.have && r.indent == indent && !r.entry() {
		f, rest := r.field(p, r.line, &seen)
		if rest == "" {
			r.next()
			r.value(f.plan, to.FieldByIndex(f.index), indent)
		} else {
			if end := r.flow(f.plan, to.FieldByIndex(f.index), rest, false); end != "" {
				refuse()
			}
			r.next()
		}
		if r.have && r.indent > indent {
			refuse()
		}
	}
	if p.required&^seen != 0 {
		refuse()
	}
	return seen
}

// field cuts the name of a field and the spaces behind it off a text, and adds the field to seen.
func (r *plainReader) field(p *plan, text string, seen *uint64) (f planField, rest string) {
	name, rest, ok := strings.Cut(text, ":")
	f, known := p.fields[name]
	if !ok || !known || rest != "" && rest[0] != ' ' || *seen&f.bit != 0 {
		refuse()
	}
	*seen |= f.bit
	return f, strings.TrimLeft(rest, " ")
}

// list decodes the list whose first entry is on the current line.
func (r *plainReader) list(p *plan, to reflect.Value) {
	if p.elem.remember {
		r.rememberedList(p, to)
		return
	}
	made, indent := reflect.New(p.typ).Elem(), r.indent
	for n := 0; r.have && r.indent == indent && r.entry(); n++ {
		made.Grow(1)
		made.SetLen(n + 1)
		r.listEntry(p.elem, made.Index(n))
	}
	if r.have && r.indent > indent {
		refuse()
	}
	to.Set(made)
}

// listEntry decodes the entry on the current line and those below.
func (r *plainReader) listEntry(p *plan, to reflect.Value) {
	rest := strings.TrimLeft(r.line[1:], " ")
	if rest == "" {
		refuse()
	}
	outer := r.indent
	if p.kind == reflect.Struct && rest[0] != '{' {
		r.indent += len(r.line) - len(rest)
		r.line = rest
		r.structure(p, to, r.indent)
	} else {
		if end := r.flow(p, to, rest, false); end != "" {
			refuse()
		}
		r.next()
	}
	if r.have && r.indent > outer {
		refuse()
	}
}
