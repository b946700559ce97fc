package msgpack

import (
	"testing"

	"github.com/tinylib/msgp/msgp"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// reading is an event in MessagePack, of the shape EdgeX has.
func reading(b *testing.B) []byte {
	b.Helper()
	data, err := msgp.AppendIntf(nil, map[string]any{
		"apiVersion": "v3", "deviceName": "pump-1", "id": "00000000-2810-419a-8744-18eb8fad3465", "origin": int64(1602168089665565200),
		"profileName": "pump", "sourceName": "pressure", "readings": []any{map[string]any{"resourceName": "pressure", "value": "31.5", "valueType": "Float64"}},
	})
	if err != nil {
		b.Fatal(err)
	}
	return data
}

func BenchmarkEvent(b *testing.B) {
	doc := reading(b)
	path := field.MustParse("readings.0.value")
	set, err := field.NewSet(field.MustParse("deviceName"), path)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("Lookup", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := (Format{}).Lookup(doc, path); err != nil {
				b.Fatal(err)
			}
		}
	})
	spans := make([]field.Span, set.Len())
	b.Run("Find", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := (Format{}).Find(doc, set, spans); err != nil || !spans[1].Found() {
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
	b.Run("Skip/msgp", func(b *testing.B) {
		for b.Loop() {
			if _, err := peerSkip(doc); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Decode/msgp", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := msgp.ReadIntfBytes(doc); err != nil {
				b.Fatal(err)
			}
		}
	})
}
