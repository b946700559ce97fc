package json

import (
	"fmt"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// sevenKinds returns an object of n members. The values have seven kinds in turn.
func sevenKinds(n int) []byte {
	values := []string{`"a"`, "-65", "128", "-1", "18446744073709551615", "0.25", "23"}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":%s`, i+1, values[i%7])
	}
	return []byte("{" + b.String()[1:] + "}")
}

// limitScan does the least work with which a scan can find a name, as a lower limit for benchmarks. It assumes that
// there are no spaces, escapes or containers, and checks only bounds.
func limitScan(data []byte, name string) (start, end int) {
	for pos := 1; uint(pos) < uint(len(data)) && data[pos] == '"'; pos++ {
		key := pos + 1
		for pos = key; uint(pos) < uint(len(data)) && data[pos] != '"'; {
			pos++
		}
		found := string(data[key:pos]) == name
		pos += 2 // skip the quote and the colon
		start = pos
		if uint(pos) < uint(len(data)) && data[pos] == '"' {
			for pos++; uint(pos) < uint(len(data)) && data[pos] != '"'; {
				pos++
			}
			pos++
		}
		for uint(pos) < uint(len(data)) && data[pos] != ',' && data[pos] != '}' {
			pos++
		}
		if found {
			return start, pos
		}
	}
	return 0, 0
}

func TestLimitScan(t *testing.T) {
	doc := sevenKinds(63)
	s, err := Format{}.Lookup(doc, field.MustParse("k32"))
	if start, end := limitScan(doc, "k32"); err != nil || start != s.Head || end != s.End {
		t.Errorf("got %d, %d, want %+v, %v", start, end, s, err)
	}
}

func BenchmarkLookup(b *testing.B) {
	doc := sevenKinds(63)
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
	}
	long := []byte(`{"payload":"` + strings.Repeat("QUJD", 16<<10) + `","z":1}`)
	z := field.MustParse("z")
	b.Run("behind-64KiB", func(b *testing.B) {
		b.SetBytes(int64(len(long)))
		for b.Loop() {
			if _, err := (Format{}).Lookup(long, z); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("behind-64KiB-validate", func(b *testing.B) {
		b.SetBytes(int64(len(long)))
		for b.Loop() {
			if err := (Format{}).Validate(long, format.Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	doc := edgexEvents(b)["event_simple"]
	two, err := field.NewSet(field.MustParse("deviceName"), field.MustParse("readings.0.value"))
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

func BenchmarkValidate(b *testing.B) {
	doc := edgexEvents(b)["event_simple"]
	b.ReportAllocs()
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if err := (Format{}).Validate(doc, format.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
