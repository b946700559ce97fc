package protobuf

import (
	"errors"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/schema"
)

// choice is a message with the fields a and b in one oneof, c in another, and n in none.
var choice = &schema.Message{Name: "Choice", Fields: []schema.Field{
	{Name: "a", Number: 1, Type: schema.Int32, Oneof: "kind"},
	{Name: "b", Number: 2, Type: schema.String, Oneof: "kind"},
	{Name: "c", Number: 3, Type: schema.Int32, Oneof: "other"},
	{Name: "n", Number: 4, Type: schema.Int32},
	{Name: "in", Number: 5, Type: schema.Nested},
}}

func init() { choice.Fields[4].Message = choice }

// TestValidateOneof refuses a message with two members of a oneof, because decoders read the last one and a predicate
// may test the first.
func TestValidateOneof(t *testing.T) {
	t.Parallel()
	f := Format{choice}
	for _, row := range []struct{ name, data, want string }{
		{"one member of each", "\x08\x01\x18\x01\x20\x01", ""},
		{"two members", "\x08\x01\x12\x01x", "field 2 (b) behind field 1 (a): both are members of the oneof kind, of which a message has one at offset 2"},
		{"two members the other way around, with others between", "\x12\x01x\x20\x01\x08\x01", "field 1 (a) behind field 2 (b)"},
		{"one member twice", "\x08\x01\x08\x02", "field 1 (a) stands twice"},
		{"two members in a message in the message", "\x2a\x05\x08\x01\x12\x01x", "field 2 (b) behind field 1 (a)"},
		{"a member inside and another outside", "\x08\x01\x2a\x03\x12\x01x", ""},
	} {
		err := f.Validate([]byte(row.data), format.Options{})
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: got %v, want %q", row.name, err, row.want)
		}
		if err := f.Validate([]byte(row.data), format.Options{BoundsOnly: true}); err != nil {
			t.Errorf("%s, bounds only: %v", row.name, err)
		}
	}
}

func TestInsertOneof(t *testing.T) {
	t.Parallel()
	var e format.Edit
	var mismatch *format.TypeError
	text := field.Value{Kind: field.Text, Bytes: []byte("x")}
	if err := (Format{choice}).Insert(&e, []byte("\x08\x01"), field.MustParse("b"), text); !errors.As(err, &mismatch) {
		t.Errorf("b beside a: got %v, want *format.TypeError", err)
	}
	if err := (Format{choice}).Insert(&e, []byte("\x18\x01"), field.MustParse("b"), text); err != nil {
		t.Errorf("b beside c: %v", err)
	}
}

// TestChangeRepeatedWithoutSchema expects an error for a field that occurs twice: the change would be made in the first
// record, and decoders read the last one.
func TestChangeRepeatedWithoutSchema(t *testing.T) {
	t.Parallel()
	two := field.Value{Kind: field.Int, Int: 2}
	known := Format{&schema.Message{Fields: []schema.Field{{Name: "n", Number: 9, Type: schema.Int32}}}}
	for _, row := range []struct {
		name, data, path string
		f                Format
		ok               bool
	}{
		{"once", "\x08\x01\x10\x01", "1", Format{}, true},
		{"twice", "\x08\x01\x08\x03", "1", Format{}, false},
		{"twice, with others between", "\x08\x01\x10\x07\x08\x03", "1", Format{}, false},
		{"in a message that is there twice", "\x0a\x02\x08\x01\x0a\x02\x08\x01", "1.1", Format{}, false},
		{"twice in a message", "\x0a\x04\x08\x01\x08\x01", "1.1", Format{}, false},
		{"another field twice", "\x10\x01\x08\x01\x10\x01", "1", Format{}, true},
		{"unknown to the schema", "\x08\x01\x08\x03", "1", known, false},
	} {
		data := []byte(row.data)
		var mismatch *format.TypeError
		out, err := row.f.Patch(nil, data, field.MustParse(row.path), two)
		if row.ok != (err == nil) || !row.ok && (!errors.As(err, &mismatch) || len(out) > 0) {
			t.Errorf("%s: Patch: got % x, %v", row.name, out, err)
		}
		if done, err := row.f.PatchInPlace(data, field.MustParse(row.path), two); row.ok != (err == nil) || done != row.ok || !row.ok && string(data) != row.data {
			t.Errorf("%s: PatchInPlace: got % x, %v, %v", row.name, data, done, err)
		}
	}
	// All records are deleted, but only in one message.
	var e format.Edit
	if err := (Format{}).Delete(&e, []byte("\x08\x01\x10\x07\x08\x03"), field.MustParse("1")); err != nil || string(e.AppendTo(nil)) != "\x10\x07" {
		t.Errorf("Delete: got % x, %v", e.AppendTo(nil), err)
	}
	if err := (Format{}).Delete(&e, []byte("\x0a\x02\x08\x01\x0a\x02\x08\x01"), field.MustParse("1.1")); err == nil {
		t.Error("Delete in one of two messages with the same number: no error")
	}
}
