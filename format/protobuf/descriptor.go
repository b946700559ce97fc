package protobuf

import (
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
	fileEnum    = 5
	fileOptions = 8
	fileSyntax  = 12

	messageName    = 1
	messageField   = 2
	messageNested  = 3
	messageEnum    = 4
	messageOptions = 7
	messageOneof   = 8

	fieldName     = 1
	fieldNumber   = 3
	fieldLabel    = 4
	fieldType     = 5
	fieldTypeName = 6
	fieldOptions  = 8
	fieldOneof    = 9
	fieldJSONName = 10

	enumName  = 1
	enumValue = 2

	optionMapEntry = 7 // of a message

	// Where a list of numbers is said to be packed: by an option of the field, or by a feature of the file, of a message
	// or of the field.
	optionPacked          = 2
	fileFeatures          = 50
	messageFeatures       = 12
	fieldFeatures         = 21
	featureRepeated       = 3
	featureRepeatedPacked = 1
)

// typeEnum is FieldDescriptorProto.Type.TYPE_ENUM.
const typeEnum = 14

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
// enum is an int32 with the names of its values. A map is a list of messages with the fields key and value. Extensions
// are unknown fields. If a message is missing, the error names it and lists messages that the set has.
func ParseDescriptorSet(data []byte, message string) (*schema.Message, error) {
	s := descriptorSet{declared: map[string]declaration{}, enums: map[string]encodedDescriptor{}, shapes: map[string]*schema.Message{}, named: map[string]*schema.Enum{}}
	set := encodedDescriptor{data, field.Span{End: len(data)}}
	err := set.eachMessage(setFile, s.declareFile)
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

// descriptorSet is a parsed set. Its maps use full names as keys.
type descriptorSet struct {
	declared      map[string]declaration
	enums         map[string]encodedDescriptor
	shapes        map[string]*schema.Message // the requested message, and all messages that its fields refer to
	named         map[string]*schema.Enum    // the enums that fields of these messages refer to
	withoutFields []*schema.Message          // shapes that have no fields yet
}

// declaration is an encoded message descriptor.
type declaration struct {
	encodedDescriptor
	expanded bool // lists of numbers are not packed unless a field says so
}

// declareFile registers the messages and enums of a file.
func (s *descriptorSet) declareFile(file encodedDescriptor) error {
	scope, err := file.text(filePackage)
	if err != nil {
		return err
	}
	syntax, err := file.text(fileSyntax)
	if err != nil {
		return err
	}
	expanded, err := file.expanded(fileOptions, fileFeatures, syntax == "" || syntax == "proto2")
	if err != nil {
		return err
	}
	if err := s.declareEnums(file, fileEnum, scope); err != nil {
		return err
	}
	return s.declare(declaration{file, expanded}, fileMessage, scope, 0)
}

// declare registers the messages in the records of d that have this field number. It also registers what is nested in
// them. depth is the number of messages around d.
func (s *descriptorSet) declare(d declaration, number int, scope string, depth int) error {
	if depth > MaxDepth {
		return syntaxError(d.span.Head, fmt.Sprintf("messages nest deeper than %d", MaxDepth))
	}
	return d.eachMessage(number, func(message encodedDescriptor) error {
		name, err := message.scopedName(messageName, scope)
		if err != nil {
			return err
		}
		expanded, err := message.expanded(messageOptions, messageFeatures, d.expanded)
		if err != nil {
			return err
		}
		if err := s.declareEnums(message, messageEnum, name); err != nil {
			return err
		}
		s.declared[name] = declaration{message, expanded}
		return s.declare(s.declared[name], messageNested, name, depth+1)
	})
}

// declareEnums registers the enums in the records of d that have this field number.
func (s *descriptorSet) declareEnums(d encodedDescriptor, number int, scope string) error {
	return d.eachMessage(number, func(enum encodedDescriptor) error {
		name, err := enum.scopedName(enumName, scope)
		s.enums[name] = enum
		return err
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
	message := s.declared[m.Name]
	var oneofs []string
	err := message.eachMessage(messageOneof, func(d encodedDescriptor) error {
		name, err := d.text(messageName)
		oneofs = append(oneofs, name)
		return err
	})
	if err != nil {
		return err
	}
	err = message.eachMessage(messageOptions, func(d encodedDescriptor) error {
		n, err := d.integer(optionMapEntry)
		m.MapEntry = n != 0
		return err
	})
	if err != nil {
		return err
	}
	return message.eachMessage(messageField, func(d encodedDescriptor) error {
		name, err := d.text(fieldName)
		if err != nil {
			return err
		}
		f, err := s.field(d, message.expanded, oneofs)
		if err != nil {
			return fmt.Errorf("field %s: %w", name, err)
		}
		f.Name = name
		m.Fields = append(m.Fields, f)
		return nil
	})
}

// field returns the field that d describes. expanded holds if lists of numbers in its message are not packed. oneofs are
// the names of the message's oneofs.
func (s *descriptorSet) field(d encodedDescriptor, expanded bool, oneofs []string) (f schema.Field, err error) {
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
	if f.JSONName, err = d.text(fieldJSONName); err != nil {
		return f, err
	}
	if f.Oneof, err = d.oneof(oneofs); err != nil {
		return f, err
	}
	if f.Repeated && isPackable(f.Type) {
		if f.Expanded, err = d.fieldExpanded(expanded); err != nil {
			return f, err
		}
	}
	if f.Type != schema.Nested && n[fieldType] != typeEnum {
		return f, nil
	}
	name, err := d.text(fieldTypeName)
	if err != nil {
		return f, err
	}
	name = strings.TrimPrefix(name, ".")
	if n[fieldType] == typeEnum {
		f.Enum, err = s.enumOf(name)
		return f, err
	}
	if _, ok := s.declared[name]; !ok {
		return f, fmt.Errorf("its type %q is in another file: write the set with --include_imports", name)
	}
	f.Message = s.shapeOf(name)
	return f, nil
}

// enumOf returns the enum with this full name, or nil if it is in a file that the set has not.
func (s *descriptorSet) enumOf(name string) (*schema.Enum, error) {
	d, ok := s.enums[name]
	if e := s.named[name]; e != nil || !ok {
		return e, nil
	}
	e := &schema.Enum{Name: name}
	s.named[name] = e
	err := d.eachMessage(enumValue, func(value encodedDescriptor) error {
		text, err := value.text(1)
		if err != nil {
			return err
		}
		n, err := value.integer(2)
		e.Values = append(e.Values, schema.EnumValue{Name: text, Number: int32(n)})
		return err
	})
	return e, err
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
