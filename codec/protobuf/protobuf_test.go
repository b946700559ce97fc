package protobuf_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"example.com/ferry/codec"
	"example.com/ferry/codec/codectest"
	"example.com/ferry/codec/protobuf"
)

// wire is a codec for encoded messages. Decoded messages cannot be compared with reflect.DeepEqual, because the
// library's internal state differs between equal messages.
type wire struct{ protobuf.Codec }

type packed string

func (w wire) Marshal(v any) ([]byte, error) { return w.Append(nil, v) }

func (w wire) Append(dst []byte, v any) ([]byte, error) {
	text, ok := v.(packed)
	if !ok {
		return w.Codec.Append(dst, v)
	}
	return w.Codec.Append(dst, wrapperspb.String(string(text)))
}

func (w wire) CheckType(t reflect.Type) error {
	if t == reflect.TypeFor[packed]() || t == reflect.TypeFor[*packed]() {
		return nil
	}
	return w.Codec.CheckType(t)
}

func (w wire) Unmarshal(data []byte, v any) error {
	p, ok := v.(*packed)
	if !ok {
		return w.Codec.Unmarshal(data, v)
	}
	m := new(wrapperspb.StringValue)
	err := w.Codec.Unmarshal(data, m)
	*p = packed(m.Value)
	return err
}

func TestContract(t *testing.T) {
	codectest.Run(t, wire{}, packed("pump-1"), packed(strings.Repeat("é", 300)))
}

var _ codec.Appender = wire{}

func messages(t *testing.T) []proto.Message {
	t.Helper()
	s, err := structpb.NewStruct(map[string]any{"b": 1.5, "a": []any{"x", nil, true}, "c": map[string]any{"d": "é"}})
	if err != nil {
		t.Fatal(err)
	}
	return []proto.Message{
		s, wrapperspb.Int64(-1), wrapperspb.UInt64(1<<64 - 1), wrapperspb.Bytes([]byte{0, 255}), &durationpb.Duration{Seconds: -3, Nanos: -5}, new(durationpb.Duration),
		&descriptorpb.FieldDescriptorProto{Name: proto.String("f"), Number: proto.Int32(1 << 28), Type: descriptorpb.FieldDescriptorProto_TYPE_BOOL.Enum()},
	}
}

func TestRoundTrip(t *testing.T) {
	for _, want := range messages(t) {
		t.Run(fmt.Sprintf("%T", want), func(t *testing.T) {
			c := protobuf.Codec{Deterministic: true} // a Struct is a map, and the test compares encodings
			data, err := c.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			again, err := c.Append([]byte("dst"), want)
			if err != nil || string(again) != "dst"+string(data) {
				t.Errorf("Append: got % x, %v, want % x behind dst", again, err, data)
			}
			scratch := append([]byte(nil), data...)
			got := reflect.New(reflect.TypeOf(want)) // a pointer to a nil message
			if err := (protobuf.Codec{}).Unmarshal(scratch, got.Interface()); err != nil {
				t.Fatal(err)
			}
			clear(scratch)
			if m := got.Elem().Interface().(proto.Message); !proto.Equal(m, want) {
				t.Errorf("got %v, want %v", m, want)
			}
			if err := (protobuf.Codec{}).Unmarshal(data, got.Elem().Interface()); err != nil || !proto.Equal(got.Elem().Interface().(proto.Message), want) {
				t.Errorf("into the message itself, which held something: got %v, %v, want %v", got.Elem(), err, want)
			}
		})
	}
}

func TestUnmarshalErrors(t *testing.T) {
	deep := []byte{}
	for range 150 { // each Value holds a list with the Value of the round before
		list := append([]byte{0x0a}, varint(len(deep))...)
		list = append(list, deep...)
		deep = append(append([]byte{0x32}, varint(len(list))...), list...)
	}
	rows := map[string]struct {
		data string
		v    any
	}{
		"cut":                    {"\x0a\x06pump", new(wrapperspb.StringValue)},
		"not UTF-8":              {"\x0a\x01\xff", new(wrapperspb.StringValue)},
		"field number 0":         {"\x00\x01", new(wrapperspb.StringValue)},
		"too deep":               {string(deep), new(structpb.Value)},
		"a required field":       {"\x0a\x00", new(descriptorpb.UninterpretedOption_NamePart)},
		"a struct of no message": {"\x0a\x00", new(struct{ Name string })},
		"a message by value":     {"\x0a\x00", 1},
		"a nil message":          {"\x0a\x00", (*wrapperspb.StringValue)(nil)},
		"a nil pointer to one":   {"\x0a\x00", (**wrapperspb.StringValue)(nil)},
		"an any":                 {"\x0a\x00", new(any)},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			err := protobuf.Codec{}.Unmarshal([]byte(row.data), row.v)
			if err == nil || !strings.HasPrefix(err.Error(), "protobuf: ") || !strings.Contains(err.Error(), fmt.Sprintf("%T", row.v)) {
				t.Errorf("got %v, want an error of protobuf that names %T", err, row.v)
			}
		})
	}
}

func varint(n int) []byte {
	if n < 0x80 {
		return []byte{byte(n)}
	}
	return append([]byte{0x80 | byte(n&0x7f)}, varint(n>>7)...)
}

func TestMarshalErrors(t *testing.T) {
	for name, v := range map[string]any{
		"a text": "pump-1", "a map": map[string]int{"a": 1}, "nil": nil, "a nil message": (*wrapperspb.StringValue)(nil),
		"text that is not UTF-8": wrapperspb.String("\xff"), "without a required field": new(descriptorpb.UninterpretedOption_NamePart),
	} {
		data, err := protobuf.Codec{}.Append([]byte("dst"), v)
		if err == nil || !strings.HasPrefix(err.Error(), "protobuf: ") || !strings.Contains(err.Error(), fmt.Sprintf("%T", v)) || string(data) != "dst" {
			t.Errorf("%s: got % x, %v, want dst as it was and an error that names %T", name, data, err, v)
		}
	}
}

// TestUnknownFields decodes fields that the type does not have. The new encoding must contain them.
func TestUnknownFields(t *testing.T) {
	data := "\x0a\x01a\x9a\x06\x03new"
	m := new(wrapperspb.StringValue)
	if err := (protobuf.Codec{}).Unmarshal([]byte(data), m); err != nil {
		t.Fatal(err)
	}
	if got, err := (protobuf.Codec{}).Marshal(m); err != nil || string(got) != data {
		t.Errorf("got %q, %v, want %q", got, err, data)
	}
}

func Example() {
	data, err := protobuf.Codec{}.Marshal(wrapperspb.String("pump-1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	var name wrapperspb.StringValue
	err = protobuf.Codec{}.Unmarshal(data, &name)
	fmt.Printf("% x %s %v\n", data, name.GetValue(), err)
	// Output: 0a 06 70 75 6d 70 2d 31 pump-1 <nil>
}
