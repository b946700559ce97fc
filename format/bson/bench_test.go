package bson

import (
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

func BenchmarkLookup(b *testing.B) {
	doc, p := everyType(b), field.MustParse("int32")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Format{}).Lookup(doc, p); err != nil {
			b.Fatal(err)
		}
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
