package transcode

import (
	"errors"
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/schema"
)

// Message appends data, a valid message of format from, to dst as a message of format to, and returns the extended dst.
// What the result cannot say is an error that starts with the path of the field; on any error dst is returned as it was.
func Message(dst, data []byte, from, to format.Format) ([]byte, Notes, error) {
	return MessageAs(dst, data, from, to, nil)
}

// MessageAs is Message for messages of the shape m: keys and numbers become names and back, and each value takes the type
// that m gives it, with its width. What m does not know goes its way as without a schema. A format of protobuf must have
// m too. A nil m is no schema.
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
	w, err := newWriter(from.Name(), to, m != nil, &notes)
	if err != nil {
		return dst, nil, err
	}
	whole, err := from.Lookup(data, field.Path{})
	if err != nil {
		return dst, nil, err
	}
	if err := copyValue(newShaper(w, root, from, &notes), data, from, whole, &notes); err != nil {
		return dst, nil, err
	}
	message, err := w.message()
	if err != nil {
		return dst, nil, err
	}
	// Keys that differ in one format may be the same in the other: 1 and "1" of CBOR.
	if err := to.Validate(message, format.Options{}); err != nil {
		return dst, nil, fmt.Errorf("transcode: the %s message has no form in %s: %w", from.Name(), to.Name(), err)
	}
	return append(dst, message...), notes, nil
}

func newWriter(from string, target format.Format, typed bool, notes *Notes) (writer, error) {
	switch to := target.Name(); to {
	case "json":
		return &jsonWriter{notes: notes}, nil
	case "cbor":
		return &cborWriter{notes: notes}, nil
	case "bson":
		return &bsonWriter{notes: notes}, nil
	case "msgpack":
		return &msgpackWriter{notes: notes}, nil
	case "protobuf":
		return &protobufWriter{notes: notes}, nil
	case "y3", "y3n":
		other := from == "y3" || from == "y3n"
		if other && !typed {
			return nil, fmt.Errorf("transcode: %s and %s write integers differently, and only a schema says which values are integers", from, to)
		}
		return newY3Writer(to, other), nil
	}
	if e, ok := target.(format.Encoder); ok {
		return &builderWriter{builder: e.NewBuilder(), notes: notes}, nil
	}
	return nil, fmt.Errorf("transcode: cannot write %s", target.Name())
}

// JSON appends the value at s, which a Lookup or Walk of data returned, to dst as JSON, with bytes as hex text. It does
// not validate: a map of CBOR with the keys 1 and "1" gives a key twice.
func JSON(dst, data []byte, f format.Format, s field.Span) ([]byte, error) {
	return JSONAs(dst, data, f, s, nil)
}

// JSONAs is JSON for a value of which a schema says that it is as; nil is no schema.
func JSONAs(dst, data []byte, f format.Format, s field.Span, as *schema.Field) ([]byte, error) {
	w := &jsonWriter{dst: dst, hex: true, notes: new(Notes)}
	if err := copyValue(newShaper(w, as, f, w.notes), data, f, s, w.notes); err != nil {
		return dst, err
	}
	return w.dst, nil
}
