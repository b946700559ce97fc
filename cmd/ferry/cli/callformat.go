package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"example.com/ferry/codec"
	y3codec "example.com/ferry/codec/y3"
	"example.com/ferry/format"
	jsonformat "example.com/ferry/format/json"
	"example.com/ferry/format/protobuf"
	"example.com/ferry/format/schema"
	"example.com/ferry/format/y3"
	"example.com/ferry/internal/transcode"
)

// callFormat converts between JSON and the encoding of a content type.
type callFormat interface {
	encode(text []byte) ([]byte, error)
	decode(data []byte) (text []byte, err error)
}

// newCallFormat returns the format of a method's messages. Protocol Buffers and Y3 need their types: those of the descriptor set in the file, or
// else of the server's reflection.
func newCallFormat(ctx context.Context, t callTarget, method, file string) (callFormat, error) {
	switch name := t.content.Codec.Name(); name {
	case "json":
		return jsonText{}, nil
	case "raw":
		return rawBytes{}, nil
	case "cbor", "msgpack", "bson":
		return untyped{t.content.Codec}, nil
	}
	var types methodTypes
	var err error
	switch {
	case file != "":
		types, err = readMethod(file, method)
	case t.protocol.Name() == "grpc":
		types, err = reflectMethod(ctx, t, method)
	default:
		err = usagef("%s needs the types of the messages: name a descriptor set that has the service with --schema, or choose --content json", t.content.Type)
	}
	if err != nil {
		return nil, err
	}
	if t.content.Codec.Name() == "y3" {
		return newY3Messages(types)
	}
	return messages{types}, nil
}

// jsonText is JSON as it stands.
type jsonText struct{}

func (jsonText) encode(text []byte) ([]byte, error) { return text, nil }

func (jsonText) decode(data []byte) ([]byte, error) {
	var text bytes.Buffer
	if err := json.Compact(&text, data); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// rawBytes are bytes. The response is printed as a JSON string in base64.
type rawBytes struct{}

func (rawBytes) encode(text []byte) ([]byte, error) { return text, nil }
func (rawBytes) decode(data []byte) ([]byte, error) { return json.Marshal(data) }

// untyped is an encoding that tells the types of its values.
type untyped struct{ codec.Codec }

func (u untyped) encode(text []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	return u.Marshal(withNumbers(value))
}

func (u untyped) decode(data []byte) ([]byte, error) {
	if u.Name() == "bson" { // its messages are documents
		var document map[string]any
		if err := u.Unmarshal(data, &document); err != nil {
			return nil, err
		}
		return json.Marshal(document)
	}
	var value any
	if err := u.Unmarshal(data, &value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// withNumbers replaces the numbers in a value by integers where they are integers, and by floats otherwise.
func withNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return f
	case []any:
		for i := range v {
			v[i] = withNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = withNumbers(v[k])
		}
	}
	return value
}

// messages are the request and the response of a method in Protocol Buffers.
type messages struct{ methodTypes }

func (m messages) encode(text []byte) ([]byte, error) {
	request := dynamicpb.NewMessage(m.Input())
	if err := protojson.Unmarshal(text, request); err != nil {
		return nil, err
	}
	return proto.Marshal(request)
}

func (m messages) decode(data []byte) ([]byte, error) {
	response := dynamicpb.NewMessage(m.Output())
	if err := proto.Unmarshal(data, response); err != nil {
		return nil, err
	}
	text, err := protojson.Marshal(response)
	if err != nil {
		return nil, err
	}
	return jsonText{}.decode(text) // protojson varies the spaces on purpose
}

// y3Messages are the request and the response of a method in Y3: the numbers of the fields are keys. As in codec/y3, a message is in the
// packet 0x10 of the root node.
type y3Messages struct{ input, output *schema.Message }

const y3Root, y3Value = "0x01", "0x10"

func newY3Messages(types methodTypes) (m y3Messages, err error) {
	set, err := proto.Marshal(types.set)
	if err != nil {
		return m, err
	}
	shape := func(d protoreflect.MessageDescriptor) *schema.Message {
		value, e := protobuf.ParseDescriptorSet(set, string(d.FullName()))
		err = errors.Join(err, e)
		node := &schema.Message{Name: "root", Fields: []schema.Field{{Name: y3Value, Number: y3codec.DefaultObserve, Type: schema.Nested, Message: value}}}
		return &schema.Message{Name: "message", Fields: []schema.Field{{Name: y3Root, Number: 1, Type: schema.Nested, Message: node}}}
	}
	m.input, m.output = shape(types.Input()), shape(types.Output())
	return m, err
}

func (m y3Messages) encode(text []byte) ([]byte, error) {
	text = fmt.Appendf(nil, `{%q:{%q:%s}}`, y3Root, y3Value, text)
	data, _, err := transcode.MessageAs(nil, text, jsonformat.Format{}, y3.Format{}, m.input)
	return data, err
}

func (m y3Messages) decode(data []byte) ([]byte, error) {
	if err := (y3.Format{}).Validate(data, format.Options{}); err != nil {
		return nil, err
	}
	text, _, err := transcode.MessageAs(nil, data, y3.Format{}, jsonformat.Format{}, m.output)
	if err != nil {
		return nil, err
	}
	var message map[string]map[string]json.RawMessage
	if err := json.Unmarshal(text, &message); err != nil {
		return nil, err
	}
	value, ok := message[y3Root][y3Value]
	if !ok {
		return nil, errors.New("it has no packet 0x01.0x10")
	}
	return value, nil
}
