package cli

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"example.com/ferry/format/schema"
)

// describe returns the translation for a schema from a hint file. Its fields have presence, as in proto2: a zero that is
// on the wire is in the JSON, too.
func describe(root *schema.Message) (*protoJSON, error) {
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("schema.proto")}
	d := describer{file: file, names: map[*schema.Message]string{}}
	d.add(root)
	f, err := protodesc.NewFile(file, nil)
	if err != nil {
		return nil, usageError{fmt.Errorf("the schema has no form in protobuf: %w", err)}
	}
	return &protoJSON{message: f.Messages().Get(0)}, nil
}

// describer adds the messages of a schema to a file descriptor.
type describer struct {
	file  *descriptorpb.FileDescriptorProto
	names map[*schema.Message]string
}

// add adds m, and the messages of its fields, and returns its name.
func (d *describer) add(m *schema.Message) string {
	if name, ok := d.names[m]; ok {
		return name
	}
	name := fmt.Sprintf("M%d", len(d.names))
	d.names[m] = name
	message := &descriptorpb.DescriptorProto{Name: &name}
	d.file.MessageType = append(d.file.MessageType, message)
	for i := range m.Fields {
		message.Field = append(message.Field, d.field(&m.Fields[i]))
	}
	return name
}

var protobufTypes = [...]descriptorpb.FieldDescriptorProto_Type{
	schema.Bytes: descriptorpb.FieldDescriptorProto_TYPE_BYTES, schema.String: descriptorpb.FieldDescriptorProto_TYPE_STRING,
	schema.Bool: descriptorpb.FieldDescriptorProto_TYPE_BOOL, schema.Int32: descriptorpb.FieldDescriptorProto_TYPE_INT32,
	schema.Uint32: descriptorpb.FieldDescriptorProto_TYPE_UINT32, schema.Int64: descriptorpb.FieldDescriptorProto_TYPE_INT64,
	schema.Uint64: descriptorpb.FieldDescriptorProto_TYPE_UINT64, schema.Float32: descriptorpb.FieldDescriptorProto_TYPE_FLOAT,
	schema.Float64: descriptorpb.FieldDescriptorProto_TYPE_DOUBLE, schema.Nested: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE,
	schema.Sint32: descriptorpb.FieldDescriptorProto_TYPE_SINT32, schema.Sint64: descriptorpb.FieldDescriptorProto_TYPE_SINT64,
	schema.Fixed32: descriptorpb.FieldDescriptorProto_TYPE_FIXED32, schema.Fixed64: descriptorpb.FieldDescriptorProto_TYPE_FIXED64,
	schema.Sfixed32: descriptorpb.FieldDescriptorProto_TYPE_SFIXED32, schema.Sfixed64: descriptorpb.FieldDescriptorProto_TYPE_SFIXED64,
}

func (d *describer) field(f *schema.Field) *descriptorpb.FieldDescriptorProto {
	out := &descriptorpb.FieldDescriptorProto{
		Name: &f.Name, Number: proto.Int32(int32(f.Number)), Type: protobufTypes[f.Type].Enum(),
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	}
	if !protoreflect.Name(f.Name).IsValid() { // a hint file may have any names
		out.Name, out.JsonName = proto.String(fmt.Sprintf("field_%d", f.Number)), &f.Name
	}
	if f.Repeated {
		out.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		if wire := f.Type; wire != schema.Bytes && wire != schema.String && wire != schema.Nested {
			out.Options = &descriptorpb.FieldOptions{Packed: proto.Bool(!f.Expanded)}
		}
	}
	if f.Type == schema.Nested {
		out.TypeName = proto.String("." + d.add(f.Message))
	}
	return out
}
