package cbor

import (
	"fmt"
	"math"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/internal/cborhead"
)

// sevenKinds returns a map of n pairs. The keys are integers from 1, the values have seven kinds in turn.
func sevenKinds(t testing.TB, n int, textKeys bool) []byte {
	t.Helper()
	values := []any{"a", -65, 128, -1, uint64(math.MaxUint64), 0.25, 23}
	doc := cborhead.Append(nil, cborhead.Map, uint64(n))
	for i := range n {
		var key any = i + 1
		if textKeys {
			key = fmt.Sprint("k", i+1)
		}
		for _, x := range []any{key, values[i%7]} {
			b, err := cbor.Marshal(x)
			if err != nil {
				t.Fatal(err)
			}
			doc = append(doc, b...)
		}
	}
	return doc
}

func BenchmarkLookup(b *testing.B) {
	for _, row := range []struct {
		name string
		text bool
		path string
	}{{"text63-32", true, "k32"}, {"text63-absent", true, "k64"}, {"int63-32", false, "32"}, {"int63-absent", false, "64"}} {
		doc, p := sevenKinds(b, 63, row.text), field.MustParse(row.path)
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Format{}.Lookup(doc, p)
			}
		})
	}
	doc := sevenKinds(b, 63, false)
	b.Run("int63-32-limit", func(b *testing.B) {
		for b.Loop() {
			if start, _ := limitScan(doc, 32); start == 0 {
				b.Fatal("not found")
			}
		}
	})
}

func BenchmarkEvent(b *testing.B) {
	doc := edgexEvents(b)["event_simple"]
	two, err := field.NewSet(field.MustParse("deviceName"), field.MustParse("readings.0.value"))
	if err != nil {
		b.Fatal(err)
	}
	spans := make([]field.Span, two.Len())
	b.Run("Find", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := (Format{}).Find(doc, two, spans); err != nil || !spans[1].Found() {
				b.Fatal(err)
			}
		}
	})
	b.Run("Validate", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(doc)))
		for b.Loop() {
			if err := (Format{}).Validate(doc, format.Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Validate/fold", func(b *testing.B) {
		for b.Loop() {
			if err := (Format{}).Validate(doc, format.Options{FoldKeys: true}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Validate/bounds", func(b *testing.B) {
		for b.Loop() {
			if err := (Format{}).Validate(doc, format.Options{BoundsOnly: true}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Wellformed/fxamacker", func(b *testing.B) {
		for b.Loop() {
			if err := cbor.Wellformed(doc); err != nil {
				b.Fatal(err)
			}
		}
	})
	id, path := field.Value{Kind: field.Text, Bytes: []byte("00000000-2810-419a-8744-18eb8fad3465")}, field.MustParse("id")
	for _, size := range []int{0, 1 << 20} {
		big := append(append([]byte{}, doc...), make([]byte, size)...)
		b.Run(fmt.Sprintf("PatchInPlace/%d", len(big)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if ok, err := (Format{}).PatchInPlace(big, path, id); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}

// limitScan does the least work with which a scan can find an integer key, as a lower limit for benchmarks. It assumes
// integer keys and scalar values, and checks only bounds.
func limitScan(data []byte, want int) (start, end int) {
	pos := 2 // the map's head
	for pos < len(data) {
		key := int(data[pos])
		pos++
		if key == 24 {
			if pos >= len(data) {
				return 0, 0
			}
			key = int(data[pos])
			pos++
		}
		if pos >= len(data) {
			return 0, 0
		}
		size := 0
		switch b := data[pos]; {
		case b>>5 == cborhead.Text:
			size = 1 + int(b&31)
		case b&31 < 24:
			size = 1
		default:
			size = 1 + 1<<(b&31-24)
		}
		if key == want {
			return pos, pos + size
		}
		pos += size
	}
	return 0, 0
}

// BenchmarkValidator validates an event of a known shape, and events that have no common shape.
func BenchmarkValidator(b *testing.B) {
	doc := edgexEvents(b)["event_simple"]
	other := append([]byte{}, doc...)
	for _, row := range []struct {
		name string
		docs [][]byte
	}{{"one shape", [][]byte{doc}}, {"none", [][]byte{doc, other}}} {
		v := format.NewValidator(Format{}, format.Options{})
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				d := row.docs[i%len(row.docs)]
				if len(row.docs) > 1 {
					d[3] = 'a' + byte(i%23) // in a key
				}
				if err := v.Validate(d, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
