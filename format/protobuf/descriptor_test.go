package protobuf

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"example.com/ferry/format"
	"example.com/ferry/format/schema"
)

// plant is a descriptor set that uses imports, nested types, an enum, maps and recursion.
const plant = `
file {
  name: "unit.proto" package: "plant.unit" syntax: "proto3"
  message_type { name: "Unit" field { name: "symbol" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING } }
}
file {
  name: "plant.proto" package: "plant" syntax: "proto3" dependency: "unit.proto"
  message_type {
    name: "Pump"
    field { name: "name" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
    field { name: "level" number: 2 label: LABEL_OPTIONAL type: TYPE_SINT32 }
    field { name: "state" number: 3 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".plant.Pump.State" }
    field { name: "spare" number: 4 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".plant.Pump" }
    field { name: "parts" number: 5 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".plant.Pump.Part" }
    field { name: "labels" number: 6 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".plant.Pump.LabelsEntry" }
    field { name: "unit" number: 7 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".plant.unit.Unit" }
    field { name: "samples" number: 536870911 label: LABEL_REPEATED type: TYPE_DOUBLE }
    field { name: "old_samples" number: 8 label: LABEL_REPEATED type: TYPE_INT32 options { packed: false } }
    field { name: "by_hand" number: 9 label: LABEL_OPTIONAL type: TYPE_BOOL oneof_index: 0 json_name: "manual" }
    field { name: "by_program" number: 10 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".plant.Pump.Part" oneof_index: 0 }
    field { name: "hint" number: 11 label: LABEL_OPTIONAL type: TYPE_STRING oneof_index: 1 proto3_optional: true }
    oneof_decl { name: "control" }
    oneof_decl { name: "_hint" }
    nested_type { name: "Part" field { name: "id" number: 1 label: LABEL_OPTIONAL type: TYPE_FIXED64 } }
    nested_type {
      name: "LabelsEntry"
      field { name: "key" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
      field { name: "value" number: 2 label: LABEL_OPTIONAL type: TYPE_UINT32 }
      options { map_entry: true }
    }
    enum_type { name: "State" value { name: "OFF" number: 0 } value { name: "ON" number: 1 } }
  }
}
file {
  name: "old.proto" syntax: "proto2"
  message_type {
    name: "Old"
    field { name: "must" number: 1 label: LABEL_REQUIRED type: TYPE_BOOL }
    field { name: "group" number: 2 label: LABEL_OPTIONAL type: TYPE_GROUP type_name: ".Old.Group" }
    field { name: "packed" number: 3 label: LABEL_REPEATED type: TYPE_INT32 options { packed: true } }
    field { name: "plain" number: 4 label: LABEL_REPEATED type: TYPE_INT32 }
    nested_type { name: "Group" field { name: "x" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 } }
  }
}
file {
  name: "new.proto" syntax: "editions" edition: EDITION_2023
  message_type {
    name: "New"
    field { name: "x" number: 1 label: LABEL_OPTIONAL type: TYPE_SFIXED32 }
    field { name: "packed" number: 2 label: LABEL_REPEATED type: TYPE_INT32 }
    field { name: "plain" number: 3 label: LABEL_REPEATED type: TYPE_INT32 options { features { repeated_field_encoding: EXPANDED } } }
  }
  message_type {
    name: "Plain"
    field { name: "plain" number: 1 label: LABEL_REPEATED type: TYPE_INT32 }
    field { name: "packed" number: 2 label: LABEL_REPEATED type: TYPE_INT32 options { features { repeated_field_encoding: PACKED } } }
    options { features { repeated_field_encoding: EXPANDED } }
  }
}`

func plantSet(t testing.TB) (*descriptorpb.FileDescriptorSet, []byte) {
	t.Helper()
	set := new(descriptorpb.FileDescriptorSet)
	if err := prototext.Unmarshal([]byte(plant), set); err != nil {
		t.Fatal(err)
	}
	data, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return set, data
}

func TestParseDescriptorSet(t *testing.T) {
	set, data := plantSet(t)
	files, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plant.Pump", "plant.Pump.Part", "plant.unit.Unit", "Old", "New", "Plain"} {
		m, err := ParseDescriptorSet(data, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want, err := files.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			t.Fatal(err)
		}
		compareShape(t, m, want.(protoreflect.MessageDescriptor), map[string]bool{})
	}
}

// TestParseDescriptorsOwnSet parses the descriptor of descriptor.proto itself, which is recursive and large.
func TestParseDescriptorsOwnSet(t *testing.T) {
	file := protodesc.ToFileDescriptorProto(descriptorpb.File_google_protobuf_descriptor_proto)
	data, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := ParseDescriptorSet(data, ".google.protobuf.FileDescriptorSet")
	if err != nil {
		t.Fatal(err)
	}
	compareShape(t, m, (&descriptorpb.FileDescriptorSet{}).ProtoReflect().Descriptor(), map[string]bool{})
	if err := (Format{m}).Validate(data, format.Options{}); err != nil {
		t.Errorf("Validate of the set by its own schema: %v", err)
	}
}

// compareShape compares m with the library's result for the same descriptor. It also compares all messages that m
// refers to.
func compareShape(t *testing.T, m *schema.Message, want protoreflect.MessageDescriptor, seen map[string]bool) {
	t.Helper()
	if seen[m.Name] {
		return
	}
	seen[m.Name] = true
	if m.Name != string(want.FullName()) || len(m.Fields) != want.Fields().Len() || m.MapEntry != want.IsMapEntry() {
		t.Errorf("got %s with %d fields, want %s with %d", m.Name, len(m.Fields), want.FullName(), want.Fields().Len())
		return
	}
	for i := range m.Fields {
		got, w := m.Fields[i], want.Fields().Get(i)
		kind := w.Kind().String()
		switch w.Kind() {
		case protoreflect.EnumKind:
			kind = "int32"
		case protoreflect.FloatKind:
			kind = "float32"
		case protoreflect.DoubleKind:
			kind = "float64"
		case protoreflect.GroupKind:
			kind = "message"
		}
		if got.Name != string(w.Name()) || got.Number != int(w.Number()) || got.Repeated != (w.Cardinality() == protoreflect.Repeated) || got.Type.String() != kind {
			t.Errorf("%s: got %+v, want %v %s = %d", m.Name, got, w.Cardinality(), w.Name(), w.Number())
		}
		oneof := ""
		if o := w.ContainingOneof(); o != nil {
			oneof = string(o.Name())
		}
		expanded := w.IsList() && isPackable(got.Type) && !w.IsPacked()
		if got.Oneof != oneof || got.Expanded != expanded || w.HasJSONName() && got.JSONName != w.JSONName() {
			t.Errorf("%s: got %+v, want the oneof %q, JSON name %s, expanded %v", m.Name, got, oneof, w.JSONName(), expanded)
		}
		compareEnum(t, got.Enum, w.Enum())
		if w.Message() != nil {
			compareShape(t, got.Message, w.Message(), seen)
		}
	}
}

// compareEnum compares e with the library's result.
func compareEnum(t *testing.T, e *schema.Enum, want protoreflect.EnumDescriptor) {
	t.Helper()
	if e == nil || want == nil {
		if e != nil || want != nil {
			t.Errorf("got the enum %v, want %v", e, want)
		}
		return
	}
	if e.Name != string(want.FullName()) || len(e.Values) != want.Values().Len() {
		t.Errorf("got %+v, want the enum %s of %d values", e, want.FullName(), want.Values().Len())
		return
	}
	for i, v := range e.Values {
		if w := want.Values().Get(i); v.Name != string(w.Name()) || v.Number != int32(w.Number()) {
			t.Errorf("%s: got %+v, want %s = %d", e.Name, v, w.Name(), w.Number())
		}
	}
}

func TestParseDescriptorSetErrors(t *testing.T) {
	set, whole := plantSet(t)
	alone, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: set.File[1:2]})
	if err != nil {
		t.Fatal(err)
	}
	field := func(text string) []byte {
		t.Helper()
		set := new(descriptorpb.FileDescriptorSet)
		text = `file { message_type { name: "M" field { name: "f" ` + text + ` } } }`
		if err := prototext.Unmarshal([]byte(text), set); err != nil {
			t.Fatal(err)
		}
		data, err := proto.Marshal(set)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	deep := []byte("\x0a\x01A")
	for range 300 {
		deep = append([]byte{0x1a, 0x80 | byte(len(deep)&0x7f), byte(len(deep) >> 7)}, deep...)
	}
	deep = append([]byte{0x0a, 0x80 | byte((len(deep)+3)&0x7f), byte((len(deep) + 3) >> 7), 0x22, 0x80 | byte(len(deep)&0x7f), byte(len(deep) >> 7)}, deep...)
	rows := []struct {
		name, message string
		data          []byte
		want          string
	}{
		{"unknown", "plant.Pomp", whole, `no message "plant.Pomp": it has New, Old, Old.Group`},
		{"without its package", "pump", whole, `no message "pump": is it plant.Pump`},
		{"nothing", "A", nil, "it has none"},
		{"without imports", "plant.Pump", alone, `message plant.Pump of the descriptor set: field unit: its type "plant.unit.Unit" is in another file`},
		{"JSON", "A", []byte(`{"file": []}`), "this is no descriptor set: protobuf: field 4 of 102 bytes"},
		{"cut", "plant.Pump", whole[:100], "this is no descriptor set"},
		{"a file that is a number", "A", []byte{0x08, 0x01}, "no message"},
		{"a name that is a number", "A", []byte{0x0a, 0x04, 0x22, 0x02, 0x08, 0x01}, "cannot use untyped bytes as string"},
		{"field number 0", "M", field(`type: TYPE_BOOL`), "field f: number 0 is not"},
		{"no type", "M", field(`number: 1`), "field f: type 0 is not"},
		{"deep", "A", deep, "nest deeper than 256"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			m, err := ParseDescriptorSet(row.data, row.message)
			if err == nil || !strings.HasPrefix(err.Error(), "protobuf: ") || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, %v, want an error with %q", m, err, row.want)
			}
		})
	}
}

// pumpMessage returns a plant.Pump in the encoding of the library. text is the message as protobuf text.
func pumpMessage(t testing.TB, text string) []byte {
	t.Helper()
	set, _ := plantSet(t)
	files, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatal(err)
	}
	d, err := files.FindDescriptorByName("plant.Pump")
	if err != nil {
		t.Fatal(err)
	}
	m := dynamicpb.NewMessage(d.(protoreflect.MessageDescriptor))
	if err := (prototext.UnmarshalOptions{Resolver: (*protoregistry.Types)(nil)}).Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
