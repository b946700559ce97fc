package bson

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// sevenKinds returns a document of n elements. The values have seven kinds in turn; BSON's closest type stands for a
// kind that BSON does not have.
func sevenKinds(t testing.TB, n int) []byte {
	t.Helper()
	values := []any{"a", int32(-65), int32(128), int32(-1), int64(math.MaxInt64), 0.25, 23.0}
	var d bson.D
	for i := range n {
		d = append(d, bson.E{Key: fmt.Sprint("k", i+1), Value: values[i%7]})
	}
	data, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// limitScan does the least work with which a scan can find a key, as a lower limit for benchmarks. It assumes that all
// values are texts or numbers, and checks only bounds.
func limitScan(data []byte, name string) (start, end int) {
	for pos := 4; uint(pos) < uint(len(data)); {
		typ := data[pos]
		key := pos + 1
		for pos = key; uint(pos) < uint(len(data)) && data[pos] != 0; {
			pos++
		}
		found := string(data[key:pos]) == name
		pos++
		size := 8
		switch typ {
		case typeInt32:
			size = 4
		case typeString:
			if uint(pos) >= uint(len(data)-4) {
				return 0, 0
			}
			size = 4 + int(binary.LittleEndian.Uint32(data[pos:]))
		}
		if found {
			return pos, pos + size
		}
		pos += size
	}
	return 0, 0
}

func TestLimitScan(t *testing.T) {
	doc := sevenKinds(t, 63)
	s, err := Format{}.Lookup(doc, field.MustParse("k32"))
	if start, end := limitScan(doc, "k32"); err != nil || start != s.Off || end != s.End {
		t.Errorf("got %d, %d, want %+v, %v", start, end, s, err)
	}
}

func BenchmarkLookup(b *testing.B) {
	doc := sevenKinds(b, 63)
	for _, name := range []string{"k32", "k64"} {
		p := field.MustParse(name)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Format{}.Lookup(doc, p)
			}
		})
		b.Run(name+"-limit", func(b *testing.B) {
			for b.Loop() {
				_, _ = limitScan(doc, name)
			}
		})
		b.Run(name+"-driver", func(b *testing.B) {
			for b.Loop() {
				_, _ = bson.Raw(doc).LookupErr(name)
			}
		})
	}
}

func BenchmarkFind(b *testing.B) {
	doc := everyType(b)
	two, err := field.NewSet(field.MustParse("string"), field.MustParse("document.list.1.deep"))
	if err != nil {
		b.Fatal(err)
	}
	spans := make([]field.Span, two.Len())
	b.ReportAllocs()
	for b.Loop() {
		if err := (Format{}).Find(doc, two, spans); err != nil || !spans[1].Found() {
			b.Fatal(err)
		}
	}
}

func BenchmarkPatchInPlace(b *testing.B) {
	doc, p := everyType(b), field.MustParse("document.list.0")
	b.ReportAllocs()
	for b.Loop() {
		if ok, err := (Format{}).PatchInPlace(doc, p, field.Value{Kind: field.Int, Int: 8}); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	doc := everyType(b)
	b.ReportAllocs()
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if err := (Format{}).Validate(doc, format.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
