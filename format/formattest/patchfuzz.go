package formattest

import (
	"bytes"
	"errors"
	"testing"
	"unicode/utf8"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// PatchReader reads a patched value with another implementation, and compares it with text. The value is at path p,
// with span s.
type PatchReader func(t *testing.T, message []byte, s field.Span, p field.Path, text []byte)

// FuzzPatches is the body of a fuzz target. It patches any text into any path of a valid message. If form accepts the
// text, each of readers reads it from the result.
func FuzzPatches(f *testing.F, form format.Format, seeds [][]byte, readers ...PatchReader) {
	f.Helper()
	patcher, ok := form.(format.Patcher)
	if !ok {
		f.Fatalf("%s is no format.Patcher", form.Name())
	}
	for _, s := range seeds {
		f.Add(s, "deviceName", []byte("pump-1"))
		f.Add(s, "readings.0.value", []byte("\"\\\x01\u2028"))
		f.Add(s, "", []byte("x"))
	}
	f.Fuzz(func(t *testing.T, data []byte, path string, text []byte) {
		p, err := field.Parse(path)
		if err != nil || form.Validate(data, format.Options{}) != nil {
			return
		}
		got, err := patcher.Patch(nil, data, p, field.Value{Kind: field.Text, Bytes: text})
		if err != nil {
			var mismatch *format.TypeError
			if !errors.Is(err, field.ErrNotFound) && !errors.As(err, &mismatch) || got != nil {
				t.Errorf("got % x, %v for path %q\n% x", got, err, path, data)
			}
			return
		}
		if err := form.Validate(got, format.Options{}); err != nil {
			t.Errorf("Patch made % x of % x: %v", got, data, err)
		}
		s, err := form.Lookup(got, p)
		if err != nil || s.Kind == field.Text && !utf8.Valid(text) {
			t.Fatalf("Lookup after Patch: %+v, %v\n% x", s, err, got)
		}
		if v, err := form.Value(got, s, field.ByteString); err != nil || !bytes.Equal(v.Bytes, text) {
			t.Errorf("reads %q, %v, want %q", v.Bytes, err, text)
		}
		for _, read := range readers {
			read(t, got, s, p, text)
		}
	})
}
