package routes

import (
	"fmt"
	"testing"

	"example.com/ferry"
	"example.com/ferry/format"
	"example.com/ferry/format/json"
	"example.com/ferry/protocol/native"
)

// privateFormat is JSON under a name and a number that ferry does not define.
type privateFormat struct {
	json.Format
	number ferry.Type
}

func (f privateFormat) Name() string { return fmt.Sprintf("private-%d", f.number) }
func (f privateFormat) Descriptor() format.Descriptor {
	return format.Descriptor{Type: f.number}
}

// TestPredicatesReadPrivateFormats: predicates also match payloads in formats from outside this module.
func TestPredicatesReadPrivateFormats(t *testing.T) {
	t.Parallel()
	formats, err := format.NewByType([]format.Format{json.Format{}, privateFormat{number: 128}, privateFormat{number: 255}})
	if err != nil {
		t.Fatal(err)
	}
	above, err := ParsePredicate("value > 30")
	if err != nil {
		t.Fatal(err)
	}
	below, err := ParsePredicate("value < 30")
	if err != nil {
		t.Fatal(err)
	}
	m := NewMatchers(formats)
	for _, row := range []struct {
		payload      ferry.Type
		above, below bool
		odd          bool // no format reads the payload
	}{
		{ferry.JSON, true, false, false},
		{128, true, false, false},
		{255, true, false, false},
		{200, false, false, true},
		{ferry.CBOR, false, false, true},
		{128, true, false, false},
	} {
		frame := native.Frame(native.AppendPub(nil, native.PubHeader{Type: row.payload}, []byte(`{"value":31}`)))
		for _, each := range []struct {
			p    *Predicate
			want bool
		}{{above, row.above}, {below, row.below}} {
			if ok, odd := m.Match(each.p, frame.Type(), frame.Payload()); ok != each.want || odd != row.odd {
				t.Errorf("%v for type %v: got %v, odd %v, want %v, %v", each.p, row.payload, ok, odd, each.want, row.odd)
			}
		}
	}
}
