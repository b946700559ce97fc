package cli

import (
	"bytes"
	"context"
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"example.com/ferry/codec"
)

// callFormat converts between JSON and the encoding of a content type.
type callFormat interface {
	encode(text []byte) ([]byte, error)
	decode(data []byte) (text []byte, err error)
}

// newCallFormat returns the format of a method's messages. For Protocol Buffers it asks the server for their types.
func newCallFormat(ctx context.Context, t callTarget, method string) (callFormat, error) {
	switch name := t.content.Codec.Name(); name {
	case "json":
		return jsonText{}, nil
	case "raw":
		return rawBytes{}, nil
	case "cbor", "msgpack", "bson":
		return untyped{t.content.Codec}, nil
	case "protobuf":
		if t.protocol.Name() != "grpc" {
			return nil, usagef("%s needs the types of the messages, which only gRPC's reflection tells: call grpc://HOST:PORT, or choose --content application/json", t.content.Type)
		}
		d, err := reflectMethod(ctx, t, method)
		if err != nil {
			return nil, err
		}
		return messages{d}, nil
	default:
		return nil, usagef("%s needs the types of the messages: choose --content application/json", t.content.Type)
	}
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
type messages struct{ protoreflect.MethodDescriptor }

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
