package protobuf

import (
	"errors"
	"math"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/schema"
)

// TestUntyped reads fields without a schema, as the type that the caller requests.
func TestUntyped(t *testing.T) {
	rows := []struct {
		name, data string
		as         field.Type
		want       string
	}{
		{"varint", "\x08\x96\x01", field.AnyType, "untyped bytes 96 01"},
		{"int32", "\x08\x96\x01", field.Int32, "integer 150"},
		{"int32 -2 in ten bytes", "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", field.Int32, "integer -2"},
		{"int32 -2 in five", "\x08\xfe\xff\xff\xff\x0f", field.Int32, "integer -2"},
		{"uint32 of ten bytes", "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", field.Uint32, "integer 4294967294"},
		{"int64 -2", "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", field.Int64, "integer -2"},
		{"uint64 2^64-2", "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", field.Uint64, "integer 18446744073709551614"},
		{"bool", "\x08\x01", field.Boolean, "bool true"},
		{"bool of another number than 1", "\x08\x02", field.Boolean, "bool true"},
		{"four bytes as float", "\x0d\x00\x00\xc0\x3f", field.Float32, "float 1.5"},
		{"four bytes as int32", "\x0d\xff\xff\xff\xff", field.Int32, "integer -1"},
		{"four bytes as uint32", "\x0d\xff\xff\xff\xff", field.Uint32, "integer 4294967295"},
		{"eight bytes as double", "\x09\x00\x00\x00\x00\x00\x00\xf8\x3f", field.Float64, "float 1.5"},
		{"eight bytes as int64", "\x09\xff\xff\xff\xff\xff\xff\xff\xff", field.Int64, "integer -1"},
		{"eight bytes as uint64", "\x09\xff\xff\xff\xff\xff\xff\xff\xff", field.Uint64, "integer 18446744073709551615"},
		{"text", "\x0a\x02\xc3\xa9", field.String, "text é"},
		{"bytes", "\x0a\x02\xc3\xa9", field.ByteString, "bytes c3 a9"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s, err := Format{}.Lookup([]byte(row.data), field.MustParse("1"))
			if err != nil {
				t.Fatal(err)
			}
			if got := read(Format{}, []byte(row.data), s, row.as); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// TestWrongType requests types that the bytes of a field cannot have.
func TestWrongType(t *testing.T) {
	rows := map[string]struct {
		data string
		as   field.Type
	}{
		"33 bits as int32":         {"\x08\x80\x80\x80\x80\x10", field.Int32},
		"33 bits as uint32":        {"\x08\x80\x80\x80\x80\x10", field.Uint32},
		"a varint as float":        {"\x08\x01", field.Float64},
		"a varint as text":         {"\x08\x01", field.String},
		"four bytes as int64":      {"\x0d\x00\x00\xc0\x3f", field.Int64},
		"four bytes as float64":    {"\x0d\x00\x00\xc0\x3f", field.Float64},
		"eight bytes as int32":     {"\x09\x00\x00\x00\x00\x00\x00\xf8\x3f", field.Int32},
		"text as int32":            {"\x0a\x01a", field.Int32},
		"text that is not UTF-8":   {"\x0a\x01\xff", field.String},
		"a type that is not there": {"\x08\x01", field.ByteString + 1},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			s, err := Format{}.Lookup([]byte(row.data), field.MustParse("1"))
			if err != nil {
				t.Fatal(err)
			}
			var mismatch *format.TypeError
			if v, err := (Format{}).Value([]byte(row.data), s, row.as); !errors.As(err, &mismatch) {
				t.Errorf("got %+v, %v, want *format.TypeError", v, err)
			}
		})
	}
}

// TestForeignSpan calls Value with spans that Lookup did not return.
func TestForeignSpan(t *testing.T) {
	data := []byte("\x08\x01")
	for _, s := range []field.Span{
		{Head: 0, Off: 1, End: 9, Kind: field.Untyped},
		{Head: -1, Off: 0, End: 1, Kind: field.Untyped},
		{Head: 1, Off: 1, End: 2, Kind: field.Untyped},
		{Head: 0, Off: 1, End: 2, Kind: field.Int},
		{Head: 0, Off: 1, End: 2, Kind: field.Float},
	} {
		if v, err := (Format{}).Value(data, s, field.AnyType); err == nil {
			t.Errorf("Value at %+v: got %+v", s, v)
		}
	}
	if text, ok := (Format{}).View(data, field.Span{Off: 1, End: 9, Kind: field.Text}); ok {
		t.Errorf("View behind the end: got %q", text)
	}
}

// TestPatchUntyped checks that a patch without a schema keeps the wire type of the old value.
func TestPatchUntyped(t *testing.T) {
	varint, four, eight, text := "\x08\x01", "\x0d\x00\x00\x00\x00", "\x09\x00\x00\x00\x00\x00\x00\x00\x00", "\x0a\x01a"
	i := func(n int64) field.Value { return field.Value{Kind: field.Int, Int: n} }
	f := func(x float64) field.Value { return field.Value{Kind: field.Float, Float: x} }
	rows := []struct {
		name, data string
		v          field.Value
		want       string // empty for a *format.TypeError
	}{
		{"150", varint, i(150), "\x08\x96\x01"},
		{"-2", varint, i(-2), "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
		{"2^64-1", varint, field.Value{Kind: field.Int, Int: -1, Unsigned: true}, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
		{"a bool", varint, field.Value{Kind: field.Bool}, "\x08\x00"},
		{"a float in a varint", varint, f(1), ""},
		{"two varints", varint, field.Value{Kind: field.Untyped, Bytes: []byte{1, 1}}, ""},
		{"-1 in four bytes", four, i(-1), "\x0d\xff\xff\xff\xff"},
		{"2^32-1 in four bytes", four, i(math.MaxUint32), "\x0d\xff\xff\xff\xff"},
		{"2^32 in four bytes", four, i(math.MaxUint32 + 1), ""},
		{"1.5 in four bytes", four, f(1.5), "\x0d\x00\x00\xc0\x3f"},
		{"0.1 in four bytes, not cast", four, f(0.1), ""},
		{"0.1 in four bytes, cast", four, f(float64(float32(0.1))), "\x0d\xcd\xcc\xcc\x3d"},
		{"three bytes for four", four, field.Value{Kind: field.Untyped, Bytes: []byte{1, 2, 3}}, ""},
		{"0.1 in eight bytes", eight, f(0.1), "\x09\x9a\x99\x99\x99\x99\x99\xb9\x3f"},
		{"a text in eight bytes", eight, field.Value{Kind: field.Text, Bytes: []byte("eight   ")}, ""},
		{"a text", text, field.Value{Kind: field.Text, Bytes: []byte("bc")}, "\x0a\x02bc"},
		{"a number in a text", text, i(1), ""},
		{"a message in a text", text, field.Value{Kind: field.Map, Bytes: []byte("\x08\x01")}, "\x0a\x02\x08\x01"},
		{"a list", text, field.Value{Kind: field.List}, ""},
		{"a value in a group", "\x0b\x08\x01\x0c", i(1), ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got, err := Format{}.Patch(nil, []byte(row.data), field.MustParse("1"), row.v)
			var mismatch *format.TypeError
			if row.want == "" && !errors.As(err, &mismatch) || row.want != "" && (err != nil || string(got) != row.want) {
				t.Errorf("got % x, %v, want % x", got, err, row.want)
			}
		})
	}
}

func TestCast(t *testing.T) {
	if v, err := (Format{}).Cast(field.Value{Kind: field.Float, Float: 0.1}, field.Float32); err != nil || v.Float != float64(float32(0.1)) {
		t.Errorf("0.1 as float32: got %+v, %v", v, err)
	}
	var mismatch *format.TypeError
	if v, err := (Format{}).Cast(field.Value{Kind: field.Int, Int: -1}, field.Uint32); !errors.As(err, &mismatch) {
		t.Errorf("-1 as uint32: got %+v, %v, want *format.TypeError", v, err)
	}
}

// TestInsertWithSchema inserts the first item of a list. It also expects errors for values without a place.
func TestInsertWithSchema(t *testing.T) {
	f := Format{pump}
	one := field.Value{Kind: field.Int, Int: 1}
	rows := []struct {
		name, data, path string
		v                field.Value
		want             string
		err              error
	}{
		{"the first item", "", "sint32_list.0", one, "\xf8\x06\x02", nil},
		{"the first item within", "\x52\x00", "message.sint32_list.0", one, "\x52\x03\xf8\x06\x02", nil},
		{"the second where there is none", "", "sint32_list.1", one, "", field.ErrNotFound},
		{"into a message that is not there", "", "message.int32", one, "", field.ErrNotFound},
		{"behind packed values", "\xc2\x06\x01\x07", "int32_list.1", one, "\xc2\x06\x02\x07\x01", nil},
		{"before packed values", "\xc2\x06\x01\x07", "int32_list.0", one, "\xc2\x06\x02\x01\x07", nil},
		{"a field that is there", "\x20\x07", "int32", one, "", format.ErrExists},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var e format.Edit
			err := f.Insert(&e, []byte(row.data), field.MustParse(row.path), row.v)
			if !errors.Is(err, row.err) || err == nil && string(e.AppendTo(nil)) != row.want {
				t.Errorf("got % x, %v, want % x, %v", e.AppendTo(nil), err, row.want, row.err)
			}
		})
	}
	var mismatch *format.TypeError
	for _, path := range []string{"sint32_list", "volume", "0", "string"} {
		var e format.Edit
		if err := f.Insert(&e, nil, field.MustParse(path), one); !errors.As(err, &mismatch) {
			t.Errorf("Insert(%q) of an integer: got %v, want *format.TypeError", path, err)
		}
	}
}

// TestDepth checks the nesting limits of Validate and Walk. It uses a recursive schema.
func TestDepth(t *testing.T) {
	nest := func(n int) []byte {
		var data []byte
		for range n {
			record := appendTag(nil, 1+int(schema.Nested), wireLength)
			data = append(appendInt(record, wireVarint, int64(len(data))), data...)
		}
		return data
	}
	rows := []struct {
		nested, max int
		ok          bool
	}{{31, 0, true}, {32, 0, false}, {1, 2, true}, {2, 2, false}, {255, 1000, true}, {256, 1000, false}}
	for _, row := range rows {
		if err := (Format{pump}).Validate(nest(row.nested), format.Options{MaxDepth: row.max}); (err == nil) != row.ok {
			t.Errorf("%d messages within, MaxDepth %d: got %v, want ok %v", row.nested, row.max, err, row.ok)
		}
	}
	if err := (Format{pump}).Walk(nest(2000), func(field.Step, int, field.Span) error { return nil }); err == nil {
		t.Error("Walk of 2000 messages in each other gave no error")
	}
	groups := make([]byte, 0, 2000)
	for range 1000 {
		groups = append(groups, 0x0b)
	}
	for range 1000 {
		groups = append(groups, 0x0c)
	}
	if err := (Format{}).Validate(groups, format.Options{BoundsOnly: true}); err == nil {
		t.Error("1000 groups in each other were accepted")
	}
}
