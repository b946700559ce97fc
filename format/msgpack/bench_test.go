package msgpack

import (
	"fmt"
	"math"
	"testing"

	"github.com/tinylib/msgp/msgp"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// reading returns an EdgeX event in MessagePack. Its fields have a fixed order.
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

// sevenKinds returns a map of n pairs. The values alternate between seven kinds.
func sevenKinds(t testing.TB, n int) []byte {
	t.Helper()
	values := []any{"a", -65, 128, -1, uint64(math.MaxUint64), float32(0.25), 23.0}
	data := msgp.AppendMapHeader(nil, uint32(n))
	for i := range n {
		var err error
		if data, err = msgp.AppendIntf(msgp.AppendString(data, fmt.Sprint("k", i+1)), values[i%7]); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// limitScan is the least work that a search for a text key can do. It assumes short text keys, scalar values and a map
// head of three bytes. It checks bounds only.
func limitScan(data []byte, name string) (start, end int) {
	for pos := 3; uint(pos) < uint(len(data)); {
		key := pos + 1
		pos = key + int(data[pos]) - byteFixStr
		if uint(pos) >= uint(len(data)) {
			return 0, 0
		}
		size := 1
		switch b := data[pos]; {
		case b < byteFixMap || b >= byteNegative:
		case b-byteFixStr < 32:
			size = 1 + int(b-byteFixStr)
		case b == byteFloat32:
			size = 5
		case b == byteFloat64:
			size = 9
		default:
			size = 1 + 1<<(b&3)
		}
		if string(data[key:pos]) == name {
			return pos, pos + size
		}
		pos += size
	}
	return 0, 0
}

func TestLimitScan(t *testing.T) {
	doc := sevenKinds(t, 63)
	s, err := Format{}.Lookup(doc, field.MustParse("k32"))
	if start, end := limitScan(doc, "k32"); err != nil || start != s.Head || end != s.End {
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
		b.Run(name+"-msgp", func(b *testing.B) {
			for b.Loop() {
				_ = msgp.Locate(name, doc)
			}
		})
	}
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
