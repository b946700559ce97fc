package protobuf

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/ferry/field"
	"example.com/ferry/format/schema"
)

// Field numbers of descriptor messages. google/protobuf/descriptor.proto.
const (
	setFile = 1

	filePackage = 2
	fileMessage = 4

	messageName   = 1
	messageField  = 2
	messageNested = 3

	fieldName     = 1
	fieldNumber   = 3
	fieldLabel    = 4
	fieldType     = 5
	fieldTypeName = 6
)

// labelRepeated is FieldDescriptorProto.Label.LABEL_REPEATED.
const labelRepeated = 3

// descriptorTypes maps FieldDescriptorProto.Type to types of package schema. An enum is an int32, because any number is
// valid in an enum field. A group is a message here, but Validate refuses the encoding of a group.
var descriptorTypes = [...]schema.Type{
	1: schema.Float64, 2: schema.Float32, 3: schema.Int64, 4: schema.Uint64, 5: schema.Int32,
	6: schema.Fixed64, 7: schema.Fixed32, 8: schema.Bool, 9: schema.String, 10: schema.Nested,
	11: schema.Nested, 12: schema.Bytes, 13: schema.Uint32, 14: schema.Int32, 15: schema.Sfixed32,
	16: schema.Sfixed64, 17: schema.Sint32, 18: schema.Sint64,
}

// ParseDescriptorSet returns the shape of one message of a FileDescriptorSet. message is the full name:
// pkg.Outer.Inner. The set may be of proto2, proto3 or editions. Two commands write such a file: protoc
// --include_imports --descriptor_set_out=FILE, and buf build -o FILE. The shape has the names of the .proto file. An
// enum is an int32. A map is a list of messages with the fields key and value. Extensions are unknown fields. If a
// message is missing, the error names it and lists messages that the set has.
func ParseDescriptorSet(data []byte, message string) (*schema.Message, error) {
	s := descriptorSet{declared: map[string]encodedDescriptor{}, shapes: map[string]*schema.Message{}}
	set := encodedDescriptor{data, field.Span{End: len(data)}}
	err := set.eachMessage(setFile, func(file encodedDescriptor) error {
		pkg, err := file.text(filePackage)
		if err != nil {
			return err
		}
		return s.declare(file, fileMessage, pkg, 0)
	})
	if err != nil {
		return nil, fmt.Errorf("protobuf: this is no descriptor set: %w", err)
	}
	name := strings.TrimPrefix(message, ".")
	if _, ok := s.declared[name]; !ok {
		return nil, fmt.Errorf("protobuf: the descriptor set has no message %q: %s", message, s.suggestNames(name))
	}
	root := s.shapeOf(name)
	for len(s.withoutFields) > 0 {
		m := s.withoutFields[0]
		s.withoutFields = s.withoutFields[1:]
		if err := s.addFields(m); err != nil {
			return nil, fmt.Errorf("protobuf: message %s of the descriptor set: %w", m.Name, err)
		}
	}
	return root, nil
}

// descriptorSet is a parsed set. Its maps use full message names as keys.
type descriptorSet struct {
	declared      map[string]encodedDescriptor
	shapes        map[string]*schema.Message // the requested message, and all messages that its fields refer to
	withoutFields []*schema.Message          // shapes that have no fields yet
}

// declare registers the messages in the records of d that have this field number. It also registers the messages nested
// in them. depth is the number of messages around d.
func (s *descriptorSet) declare(d encodedDescriptor, number int, scope string, depth int) error {
	if depth > MaxDepth {
		return syntaxError(d.span.Head, fmt.Sprintf("messages nest deeper than %d", MaxDepth))
	}
	return d.eachMessage(number, func(message encodedDescriptor) error {
		name, err := message.text(messageName)
		if err != nil {
			return err
		}
		if scope != "" {
			name = scope + "." + name
		}
		s.declared[name] = message
		return s.declare(message, messageNested, name, depth+1)
	})
}

// shapeOf returns the shape of a declared message. The shape of a message seen for the first time has no fields yet.
func (s *descriptorSet) shapeOf(name string) *schema.Message {
	if m := s.shapes[name]; m != nil {
		return m
	}
	m := &schema.Message{Name: name}
	s.shapes[name] = m
	s.withoutFields = append(s.withoutFields, m)
	return m
}

// addFields adds the fields of m to m.
func (s *descriptorSet) addFields(m *schema.Message) error {
	return s.declared[m.Name].eachMessage(messageField, func(d encodedDescriptor) error {
		name, err := d.text(fieldName)
		if err != nil {
			return err
		}
		f, err := s.field(d)
		if err != nil {
			return fmt.Errorf("field %s: %w", name, err)
		}
		f.Name = name
		m.Fields = append(m.Fields, f)
		return nil
	})
}

func (s *descriptorSet) field(d encodedDescriptor) (f schema.Field, err error) {
	var n [fieldType + 1]int64
	for _, number := range []int{fieldNumber, fieldLabel, fieldType} {
		if n[number], err = d.integer(number); err != nil {
			return f, err
		}
	}
	if n[fieldNumber] < 1 || n[fieldNumber] > MaxNumber {
		return f, fmt.Errorf("number %d is not 1 to %d", n[fieldNumber], MaxNumber)
	}
	if n[fieldType] < 1 || n[fieldType] >= int64(len(descriptorTypes)) {
		return f, fmt.Errorf("type %d is not 1 to %d", n[fieldType], len(descriptorTypes)-1)
	}
	f.Number, f.Repeated, f.Type = int(n[fieldNumber]), n[fieldLabel] == labelRepeated, descriptorTypes[n[fieldType]]
	if f.Type != schema.Nested {
		return f, nil
	}
	name, err := d.text(fieldTypeName)
	if err != nil {
		return f, err
	}
	name = strings.TrimPrefix(name, ".")
	if _, ok := s.declared[name]; !ok {
		return f, fmt.Errorf("its type %q is in another file: write the set with --include_imports", name)
	}
	f.Message = s.shapeOf(name)
	return f, nil
}

// suggestNames returns message names for an error. It lists the names whose last part is similar to that of name. If
// there are none, it lists the first names of the set.
func (s *descriptorSet) suggestNames(name string) string {
	const most = 8
	short := strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
	var all, alike []string
	for full := range s.declared {
		all = append(all, full)
		if last := strings.ToLower(full[strings.LastIndexByte(full, '.')+1:]); strings.Contains(last, short) || strings.Contains(short, last) {
			alike = append(alike, full)
		}
	}
	if len(all) == 0 {
		return "it has none"
	}
	verb := "is it "
	if len(alike) == 0 {
		verb, alike = "it has ", all
	}
	slices.Sort(alike)
	if len(alike) > most {
		alike = append(alike[:most], "...")
	}
	return verb + strings.Join(alike, ", ")
}

// encodedDescriptor is one encoded message of a descriptor set.
type encodedDescriptor struct {
	data []byte
	span field.Span
}

// eachMessage calls visit for each record of d that has this field number. Each of these records must be a message.
func (d encodedDescriptor) eachMessage(number int, visit func(encodedDescriptor) error) error {
	for pos := d.span.Off; pos < d.span.End; {
		r, err := findRecord(d.data, pos, d.span.End, number)
		if errors.Is(err, field.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.wire() != wireLength {
			return syntaxError(r.head, fmt.Sprintf("field %d has wire type %d and is no message", number, r.wire()))
		}
		if err := visit(encodedDescriptor{d.data, r.span()}); err != nil {
			return err
		}
		pos = r.end
	}
	return nil
}

// text returns the text field with this number, or "" if d has none.
func (d encodedDescriptor) text(number int) (string, error) {
	v, err := d.value(number, field.String)
	return string(v.Bytes), err
}

// integer returns the integer field with this number, or 0 if d has none.
func (d encodedDescriptor) integer(number int) (int64, error) {
	v, err := d.value(number, field.Int32)
	return v.Int, err
}

func (d encodedDescriptor) value(number int, as field.Type) (field.Value, error) {
	r, err := findRecord(d.data, d.span.Off, d.span.End, number)
	if errors.Is(err, field.ErrNotFound) {
		return field.Value{}, nil
	}
	if err != nil {
		return field.Value{}, err
	}
	return Format{}.Value(d.data, r.span(), as)
}
