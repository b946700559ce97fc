package format_test

import (
	"os"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/y3"
)

// BenchmarkMatch applies a predicate over two fields to an EdgeX event in CBOR, as the node does.
func BenchmarkMatch(b *testing.B) {
	data, err := os.ReadFile("testdata/event.cbor")
	if err != nil {
		b.Fatal(err)
	}
	tests := []struct {
		name, predicate string
		ok              bool
	}{
		{"hit", `deviceName == "pump-1" && readings.0.value > 30`, true},
		{"miss", `deviceName == "pump-2" && readings.0.value > 30`, false},
	}
	for _, test := range tests {
		p := field.MustParsePredicate(test.predicate)
		m := format.NewMatcher(cbor.Format{}, p)
		if ok, mismatch, err := m.Match(data); ok != test.ok || mismatch || err != nil {
			b.Fatalf("%s: got %v, mismatch %v, %v, want %v", p, ok, mismatch, err, test.ok)
		}
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				_, _, _ = m.Match(data)
			}
		})
		b.Run(test.name+"/find", func(b *testing.B) {
			spans := make([]field.Span, p.Set().Len())
			for b.Loop() {
				_ = cbor.Format{}.Find(data, p.Set(), spans)
			}
		})
	}
}

// BenchmarkMatchY3 measures Match and Find on the same Y3 message. The difference is the cost of the Matcher itself.
func BenchmarkMatchY3(b *testing.B) {
	data := message(b)
	p := field.MustParsePredicate(`string(0x01.0x10) == "pump-1" && int32(0x01.0x11.0) > 30`)
	m := format.NewMatcher(y3.Format{}, p)
	b.Run("match", func(b *testing.B) {
		for b.Loop() {
			_, _, _ = m.Match(data)
		}
	})
	b.Run("find", func(b *testing.B) {
		var f format.Format = y3.Format{}
		spans := make([]field.Span, p.Set().Len())
		for b.Loop() {
			_ = f.Find(data, p.Set(), spans)
		}
	})
}
