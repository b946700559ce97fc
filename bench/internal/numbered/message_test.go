package numbered

import (
	"bytes"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
)

func TestMessage(t *testing.T) {
	for _, size := range []int{100, 256, 1 << 10, 64 << 10} {
		m, err := New(size, 100)
		if err != nil {
			t.Fatal(err)
		}
		m.Set(7, 42)
		if len(m.Bytes) != size {
			t.Errorf("got %d bytes, want %d", len(m.Bytes), size)
		}
		if err := (cbor.Format{}).Validate(m.Bytes, format.Options{}); err != nil {
			t.Errorf("%d bytes: not a CBOR event: %v", size, err)
		}
		if seq, err := m.Number(m.Bytes); seq != 7 || err != nil {
			t.Errorf("%d bytes: got number %d, %v", size, seq, err)
		}
		good := bytes.Clone(m.Bytes)
		if sent, err := m.Read(good, 7); sent != 42 || err != nil {
			t.Errorf("%d bytes: got time %d, %v, want 42", size, sent, err)
		}
		for what, bad := range map[string][]byte{
			"message 7 came where 8 was due": good,
			"other bytes":                    append(bytes.Clone(good[:size-1]), 0),
			"want ":                          good[:size-1],
		} {
			seq := uint64(7)
			if strings.HasSuffix(what, "due") {
				seq = 8
			}
			if _, err := m.Read(bad, seq); err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%d bytes: got %v, want an error with %q", size, err, what)
			}
		}
	}
}

// TestRare: the predicate takes each hundredth message.
func TestRare(t *testing.T) {
	m, err := New(256, 100)
	if err != nil {
		t.Fatal(err)
	}
	where, err := field.ParsePredicate(Where)
	if err != nil {
		t.Fatal(err)
	}
	matcher := format.NewMatcher(cbor.Format{}, where)
	for seq := range uint64(1000) {
		m.Set(seq, 0)
		if got, _, err := matcher.Match(m.Bytes); err != nil || got != (seq%100 == 0) || got != m.Rare(seq) {
			t.Fatalf("message %d: got %v, %v", seq, got, err)
		}
	}
}
