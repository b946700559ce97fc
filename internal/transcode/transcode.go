package transcode

import (
	"errors"
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/msgpack"
	"example.com/ferry/format/schema"
)

// Message translates data from format from to format to. It appends the result to dst and returns the extended dst.
// data must be valid. If the target format cannot represent a value, the error starts with the path of the field. On an
// error Message returns dst unchanged.
func Message(dst, data []byte, from, to format.Format) ([]byte, Notes, error) {
	return MessageAs(dst, data, from, to, nil)
}

// MessageAs is Message for messages with the schema m. It replaces numbers by names, or names by numbers, as the target
// needs. Each value gets its declared type and width. Fields that m does not have are translated as without a schema. A
// protobuf Format must also have m. A nil m means no schema.
func MessageAs(dst, data []byte, from, to format.Format, m *schema.Message) ([]byte, Notes, error) {
	if from.Name() == to.Name() {
		return append(dst, data...), nil, nil
	}
	if m == nil && (from.Name() == "protobuf" || to.Name() == "protobuf") {
		return dst, nil, errors.New("transcode: protobuf carries numbers for names and no types: it takes a schema to convert it")
	}
	var root *schema.Field
	if m != nil {
		whole := m.Root()
		root = &whole
	}
	var notes Notes
	w, err := newWriter(from.Name(), to, &notes)
	if err != nil {
		return dst, nil, err
	}
	whole, err := from.Lookup(data, field.Path{})
	if err != nil {
		return dst, nil, err
	}
	if err := copyValue(newTypedWriter(w, root, from, &notes), data, from, whole, &notes); err != nil {
		return dst, nil, err
	}
	message, err := w.message()
	if err != nil {
		return dst, nil, err
	}
	// Keys that differ in one format may be equal in another: 1 and "1" in CBOR are equal in JSON.
	if err := to.Validate(message, format.Options{}); err != nil {
		return dst, nil, fmt.Errorf("transcode: the %s message has no form in %s: %w", from.Name(), to.Name(), err)
	}
	return append(dst, message...), notes, nil
}

func newWriter(from string, target format.Format, notes *Notes) (writer, error) {
	switch to := target.Name(); to {
	case "json":
		return &jsonWriter{notes: notes}, nil
	case "cbor":
		return newCBORWriter(notes), nil
	case "bson":
		return &bsonWriter{notes: notes}, nil
	case "msgpack":
		return &countedWriter{notes: notes, appendHead: msgpack.AppendContainer, appendScalar: msgpack.AppendScalar, float32Byte: 0xca}, nil
	case "protobuf":
		return &protobufWriter{notes: notes}, nil
	case "y3", "y3n":
		return newY3Writer(to, from == "y3" || from == "y3n"), nil
	}
	if e, ok := target.(format.Encoder); ok {
		return &builderWriter{builder: e.NewBuilder(), notes: notes}, nil
	}
	return nil, fmt.Errorf("transcode: cannot write %s", target.Name())
}

// JSON appends the value at s to dst as JSON, with bytes as hex text. s is a span that Lookup or Walk returned for
// data. JSON does not validate the result: a CBOR map with the keys 1 and "1" becomes an object with a duplicate key.
func JSON(dst, data []byte, f format.Format, s field.Span) ([]byte, error) {
	return JSONAs(dst, data, f, s, nil)
}

// JSONAs is JSON for a value that the schema declares as the field as. A nil as means no schema.
func JSONAs(dst, data []byte, f format.Format, s field.Span, as *schema.Field) ([]byte, error) {
	w := &jsonWriter{dst: dst, hex: true, notes: new(Notes)}
	if err := copyValue(newTypedWriter(w, as, f, w.notes), data, f, s, w.notes); err != nil {
		return dst, err
	}
	return w.dst, nil
}
