package bson

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

var instant = time.Date(2026, 11, 20, 13, 0, 0, 500e6, time.UTC)

// everyType returns a document with one element of each type. The MongoDB driver encodes the document.
func everyType(t testing.TB) []byte {
	t.Helper()
	data, err := bson.Marshal(bson.D{
		{Key: "double", Value: 0.25},
		{Key: "string", Value: "pump-1"},
		{Key: "document", Value: bson.D{{Key: "list", Value: bson.A{int32(7), bson.D{{Key: "deep", Value: "x"}}}}}},
		{Key: "binary", Value: []byte{1, 2, 3}},
		{Key: "old", Value: bson.Binary{Subtype: 2, Data: []byte{4, 5}}},
		{Key: "uuid", Value: bson.Binary{Subtype: 4, Data: make([]byte, 16)}},
		{Key: "undefined", Value: bson.Undefined{}},
		{Key: "id", Value: bson.ObjectID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{Key: "bool", Value: true},
		{Key: "datetime", Value: bson.NewDateTimeFromTime(instant)},
		{Key: "null", Value: nil},
		{Key: "regex", Value: bson.Regex{Pattern: "^a", Options: "i"}},
		{Key: "pointer", Value: bson.DBPointer{DB: "db", Pointer: bson.ObjectID{9}}},
		{Key: "code", Value: bson.JavaScript("f()")},
		{Key: "symbol", Value: bson.Symbol("sym")},
		{Key: "scope", Value: bson.CodeWithScope{Code: "g()", Scope: bson.D{{Key: "x", Value: int32(1)}}}},
		{Key: "int32", Value: int32(-5)},
		{Key: "timestamp", Value: bson.Timestamp{T: 2, I: 1}},
		{Key: "int64", Value: int64(math.MinInt64)},
		{Key: "decimal", Value: bson.NewDecimal128(1, 2)},
		{Key: "max", Value: bson.MaxKey{}},
		{Key: "min", Value: bson.MinKey{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestValue(t *testing.T) {
	data := everyType(t)
	if err := (Format{}).Validate(data, format.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		path string
		as   field.Type
		kind field.Kind // expected kind of the span
		want string     // expected value as text; empty if the error must be a *format.TypeError
	}{
		{"double", field.AnyType, field.Float, "0.25"},
		{"string", field.AnyType, field.Text, "pump-1"},
		{"document", field.AnyType, field.Map, ""},
		{"document.list", field.AnyType, field.List, ""},
		{"document.list.0", field.AnyType, field.Int, "7"},
		{"document.list.1.deep", field.AnyType, field.Text, "x"},
		{"binary", field.AnyType, field.Bytes, "\x01\x02\x03"},
		{"old", field.AnyType, field.Bytes, "\x04\x05"},
		{"uuid", field.AnyType, field.Bytes, strings.Repeat("\x00", 16)},
		{"undefined", field.AnyType, field.Null, "null"},
		{"id", field.AnyType, field.Extension, ""},
		{"id", field.ByteString, field.Extension, "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c"},
		{"bool", field.AnyType, field.Bool, "true"},
		{"datetime", field.AnyType, field.Int, fmt.Sprint(instant.UnixMilli())},
		{"null", field.AnyType, field.Null, "null"},
		{"regex", field.ByteString, field.Extension, "^a\x00i\x00"},
		{"pointer", field.ByteString, field.Extension, "\x03\x00\x00\x00db\x00\x09" + strings.Repeat("\x00", 11)},
		{"code", field.AnyType, field.Text, "f()"},
		{"symbol", field.AnyType, field.Text, "sym"},
		{"scope", field.AnyType, field.Extension, ""},
		{"int32", field.AnyType, field.Int, "-5"},
		{"int32", field.Uint32, field.Int, ""},
		{"int32", field.Float64, field.Int, "-5"},
		{"timestamp", field.ByteString, field.Extension, "\x01\x00\x00\x00\x02\x00\x00\x00"},
		{"int64", field.AnyType, field.Int, "-9223372036854775808"},
		{"decimal", field.String, field.Extension, ""},
		{"decimal", field.ByteString, field.Extension, "\x02\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"},
		{"max", field.ByteString, field.Extension, ""},
		{"", field.AnyType, field.Map, ""},
	} {
		t.Run(row.path+" as "+row.as.String(), func(t *testing.T) {
			s, err := Format{}.Lookup(data, field.MustParse(row.path))
			if err != nil || s.Kind != row.kind {
				t.Fatalf("got %+v, %v, want a span of kind %v", s, err, row.kind)
			}
			v, err := Format{}.Value(data, s, row.as)
			var mismatch *format.TypeError
			if refused := row.want == "" && row.path != "max"; refused != errors.As(err, &mismatch) {
				t.Fatalf("got %+v, %v, want %q", v, err, row.want)
			} else if got := text(v); !refused && got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func text(v field.Value) string {
	switch v.Kind {
	case field.Null:
		return "null"
	case field.Bool:
		return fmt.Sprint(v.Bool)
	case field.Int:
		return fmt.Sprint(v.Int)
	case field.Float:
		return fmt.Sprint(v.Float)
	}
	return string(v.Bytes)
}

// TestPatchAsDriver patches elements and compares each with the driver's encoding of the new value.
func TestPatchAsDriver(t *testing.T) {
	doc := func(v any) []byte {
		data, err := bson.Marshal(bson.D{{Key: "a", Value: bson.A{"first", bson.D{{Key: "b", Value: v}}}}, {Key: "z", Value: true}})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	word := field.Value{Kind: field.Text, Bytes: []byte("a longer one")}
	octets := field.Value{Kind: field.Bytes, Bytes: []byte("octets")}
	seven := field.Value{Kind: field.Int, Int: 7}
	large := field.Value{Kind: field.Int, Int: 1 << 40}
	for _, row := range []struct {
		name string
		old  any
		v    field.Value
		want any // nil if Patch must fail
	}{
		{"string", "x", word, "a longer one"},
		{"shorter string", "a very long string", word, "a longer one"},
		{"code stays code", bson.JavaScript("f()"), word, bson.JavaScript("a longer one")},
		{"symbol stays one", bson.Symbol("s"), word, bson.Symbol("a longer one")},
		{"binary keeps its subtype", bson.Binary{Subtype: 0x80, Data: []byte{1}}, octets, bson.Binary{Subtype: 0x80, Data: []byte("octets")}},
		{"old binary", bson.Binary{Subtype: 2, Data: []byte{1}}, octets, bson.Binary{Subtype: 2, Data: []byte("octets")}},
		{"int32", int32(1), seven, int32(7)},
		{"int32 out of range", int32(1), large, nil},
		{"int64 stays one", int64(1), seven, int64(7)},
		{"int64 above its range", int64(1), field.Value{Kind: field.Int, Int: -1, Unsigned: true}, nil},
		{"datetime", bson.DateTime(1), seven, bson.DateTime(7)},
		{"double by integer", 0.5, seven, 7.0},
		{"bool", true, field.Value{Kind: field.Bool}, false},
		{"null by null", nil, field.Value{Kind: field.Null}, bson.Null{}},
		{"null by bool", nil, field.Value{Kind: field.Bool, Bool: true}, true},
		{"null by int32", nil, seven, int32(7)},
		{"null by int64", nil, large, int64(1 << 40)},
		{"null by double", nil, field.Value{Kind: field.Float, Float: 0.5}, 0.5},
		{"null by string", nil, word, "a longer one"},
		{"undefined by bytes", bson.Undefined{}, octets, []byte("octets")},
		{"ObjectID", bson.ObjectID{1}, octets, nil},
		{"timestamp", bson.Timestamp{T: 1}, seven, nil},
		{"document", bson.D{}, seven, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			data, p := doc(row.old), field.MustParse("a.1.b")
			got, err := Format{}.Patch([]byte("dst"), data, p, row.v)
			if row.want == nil {
				var mismatch *format.TypeError
				if !errors.As(err, &mismatch) || string(got) != "dst" {
					t.Errorf("got % x, %v, want dst as it was and *format.TypeError", got, err)
				}
				return
			}
			want := doc(row.want)
			if err != nil || !bytes.Equal(got, append([]byte("dst"), want...)) {
				t.Errorf("got % x, %v, want % x", got, err, want)
			}
			same := bytes.Clone(data)
			ok, err := Format{}.PatchInPlace(same, p, row.v)
			if ok && !bytes.Equal(same, want) || !ok && !bytes.Equal(same, data) || err != nil || ok != (len(want) == len(data)) {
				t.Errorf("in place: got %v, %v and % x, want % x", ok, err, same, want)
			}
		})
	}
}

func TestPatchAbove2GiB(t *testing.T) {
	data := []byte("\x00\x00\x00\x00\x02a\x00\x01\x00\x00\x00\x00\x00")
	binary.LittleEndian.PutUint32(data, math.MaxInt32-16)
	var mismatch *format.TypeError
	got, err := Format{}.Patch(nil, data, field.MustParse("a"), field.Value{Kind: field.Text, Bytes: make([]byte, 17)})
	if !errors.As(err, &mismatch) || got != nil || !strings.Contains(err.Error(), "2 GiB") {
		t.Errorf("got % x, %v, want *format.TypeError that names 2 GiB", got, err)
	}
}

// TestLookupInPart finds values in messages whose last bytes are missing.
func TestLookupInPart(t *testing.T) {
	data := everyType(t)
	p := field.MustParse("document.list.1.deep")
	want, err := Format{}.Lookup(data, p)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := (Format{}).Lookup(data[:want.End+1], p); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestFindTooFewSpans(t *testing.T) {
	set, err := field.NewSet(field.MustParse("a"), field.MustParse("b"))
	if err != nil {
		t.Fatal(err)
	}
	if err := (Format{}).Find([]byte("\x05\x00\x00\x00\x00"), set, make([]field.Span, 1)); err == nil {
		t.Error("room for one span was enough for two paths")
	}
}

func TestForeignSpan(t *testing.T) {
	data := everyType(t)
	for _, s := range []field.Span{
		{Head: -1, Off: 0, End: 1},
		{Head: 4, Off: 3, End: 9},
		{Head: 4, Off: 12, End: len(data) + 1},
		{Head: len(data), Off: len(data), End: len(data)},
		{Head: 4, Off: 12, End: 13}, // a double cannot have one byte
	} {
		if v, err := (Format{}).Value(data, s, field.AnyType); !errors.Is(err, errForeignSpan) {
			t.Errorf("%+v: got %+v, %v, want %v", s, v, err, errForeignSpan)
		}
		if text, ok := (Format{}).View(data, s); ok {
			t.Errorf("%+v: got the text %q", s, text)
		}
	}
}

func TestManyKeys(t *testing.T) {
	var d bson.D
	for i := range 5000 {
		d = append(d, bson.E{Key: fmt.Sprint("key", i), Value: int32(i)})
	}
	data, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if err := (Format{}).Validate(data, format.Options{}); err != nil {
		t.Errorf("keys that differ: %v", err)
	}
	if data, err = bson.Marshal(append(d, bson.E{Key: "KEY17"})); err != nil {
		t.Fatal(err)
	}
	if err := (Format{}).Validate(data, format.Options{}); err != nil {
		t.Errorf("keys that differ in case: %v", err)
	}
	if err := (Format{}).Validate(data, format.Options{FoldKeys: true}); err == nil || !strings.Contains(err.Error(), `"KEY17" stands twice`) {
		t.Errorf("folded: got %v, want KEY17 refused", err)
	}
	if data, err = bson.Marshal(append(d, bson.E{Key: "key17"})); err != nil {
		t.Fatal(err)
	}
	if err := (Format{}).Validate(data, format.Options{}); err == nil || !strings.Contains(err.Error(), `"key17" stands twice`) {
		t.Errorf("got %v, want key17 refused", err)
	}
	if err := (Format{}).Validate(data, format.Options{BoundsOnly: true}); err != nil {
		t.Errorf("BoundsOnly: %v", err)
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ levels, max int }{{32, 0}, {5, 5}, {256, 1000}} {
		for _, typ := range []byte{typeDocument, typeArray} {
			for extra, ok := range []bool{true, false} {
				nested := []byte{5, 0, 0, 0, 0}
				for range row.levels - 1 + extra {
					nested = closeDocument(append([]byte{0, 0, 0, 0, typ, '0', 0}, nested...), 0)
				}
				if err := (Format{}).Validate(nested, format.Options{MaxDepth: row.max}); (err == nil) != ok {
					t.Errorf("%d levels of type %d, MaxDepth %d: got %v, want ok %v", row.levels+extra, typ, row.max, err, ok)
				}
			}
		}
	}
}
