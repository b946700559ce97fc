package json

import (
	"fmt"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// sevenKinds is an object of n members whose values are of seven kinds in turn.
func sevenKinds(n int) []byte {
	values := []string{`"a"`, "-65", "128", "-1", "18446744073709551615", "0.25", "23"}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":%s`, i+1, values[i%7])
	}
	return []byte("{" + b.String()[1:] + "}")
}

func BenchmarkLookup(b *testing.B) {
	doc, p := sevenKinds(63), field.MustParse("k32")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Format{}).Lookup(doc, p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	doc := events(b)["event_simple"]
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
	doc := events(b)["event_simple"]
	b.ReportAllocs()
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if err := (Format{}).Validate(doc, format.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
