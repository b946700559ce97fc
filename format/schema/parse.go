package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"example.com/ferry/field"
)

// maxNumber is the largest field number of protobuf. Protocol Buffers, language guide, "Assigning field numbers".
const maxNumber = 1<<29 - 1

// Parse reads a hint file. A hint file is JSON that gives names and types to the fields of a message:
//
//	{
//	  "fields": {
//	    "noise": {"key": "0x10", "fields": {
//	      "level": {"key": "0x11", "type": "float32"},
//	      "unit":  {"key": "0x12", "type": "string"}
//	    }},
//	    "pumps": {"key": "0x20", "type": "Pump", "list": true}
//	  },
//	  "types": {
//	    "Pump": {"name": {"key": "0x11", "type": "string"}, "spare": {"key": "0x12", "type": "Pump"}}
//	  }
//	}
//
// A key is a Y3 key as hex text, or a protobuf field number. A field has either a type or "fields" of its own. The
// types are bytes, string, bool, int32, uint32, int64, uint64, float32, float64 and the names under "types". Protobuf
// also has sint32, sint64, fixed32, fixed64, sfixed32 and sfixed64. Named types may contain each other and themselves.
// An unknown, missing or duplicate member gives a *SyntaxError.
func Parse(data []byte) (*Message, error) {
	p := parser{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), named: map[string]*namedType{}}
	p.decoder.UseNumber()
	root := &Message{}
	given := false
	err := p.parseObject(func(member string) (err error) {
		switch member {
		case "fields":
			given = true
			return p.parseFields(root)
		case "types":
			return p.parseObject(p.parseNamedType)
		}
		return p.syntaxError(`unknown member: want "fields" or "types"`)
	})
	if err != nil {
		return nil, err
	}
	if _, err := p.decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, p.syntaxError("something stands behind the closing brace: a hint file is one JSON object")
	}
	if !given {
		return nil, p.syntaxError(`there is no "fields"`)
	}
	if err := p.undefinedTypeError(); err != nil {
		return nil, err
	}
	return root, nil
}

// namedType is a type that a field uses, that "types" defines, or both.
type namedType struct {
	message        *Message
	defined        bool
	undefinedError *SyntaxError // returned if the type is never defined
}

// parseFields reads the fields of m.
func (p *parser) parseFields(m *Message) error {
	return p.parseObject(func(name string) error {
		here := p.syntaxError("")
		if err := checkName(name); err != nil {
			return p.syntaxError("%v", err)
		}
		f := Field{Name: name, Number: -1}
		typed := false
		err := p.parseObject(func(member string) (err error) {
			switch member {
			case "key":
				f.Number, err = p.parseKey()
			case "list":
				f.Repeated, err = p.parseBool()
			case "type", "fields":
				if typed {
					return p.syntaxError(`a field has either "type" or "fields"`)
				}
				if typed = true; member == "type" {
					return p.parseFieldType(&f)
				}
				f.Type, f.Message = Nested, &Message{Name: name}
				return p.parseFields(f.Message)
			default:
				return p.syntaxError(`unknown member: want "key", "type", "list" or "fields"`)
			}
			return err
		})
		twin := slices.IndexFunc(m.Fields, func(other Field) bool { return other.Number == f.Number })
		switch {
		case err != nil:
			return err
		case f.Number < 0:
			here.Reason = `it has no "key"`
		case !typed:
			here.Reason = `it has neither "type" nor "fields"`
		case twin >= 0:
			here.Reason = fmt.Sprintf("its key is that of %s", m.Fields[twin].Name)
		default:
			m.Fields = append(m.Fields, f)
			return nil
		}
		return here
	})
}

// checkName refuses an empty name, and a name that a path would parse as a number.
func checkName(name string) error {
	path, err := field.Parse(field.Step{Name: name, Index: -1, Key: -1}.String())
	switch {
	case err != nil || path.Len() == 0:
		return errors.New("a field needs a name")
	case path.Steps()[0].Index >= 0 || path.Steps()[0].Key >= 0:
		return fmt.Errorf("a path takes %s for a number: choose another name", name)
	}
	return nil
}

// parseNamedType reads the definition of a named type.
func (p *parser) parseNamedType(name string) error {
	if _, taken := scalarType(name); taken || name == "" {
		return p.syntaxError("%q is no name for a type of your own: choose another", name)
	}
	n := p.mentionType(name)
	n.defined = true
	return p.parseFields(n.message)
}

// mentionType returns the type with this name. The type may still be undefined.
func (p *parser) mentionType(name string) *namedType {
	n := p.named[name]
	if n == nil {
		n = &namedType{message: &Message{Name: name}, undefinedError: p.syntaxError("")}
		p.named[name] = n
	}
	return n
}

func (p *parser) parseFieldType(f *Field) error {
	t, err := p.token()
	if err != nil {
		return err
	}
	name, ok := t.(string)
	if !ok {
		return p.syntaxError("%s where the name of a type should be, as text", describeToken(t))
	}
	if f.Type, ok = scalarType(name); !ok {
		f.Type, f.Message = Nested, p.mentionType(name).message
	}
	return nil
}

func scalarType(name string) (Type, bool) {
	i := slices.Index(typeNames[:], name)
	return Type(max(i, 0)), i >= 0 && Type(i) != Nested
}

// parseKey reads a Y3 key, such as "0x10", or a protobuf field number, such as 16.
func (p *parser) parseKey() (int, error) {
	t, err := p.token()
	if err != nil {
		return 0, err
	}
	switch t := t.(type) {
	case string:
		digits, isHex := strings.CutPrefix(t, "0x")
		if n, err := strconv.ParseUint(digits, 16, 6); isHex && err == nil {
			return int(n), nil
		}
	case json.Number:
		if n, err := strconv.ParseUint(t.String(), 10, 32); err == nil && n <= maxNumber {
			return int(n), nil
		}
	}
	return 0, p.syntaxError(`%q is no key: want "0x00" to "0x3f" of Y3, or a field number of protobuf`, describeToken(t))
}

// undefinedTypeError returns the error for the first use of an undefined type, or nil.
func (p *parser) undefinedTypeError() error {
	var first *SyntaxError
	for name, n := range p.named {
		if !n.defined && (first == nil || n.undefinedError.Line < first.Line || n.undefinedError.Line == first.Line && n.undefinedError.Field < first.Field) {
			first = n.undefinedError
			first.Reason = fmt.Sprintf("unknown type %q: want %s, or one that stands under \"types\"", name, strings.Join(scalarNames(), ", "))
		}
	}
	if first == nil {
		return nil
	}
	return first
}

func scalarNames() []string {
	return slices.DeleteFunc(slices.Clone(typeNames[:]), func(name string) bool { return name == typeNames[Nested] })
}
