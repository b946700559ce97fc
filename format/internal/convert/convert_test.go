package convert

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

var (
	five     = field.Value{Kind: field.Int, Int: 5}
	fiveF    = field.Value{Kind: field.Float, Float: 5}
	half     = field.Value{Kind: field.Float, Float: 0.5}
	huge     = field.Value{Kind: field.Int, Int: -1, Unsigned: true}
	odd53    = field.Value{Kind: field.Int, Int: 1<<53 + 1}
	word     = field.Value{Kind: field.Text, Bytes: []byte("word")}
	octets   = field.Value{Kind: field.Bytes, Bytes: []byte("word")}
	notUTF8  = field.Value{Kind: field.Bytes, Bytes: []byte{0xff}}
	yes      = field.Value{Kind: field.Bool, Bool: true}
	null     = field.Value{Kind: field.Null}
	negative = field.Value{Kind: field.Int, Int: -1}
	badText  = field.Value{Kind: field.Text, Bytes: []byte{0xc3}}
)

func equalValues(a, b field.Value) bool {
	return a.Kind == b.Kind && a.Unsigned == b.Unsigned && a.Bool == b.Bool && a.Int == b.Int && a.Float == b.Float &&
		bytes.Equal(a.Bytes, b.Bytes)
}

func TestRead(t *testing.T) {
	refused := field.Value{}
	for _, row := range []struct {
		name string
		v    field.Value
		as   field.Type
		want field.Value
	}{
		{"as it is", word, field.AnyType, word},
		{"int32", five, field.Int32, five},
		{"whole float to int64", fiveF, field.Int64, five},
		{"fraction to int64", half, field.Int64, refused},
		{"2^64-1 to int64", huge, field.Int64, refused},
		{"2^64-1 to uint64", huge, field.Uint64, huge},
		{"2^64-1 to float64", huge, field.Float64, field.Value{Kind: field.Float, Float: math.MaxUint64}},
		{"2^63 as float to uint64", field.Value{Kind: field.Float, Float: 1 << 63}, field.Uint64, field.Value{Kind: field.Int, Int: math.MinInt64, Unsigned: true}},
		{"2^64 as float to uint64", field.Value{Kind: field.Float, Float: 1 << 64}, field.Uint64, refused},
		{"-1 to uint64", negative, field.Uint64, refused},
		{"-1 to uint32", negative, field.Uint32, refused},
		{"2^53+1 to int32", odd53, field.Int32, refused},
		{"0.1 to float32", field.Value{Kind: field.Float, Float: 0.1}, field.Float32, field.Value{Kind: field.Float, Float: float64(float32(0.1))}},
		{"bytes to string", octets, field.String, word},
		{"bytes that are no text to string", notUTF8, field.String, refused},
		{"string to bytes", word, field.ByteString, octets},
		{"number to string", five, field.String, refused},
		{"bool", yes, field.Boolean, yes},
		{"null to bool", null, field.Boolean, refused},
		{"no such type", five, field.Type(99), refused},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := Read("cbor", row.v, row.as)
			var mismatch *format.TypeError
			if !equalValues(got, row.want) || errors.As(err, &mismatch) != equalValues(row.want, refused) {
				t.Errorf("got %+v, %v, want %+v", got, err, row.want)
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	for _, row := range []struct {
		v    field.Value
		as   field.Type
		want string
	}{
		{word, field.Int32, "demo: cannot use text as int32: it is no number"},
		{half, field.Uint64, "demo: cannot use float as uint64: it has a fraction, or is out of range"},
		{negative, field.Uint32, "demo: cannot use integer as uint32: it is out of range"},
		{notUTF8, field.String, "demo: cannot use bytes as string: it is not UTF-8"},
		{five, field.ByteString, "demo: cannot use integer as bytes: it is of another kind"},
		{null, field.Boolean, "demo: cannot use null as bool: it is of another kind"},
	} {
		if _, err := Read("demo", row.v, row.as); err == nil || err.Error() != row.want {
			t.Errorf("got %v, want %s", err, row.want)
		}
	}
}

func TestReplace(t *testing.T) {
	refused := field.Value{}
	for _, row := range []struct {
		name string
		v    field.Value
		have field.Kind
		want field.Value
	}{
		{"int by int", five, field.Int, five},
		{"int by whole float", fiveF, field.Int, five},
		{"int by fraction", half, field.Int, refused},
		{"float by int", five, field.Float, fiveF},
		{"float by an int it would round", odd53, field.Float, refused},
		{"float by 2^64-1", huge, field.Float, refused},
		{"text by text", word, field.Text, word},
		{"text by text that is not UTF-8", badText, field.Text, refused},
		{"null by text that is not UTF-8", badText, field.Null, refused},
		{"text by bytes", octets, field.Text, word},
		{"text by number", five, field.Text, refused},
		{"bytes by text", word, field.Bytes, octets},
		{"bool by bool", yes, field.Bool, yes},
		{"bool by int", five, field.Bool, refused},
		{"null by anything", five, field.Null, five},
		{"text by null", null, field.Text, refused},
		{"list by anything", five, field.List, refused},
		{"null by no kind", field.Value{}, field.Null, refused},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := row.v
			err := Replace("json", &got, row.have)
			var mismatch *format.TypeError
			want := row.want
			if equalValues(want, refused) {
				want = row.v
			}
			if !equalValues(got, want) || errors.As(err, &mismatch) != equalValues(row.want, refused) {
				t.Errorf("got %+v, %v, want %+v", got, err, row.want)
			}
		})
	}
}
