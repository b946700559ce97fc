package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"example.com/ferry"
	"example.com/ferry/format"
	"example.com/ferry/format/schema"
)

// protoJSON translates messages of one type between protobuf and ProtoJSON, the JSON form of the Protocol Buffers
// standard (protobuf.dev/programming-guides/json).
type protoJSON struct {
	message protoreflect.MessageDescriptor
	types   *dynamicpb.Types // the types of the descriptor set, for google.protobuf.Any; nil for a hint file
}

// isProtoJSON reports whether a message goes from protobuf to JSON, or back.
func isProtoJSON(from, to format.Format) bool {
	a, b := from.Descriptor().Type, to.Descriptor().Type
	return a == ferry.Protobuf && b == ferry.JSON || a == ferry.JSON && b == ferry.Protobuf
}

// protoJSON returns the translation for messages of the schema. shape is the result of load and not nil.
func (s *schemaFlags) protoJSON(shape *schema.Message) (*protoJSON, error) {
	if s.Message == "" {
		return describe(shape)
	}
	data, err := os.ReadFile(s.Schema)
	if err != nil {
		return nil, err
	}
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(data, set); err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", s.Schema, err)}
	}
	files, err := protodesc.FileOptions{AllowUnresolvable: true}.NewFiles(set)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", s.Schema, err)}
	}
	d, err := files.FindDescriptorByName(protoreflect.FullName(strings.TrimPrefix(s.Message, ".")))
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", s.Schema, err)}
	}
	m, ok := d.(protoreflect.MessageDescriptor)
	if !ok {
		return nil, usageError{fmt.Errorf("%s: %s is no message", s.Schema, s.Message)}
	}
	return &protoJSON{m, dynamicpb.NewTypes(files)}, nil
}

// toJSON returns a protobuf message as ProtoJSON without white space. complete is false if the message has fields that the
// schema has not: these are left out.
func (p *protoJSON) toJSON(data []byte) (text []byte, complete bool, err error) {
	m := dynamicpb.NewMessage(p.message)
	decode, encode := proto.UnmarshalOptions{AllowPartial: true}, protojson.MarshalOptions{AllowPartial: true}
	if p.types != nil {
		decode.Resolver, encode.Resolver = p.types, p.types
	}
	if err := decode.Unmarshal(data, m); err != nil {
		return nil, false, cleanError(err)
	}
	if text, err = encode.Marshal(m); err != nil {
		return nil, false, cleanError(err)
	}
	var compact bytes.Buffer // protojson adds white space at random
	if err := json.Compact(&compact, text); err != nil {
		return nil, false, err
	}
	return compact.Bytes(), !hasUnknown(m), nil
}

// fromJSON returns the protobuf form of a message in ProtoJSON.
func (p *protoJSON) fromJSON(text []byte) ([]byte, error) {
	m := dynamicpb.NewMessage(p.message)
	decode := protojson.UnmarshalOptions{AllowPartial: true}
	if p.types != nil {
		decode.Resolver = p.types
	}
	if err := decode.Unmarshal(text, m); err != nil {
		return nil, cleanError(err)
	}
	return proto.MarshalOptions{AllowPartial: true, Deterministic: true}.Marshal(m)
}

// cleanError returns err without the prefix of the library, whose white space changes from build to build.
func cleanError(err error) error {
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ")
	return errors.New(strings.TrimPrefix(text, "proto: "))
}

// hasUnknown reports whether m, or a message in it, has fields that the schema has not.
func hasUnknown(m protoreflect.Message) bool {
	unknown := len(m.GetUnknown()) > 0
	m.Range(func(d protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case d.IsMap() && d.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				unknown = unknown || hasUnknown(v.Message())
				return !unknown
			})
		case d.IsMap() || d.Message() == nil:
		case d.IsList():
			for i := range v.List().Len() {
				unknown = unknown || hasUnknown(v.List().Get(i).Message())
			}
		default:
			unknown = unknown || hasUnknown(v.Message())
		}
		return !unknown
	})
	return unknown
}

// convert translates data from one format to the other, of which one is JSON.
func (p *protoJSON) convert(data []byte, from, to format.Format) (out []byte, notes []string, err error) {
	if from.Descriptor().Type == ferry.JSON {
		out, err = p.fromJSON(data)
	} else {
		var complete bool
		if out, complete, err = p.toJSON(data); err == nil && !complete {
			notes = []string{"fields that the schema does not have were left out"}
		}
	}
	if err == nil {
		err = to.Validate(out, format.Options{})
	}
	return out, notes, err
}
