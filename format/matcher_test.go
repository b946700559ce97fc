package format_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/y3"
)

func message(t testing.TB) []byte {
	t.Helper()
	b := y3.NewBuilder(y3.P)
	b.Node(0x01)
	b.String(0x10, "pump-1")
	b.Slice(0x11)
	b.Int32(y3.Item, 31)
	b.Float32(y3.Item, 2.5)
	b.End()
	b.Uint64(0x12, 1<<63)
	b.Bool(0x13, true)
	b.String(0x14, "1.5e+00")
	b.End()
	data, err := b.Message()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestMatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		predicate    string
		ok, mismatch bool
	}{
		{`string(0x01.0x10) == "pump-1" && int32(0x01.0x11.0) > 30`, true, false},
		{`string(0x01.0x10) == "pump-2" && int32(0x01.0x3f) > 30`, false, false},
		{`string(0x01.0x10) == "pump-1" && int32(0x01.0x3f) > 30`, false, true},
		{`int32(0x01.0x3f) > 30 || float32(0x01.0x11.1) == 2.5`, true, true},
		{`uint64(0x01.0x12) >= 9223372036854775808`, true, false},
		{`bool(0x01.0x13) == true && exists(0x01.0x11) && !exists(0x02)`, true, false},
		{`string(0x01.0x14) == 1.5`, true, false},
		{`0x01.0x11.0 > 30`, false, true},        // untyped bytes without a cast
		{`int32(0x01.0x10) > 30`, false, true},   // six bytes of text are not an int32
		{`int32(0x01) > 30`, false, true},        // a node is not an int32
		{`!(int32(0x01.0x3f) > 30)`, true, true}, // the negation of a mismatch is true
		{`exists(0x01.0x10.0x01)`, false, false}, // a primitive has no children
		{`prefix(string(0x01.0x10), "pump")`, true, false},
	}
	data := message(t)
	for _, test := range tests {
		t.Run(test.predicate, func(t *testing.T) {
			m := format.NewMatcher(y3.Format{}, field.MustParsePredicate(test.predicate))
			for range 2 { // the spans of the first run must not change the second result
				if ok, mismatch, err := m.Match(data); ok != test.ok || mismatch != test.mismatch || err != nil {
					t.Errorf("got %v, mismatch %v, %v, want %v, %v", ok, mismatch, err, test.ok, test.mismatch)
				}
				if ok, _, err := m.Match(data[:2]); ok || !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("cut short: got %v, %v, want false and io.ErrUnexpectedEOF", ok, err)
				}
			}
		})
	}
}

func TestMatchAllocates(t *testing.T) {
	data := message(t)
	m := format.NewMatcher(y3.Format{}, field.MustParsePredicate(`string(0x01.0x10) == "pump-1" && string(0x01.0x14) > 1 && int32(0x01.0x11.0) > 30`))
	got := testing.AllocsPerRun(100, func() {
		if ok, _, err := m.Match(data); !ok || err != nil {
			t.Errorf("got %v, %v", ok, err)
		}
	})
	if got != 0 {
		t.Errorf("Match allocates %v times, want 0", got)
	}
}

func ExampleMatcher() {
	b := y3.NewBuilder(y3.P)
	b.Int32(0x10, 31)
	b.String(0x11, "pump-1")
	message, err := b.Message()
	if err != nil {
		fmt.Println(err)
		return
	}
	p := field.MustParsePredicate(`string(0x11) == "pump-1" && int32(0x10) > 30`)
	ok, mismatch, err := format.NewMatcher(y3.Format{}, p).Match(message)
	fmt.Println(ok, mismatch, err)
	// Output: true false <nil>
}
