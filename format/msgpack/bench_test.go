package msgpack

import (
	"testing"

	"github.com/tinylib/msgp/msgp"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// reading is an event in MessagePack, of the shape EdgeX has, in a fixed order.
func reading() []byte {
	data := []byte{byteFixMap | 7}
	for _, text := range []string{
		"apiVersion", "v3", "id", "00000000-2810-419a-8744-18eb8fad3465", "deviceName", "pump-1", "profileName", "pump", "sourceName", "pressure",
	} {
		data = value(data, field.Value{Kind: field.Text, Bytes: []byte(text)})
	}
	data = value(data, field.Value{Kind: field.Text, Bytes: []byte("origin")})
	data = value(data, field.Value{Kind: field.Int, Int: 1602168089665565200})
	return append(data, "\xa8readings\x91\x82\xacresourceName\xa8pressure\xa5value\xa431.5"...)
}

func BenchmarkEvent(b *testing.B) {
	doc := reading()
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
