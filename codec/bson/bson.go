package bson

import (
	"bytes"
	"encoding"
	"fmt"
	"reflect"

	"go.mongodb.org/mongo-driver/v2/bson"

	"example.com/ferry/codec"
	"example.com/ferry/codec/internal/carries"
	"example.com/ferry/codec/internal/exact"
	"example.com/ferry/codec/internal/years"
	"example.com/ferry/format"
	formatbson "example.com/ferry/format/bson"
)

// Codec encodes BSON, bsonspec.org 1.1. Its zero value is ready for use.
type Codec struct{}

var (
	_ codec.Codec    = Codec{}
	_ codec.Appender = Codec{}
	_ codec.Checker  = Codec{}
)

var rules = carries.Rules{
	Name: "bson",
	Tags: []string{"bson", "json"},
	Self: []reflect.Type{reflect.TypeFor[bson.Marshaler](), reflect.TypeFor[bson.ValueMarshaler]()},
	Key:  func(t reflect.Type) bool { return carries.TextOrInteger(t) || t.Implements(textMarshaler) },
}

var floats = &exact.Rules{Format: formatbson.Format{}, Tags: []string{"bson", "json"}, LowerCase: true, FoldCase: true, MayRound: mayRound}

// mayRound reports whether data may have an int64 (bsonspec.org 1.1, production element), or any number that a float32
// rounds.
func mayRound(data []byte, single bool) bool { return single || bytes.IndexByte(data, 0x12) >= 0 }

var textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()

// Name returns bson.
func (Codec) Name() string { return "bson" }

// Marshal encodes v, which must be a document: a struct, or a map with text keys.
func (c Codec) Marshal(v any) ([]byte, error) { return c.Append(nil, v) }

// Append appends the encoding of v to dst. v must be a document.
func (Codec) Append(dst []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	enc := bson.NewEncoder(bson.NewDocumentWriter(buf))
	enc.UseJSONStructTags()
	err := years.Check(v)
	if err == nil {
		err = enc.Encode(v)
	}
	if err != nil {
		return dst, fmt.Errorf("bson: marshal %T: %w", v, err)
	}
	return buf.Bytes(), nil
}

// Unmarshal decodes one document into the variable that v points to. In a variable of type any, a nested document
// becomes a map[string]any.
func (Codec) Unmarshal(data []byte, v any) error {
	err := formatbson.Format{}.Validate(data, format.Options{})
	if err == nil {
		dec := bson.NewDecoder(bson.NewDocumentReader(bytes.NewReader(data)))
		dec.UseJSONStructTags()
		dec.DefaultDocumentMap()
		dec.BinaryAsSlice()
		if err = dec.Decode(v); err == nil {
			err = years.Check(v)
		}
		if err == nil {
			err = floats.Check(data, v)
		}
	}
	if err != nil {
		return fmt.Errorf("bson: unmarshal %d bytes into %T: %w", len(data), v, err)
	}
	return nil
}

// CheckType accepts documents: structs, and maps with text keys. It refuses channels, functions, complex numbers and interfaces with
// methods within them.
func (Codec) CheckType(t reflect.Type) error {
	if err := rules.Check(t); err != nil {
		return err
	}
	document := t
	for document.Kind() == reflect.Pointer {
		document = document.Elem()
	}
	for _, self := range rules.Self {
		if document.Implements(self) || reflect.PointerTo(document).Implements(self) {
			return nil
		}
	}
	switch document.Kind() {
	case reflect.Struct, reflect.Interface:
		return nil
	case reflect.Map:
		if document.Key().Kind() == reflect.String {
			return nil
		}
	}
	if document == reflect.TypeFor[bson.D]() || document == reflect.TypeFor[bson.Raw]() {
		return nil
	}
	return fmt.Errorf("bson: type %v is no document: use a struct or a map with text keys, or choose another codec", t)
}
