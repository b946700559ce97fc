package msgpack

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/tinylib/msgp/msgp"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/formattest"
)

// TestPeer compares each vector with the result of another implementation.
func TestPeer(t *testing.T) {
	for _, data := range formattest.VectorInputs(t, "msgpack") {
		compareStructure(t, data)
		compareValues(t, data)
	}
}

// FuzzLookup checks the contract of package format for any bytes.
func FuzzLookup(f *testing.F) {
	for _, s := range formattest.VectorInputs(f, "msgpack") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) { formattest.Check(t, Format{}, data) })
}

// FuzzPeer compares item boundaries and values with another implementation.
func FuzzPeer(f *testing.F) {
	for _, s := range formattest.VectorInputs(f, "msgpack") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		compareStructure(t, data)
		compareValues(t, data)
	})
}

// peerSkip returns the bytes after the first item.
var peerSkip = msgp.Skip

func compareStructure(t *testing.T, data []byte) {
	rest, want := peerSkip(data)
	if want != nil {
		rest = data
	}
	s, err := Format{}.Lookup(data, field.Path{})
	if strconv.IntSize == 32 && want == nil && errors.Is(err, io.ErrUnexpectedEOF) {
		return // msgp reads a length of 2^31 or more as a negative int
	}
	if (err == nil) != (want == nil) || err == nil && s.End != len(data)-len(rest) {
		t.Errorf("Lookup of the whole: got %+v, %v, msgp leaves %d of %d bytes, %v\n% x", s, err, len(rest), len(data), want, data)
	}
	bounds := (Format{}).Validate(data, format.Options{MaxDepth: maxNesting, BoundsOnly: true, AllowTrailing: true})
	if deep := bounds != nil && strings.Contains(bounds.Error(), "nested deeper"); (bounds == nil) != (want == nil) && !deep {
		t.Errorf("BoundsOnly: got %v, msgp %v\n% x", bounds, want, data)
	}
	strict := (Format{}).Validate(data, format.Options{MaxDepth: maxNesting, AllowTrailing: true})
	if strict == nil && bounds != nil {
		t.Errorf("strict accepts what BoundsOnly refuses: %v\n% x", bounds, data)
	}
	if strict != nil && bounds == nil {
		for _, known := range []string{"UTF-8", "stands twice", "a map's key is", "a timestamp of"} {
			if strings.Contains(strict.Error(), known) {
				return
			}
		}
		t.Errorf("strict refuses for another reason than the documented ones: %v\n% x", strict, data)
	}
}

// compareValues walks valid data, and reads each scalar with msgp, too. For an extension it compares only the type and
// the length.
func compareValues(t *testing.T, data []byte) {
	if (Format{}).Validate(data, format.Options{}) != nil {
		return
	}
	err := Format{}.Walk(data, func(step field.Step, _ int, s field.Span) error {
		item := data[s.Head:s.End]
		if s.Kind == field.List || s.Kind == field.Map {
			return nil
		}
		if s.Kind == field.Extension {
			raw := msgp.RawExtension{Type: int8(data[s.Off-1])}
			if _, err := msgp.ReadExtensionBytes(item, &raw); err != nil || !bytes.Equal(raw.Data, data[s.Off:s.End]) {
				t.Errorf("%v: msgp reads the extension % x, %v, the span has % x", step, raw.Data, err, data[s.Off:s.End])
			}
			return nil
		}
		v, err := Format{}.Value(data, s, field.AnyType)
		want, _, peerErr := msgp.ReadIntfBytes(item)
		if err != nil || peerErr != nil || !same(v, want) {
			t.Errorf("%v: got %+v, %v, msgp reads %#v, %v\n% x", step, v, err, want, peerErr, item)
		}
		return nil
	})
	if err != nil {
		t.Errorf("Walk of valid data: %v\n% x", err, data)
	}
}

func same(v field.Value, want any) bool {
	switch want := want.(type) {
	case nil:
		return v.Kind == field.Null
	case bool:
		return v.Kind == field.Bool && v.Bool == want
	case int64:
		return v.Kind == field.Int && !v.Unsigned && v.Int == want
	case uint64:
		return v.Kind == field.Int && v.Unsigned == (want > math.MaxInt64) && uint64(v.Int) == want
	case float32:
		return v.Kind == field.Float && (v.Float == float64(want) || v.Float != v.Float && want != want)
	case float64:
		return v.Kind == field.Float && (v.Float == want || v.Float != v.Float && want != want)
	case string:
		return v.Kind == field.Text && string(v.Bytes) == want
	case []byte:
		return v.Kind == field.Bytes && bytes.Equal(v.Bytes, want)
	}
	return false
}

// FuzzPatch replaces values by texts at any path.
func FuzzPatch(f *testing.F) {
	formattest.FuzzPatches(f, Format{}, formattest.VectorInputs(f, "msgpack"))
}

// FuzzEdit inserts, deletes and replaces values at any path.
func FuzzEdit(f *testing.F) {
	formattest.FuzzEdits(f, Format{}, formattest.VectorInputs(f, "msgpack")...)
}
