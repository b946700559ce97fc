package transcode

import (
	"errors"
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Message appends data, a valid message of format from, to dst as a message of format to, and returns the extended dst.
// What the result cannot say is an error that starts with the path of the field; on any error dst is returned as it was.
func Message(dst, data []byte, from, to format.Format) ([]byte, Notes, error) {
	if from.Name() == to.Name() {
		return append(dst, data...), nil, nil
	}
	if from.Name() == "bson" {
		return dst, nil, errors.New("transcode: cannot convert bson, whose datetimes and widths of integers would be lost: ferry get prints it as JSON")
	}
	var notes Notes
	var w writer
	switch to.Name() {
	case "json":
		w = &jsonWriter{notes: &notes}
	case "cbor":
		w = &cborWriter{notes: &notes}
	case "y3", "y3n":
		if from.Name() == "y3" || from.Name() == "y3n" {
			return dst, nil, fmt.Errorf("transcode: %s and %s write integers differently, and nothing in the bytes says which are integers", from.Name(), to.Name())
		}
		w = &y3Writer{dialect: to.Name()}
	default:
		return dst, nil, fmt.Errorf("transcode: cannot write %s", to.Name())
	}
	whole, err := from.Lookup(data, field.Path{})
	if err != nil {
		return dst, nil, err
	}
	if err := copyValue(w, data, from, whole, &notes); err != nil {
		return dst, nil, err
	}
	// Keys that differ in one format may be the same in the other: 1 and "1" of CBOR.
	if err := to.Validate(w.bytes(), format.Options{}); err != nil {
		return dst, nil, fmt.Errorf("transcode: the %s message has no form in %s: %w", from.Name(), to.Name(), err)
	}
	return append(dst, w.bytes()...), notes, nil
}

// JSON appends the value at s, which a Lookup or Walk of data returned, to dst as JSON, with bytes as hex text. It does
// not validate: a map of CBOR with the keys 1 and "1" gives a key twice.
func JSON(dst, data []byte, f format.Format, s field.Span) ([]byte, error) {
	w := &jsonWriter{dst: dst, hex: true, notes: new(Notes)}
	if err := copyValue(w, data, f, s, w.notes); err != nil {
		return dst, err
	}
	return w.dst, nil
}
