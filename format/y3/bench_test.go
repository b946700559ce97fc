package y3

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// seedPacket returns the message of the Y3 stress test (10cella/yomo-y3-stress-testing). Its root node has the keys 1
// to count. The values alternate between seven kinds.
func seedPacket(count int, keys []int) []byte {
	b := NewBuilder(P)
	b.Node(1)
	for i := range count {
		key := keys[i]
		switch i % 7 {
		case 0:
			b.String(key, "a")
		case 1:
			b.Int32(key, -65)
		case 2:
			b.Int32(key, 128)
		case 3:
			b.Int32(key, -1)
		case 4:
			b.Uint64(key, math.MaxUint64)
		case 5:
			b.Float32(key, 0.25)
		case 6:
			b.Float64(key, 23)
		}
	}
	b.End()
	data, err := b.Message()
	if err != nil {
		panic(err)
	}
	return data
}

func keysInOrder() []int {
	keys := make([]int, 63)
	for i := range keys {
		keys[i] = i + 1
	}
	return keys
}

// limitScan is the least work that a checked search can do: one loop, a constant key, no path.
func limitScan(b []byte, key byte) (off, end int, ok bool) {
	for i := 0; i+1 < len(b); {
		tag, n := b[i], int(b[i+1])
		i += 2
		if n >= 0x40 {
			if n < 0x80 {
				return 0, 0, false
			}
			n &= 0x7f
			for more := 1; ; more++ {
				if more == 5 || i >= len(b) {
					return 0, 0, false
				}
				c := b[i]
				i++
				n = n<<7 | int(c&0x7f)
				if c < 0x80 {
					break
				}
			}
		}
		if n > len(b)-i {
			return 0, 0, false
		}
		if tag&0x3f == key {
			return i, i + n, true
		}
		i += n
	}
	return 0, 0, false
}

func limitPath(b []byte, root, key byte) (off, end int, ok bool) {
	from, to, ok := limitScan(b, root)
	if !ok {
		return 0, 0, false
	}
	off, end, ok = limitScan(b[from:to], key)
	return from + off, from + end, ok
}

// checkLimit requires that limitScan found the same value as Lookup. Otherwise its time would be no limit.
func checkLimit(b *testing.B, data []byte, off, end int, ok bool, key int) {
	b.Helper()
	span, err := Format{}.Lookup(data, field.MustParse(fmt.Sprintf("0x01.0x%02x", key)))
	if ok != (err == nil) || ok && (off != span.Off || end != span.End) {
		b.Fatalf("limit: got %d to %d, %v; Lookup has %+v, %v", off, end, ok, span, err)
	}
}

func BenchmarkLookup(b *testing.B) {
	for _, c := range []struct{ count, key int }{{63, 32}, {32, 16}, {16, 8}, {3, 2}, {62, 63}} {
		data := seedPacket(c.count, keysInOrder())
		name := fmt.Sprintf("C%02d-K%02d", c.count, c.key)
		b.Run(name+"/limit", func(b *testing.B) {
			var off, end int
			var ok bool
			for b.Loop() {
				off, end, ok = limitPath(data, 1, byte(c.key))
			}
			checkLimit(b, data, off, end, ok, c.key)
		})
		b.Run(name+"/ferry", func(b *testing.B) {
			var f format.Format = Format{}
			path := field.MustParse(fmt.Sprintf("0x01.0x%02x", c.key))
			b.ReportAllocs()
			for b.Loop() {
				_, _ = f.Lookup(data, path)
			}
		})
	}
}

func BenchmarkLookupShuffled(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	packets := make([][]byte, 2048)
	for i := range packets {
		keys := keysInOrder()
		r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		packets[i] = seedPacket(63, keys)
	}
	i := 0
	b.Run("limit", func(b *testing.B) {
		for b.Loop() {
			limitPath(packets[i&2047], 1, 32)
			i++
		}
	})
	b.Run("ferry", func(b *testing.B) {
		var f format.Format = Format{}
		path := field.MustParse("0x01.0x20")
		for b.Loop() {
			_, _ = f.Lookup(packets[i&2047], path)
			i++
		}
	})
}

func BenchmarkFind(b *testing.B) {
	data := seedPacket(63, keysInOrder())
	var f format.Format = Format{}
	one, err := field.NewSet(field.MustParse("0x01.0x20"))
	if err != nil {
		b.Fatal(err)
	}
	four, err := field.NewSet(field.MustParse("0x01.0x08"), field.MustParse("0x01.0x10"), field.MustParse("0x01.0x18"), field.MustParse("0x01.0x20"))
	if err != nil {
		b.Fatal(err)
	}
	spans := make([]field.Span, 4)
	b.Run("lookup-last", func(b *testing.B) {
		for b.Loop() {
			_, _ = f.Lookup(data, one.Paths()[0])
		}
	})
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			_ = f.Find(data, one, spans)
		}
	})
	b.Run("four", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = f.Find(data, four, spans)
		}
	})
}
