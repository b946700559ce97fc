package protobuf

import (
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// fields returns a message with the values of the Y3 stress test (10cella/yomo-y3-stress-testing). keys is the order of
// the fields. Integers are zigzag, except for the largest uint64.
func fields(keys []int) []byte {
	var b []byte
	tag := func(key int, t protowire.Type) { b = protowire.AppendTag(b, protowire.Number(key), t) }
	for _, key := range keys {
		switch (key - 1) % 7 {
		case 0:
			tag(key, protowire.BytesType)
			b = protowire.AppendString(b, "a")
		case 1:
			tag(key, protowire.VarintType)
			b = protowire.AppendVarint(b, protowire.EncodeZigZag(-65))
		case 2:
			tag(key, protowire.VarintType)
			b = protowire.AppendVarint(b, protowire.EncodeZigZag(128))
		case 3:
			tag(key, protowire.VarintType)
			b = protowire.AppendVarint(b, protowire.EncodeZigZag(-1))
		case 4:
			tag(key, protowire.VarintType)
			b = protowire.AppendVarint(b, 1<<64-1)
		case 5:
			tag(key, protowire.Fixed32Type)
			b = protowire.AppendFixed32(b, 0x3e800000)
		case 6:
			tag(key, protowire.Fixed64Type)
			b = protowire.AppendFixed64(b, 0x4037000000000000)
		}
	}
	return b
}

func inOrder(n int) []int {
	keys := make([]int, n)
	for i := range keys {
		keys[i] = i + 1
	}
	return keys
}

// limitScan is the least work that a checked search can do: one loop written by hand, without a path, nesting and
// groups.
func limitScan(b []byte, number uint64) (off, end int, ok bool) {
	for i := 0; i < len(b); {
		tag := uint64(b[i])
		if i++; tag >= 0x80 {
			if i == len(b) || b[i] >= 0x80 {
				return 0, 0, false
			}
			tag = tag&0x7f | uint64(b[i])<<7
			i++
		}
		off, hit := i, tag>>3 == number
		switch tag & 7 {
		case 0:
			for i < len(b) && b[i] >= 0x80 {
				i++
			}
			i++
		case 1:
			i += 8
		case 5:
			i += 4
		case 2:
			if i == len(b) || b[i] >= 0x80 {
				return 0, 0, false
			}
			off = i + 1
			i += 1 + int(b[i])
		default:
			return 0, 0, false
		}
		if i > len(b) {
			return 0, 0, false
		}
		if hit {
			return off, i, true
		}
	}
	return 0, 0, false
}

// protowireScan is the search of limitScan, with the functions of package protowire.
func protowireScan(b []byte, number protowire.Number) (rest []byte, ok bool) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, false
		}
		if num == number {
			return b[n:], true
		}
		m := protowire.ConsumeFieldValue(num, typ, b[n:])
		if m < 0 {
			return nil, false
		}
		b = b[n+m:]
	}
	return nil, false
}

func BenchmarkLookup(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	mixed := make([][]byte, 2048)
	for i := range mixed {
		keys := inOrder(63)
		r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		for j, key := range keys { // key 32 is moved to the middle, its place in the ordered message
			if key == 32 {
				keys[j], keys[31] = keys[31], keys[j]
			}
		}
		mixed[i] = fields(keys)
	}
	rows := []struct {
		name string
		docs [][]byte
		path string
	}{
		{"C63-K32", [][]byte{fields(inOrder(63))}, "32"},
		{"C63-K32-one-shuffled", mixed[:1], "32"},
		{"C63-K32-2048-shuffled", mixed, "32"},
		{"C63-absent", [][]byte{fields(inOrder(63))}, "64"},
		{"C32-K16", [][]byte{fields(inOrder(32))}, "16"},
		{"C16-K08", [][]byte{fields(inOrder(16))}, "8"},
		{"C03-K02", [][]byte{fields(inOrder(3))}, "2"},
	}
	for _, row := range rows {
		path := field.MustParse(row.path)
		number := path.Steps()[0].Index
		last := len(row.docs) - 1
		for _, doc := range row.docs {
			off, end, ok := limitScan(doc, uint64(number))
			s, err := Format{}.Lookup(doc, path)
			rest, peer := protowireScan(doc, protowire.Number(number))
			if ok != (err == nil) || ok && (off != s.Off || end != s.End) || peer != ok || peer && len(doc)-len(rest) > s.Off {
				b.Fatalf("%s: got %d, %d, %v and %d left, where Lookup has %+v, %v", row.name, off, end, ok, len(rest), s, err)
			}
		}
		i := 0
		b.Run(row.name+"/limit", func(b *testing.B) {
			for b.Loop() {
				limitScan(row.docs[i&last], uint64(number))
				i++
			}
		})
		b.Run(row.name+"/protowire", func(b *testing.B) {
			for b.Loop() {
				protowireScan(row.docs[i&last], protowire.Number(number))
				i++
			}
		})
		b.Run(row.name+"/ferry", func(b *testing.B) {
			var f format.Format = Format{}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = f.Lookup(row.docs[i&last], path)
				i++
			}
		})
	}
}

func BenchmarkFind(b *testing.B) {
	data := fields(inOrder(63))
	var f format.Format = Format{}
	spans := make([]field.Span, 4)
	for _, row := range []struct {
		name  string
		paths []string
	}{{"last", []string{"32"}}, {"four", []string{"8", "16", "24", "32"}}} {
		var paths []field.Path
		for _, text := range row.paths {
			paths = append(paths, field.MustParse(text))
		}
		set, err := field.NewSet(paths...)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = f.Find(data, set, spans)
			}
			if !spans[len(paths)-1].Found() {
				b.Error("the last path was not found")
			}
		})
	}
}

// BenchmarkPump measures lookup, validation and a patch with a schema.
func BenchmarkPump(b *testing.B) {
	_, set := plantSet(b)
	m, err := ParseDescriptorSet(set, "plant.Pump")
	if err != nil {
		b.Fatal(err)
	}
	var f format.Format = Format{m}
	data := pumpMessage(b, pumpText)
	path := field.MustParse("spare.level")
	b.Run("Lookup", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := f.Lookup(data, path); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Validate", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if err := f.Validate(data, format.Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("PatchInPlace", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if ok, err := (Format{m}).PatchInPlace(data, path, field.Value{Kind: field.Int, Int: 301}); !ok || err != nil {
				b.Fatal(ok, err)
			}
		}
	})
}
