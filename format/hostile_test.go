package format_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/ferry/format"
	"example.com/ferry/format/bson"
	"example.com/ferry/format/cbor"
	"example.com/ferry/format/json"
	"example.com/ferry/format/msgpack"
	"example.com/ferry/format/protobuf"
	"example.com/ferry/format/schema"
	"example.com/ferry/format/y3"
	"example.com/ferry/internal/transcode"
)

// nesting is the shape of a document: levels maps in one another, each with keys keys, around a list of small maps.
type nesting struct {
	name         string
	levels, keys int
}

// hostileNestings are shapes that make a search for duplicate keys expensive if it keeps too few keys of the open maps.
var hostileNestings = []nesting{
	{"64 keys around", 1, 64},
	{"30 levels of 3", 30, 3},
	{"30 levels of 70", 30, 70},
}

// document returns the shape as JSON, with small maps up to size bytes. If duplicate is a level, this level has a key
// twice.
func (n nesting) document(size, duplicate int) []byte {
	var b bytes.Buffer
	for l := range n.levels {
		b.WriteByte('{')
		for k := range n.keys {
			fmt.Fprintf(&b, `"k%d":0,`, k)
		}
		if l == duplicate {
			fmt.Fprintf(&b, `"k%d":1,`, n.keys/2)
		}
		b.WriteString(`"l":`)
	}
	b.WriteString(`[{"a":1,"b":2}`)
	for b.Len() < size {
		b.WriteString(`,{"a":1,"b":2}`)
	}
	if duplicate == n.levels {
		b.WriteString(`,{"a":1,"a":2}`)
	}
	b.WriteString("]" + strings.Repeat("}", n.levels))
	return b.Bytes()
}

// oneMap returns a JSON map with distinct keys in about size bytes.
func oneMap(size int) []byte {
	b := []byte(`{"k":0`)
	for i := 0; len(b) < size; i++ {
		b = fmt.Appendf(b, `,"k%x":0`, i)
	}
	return append(b, '}')
}

// as translates a JSON document.
func as(tb testing.TB, doc []byte, to format.Format) []byte {
	tb.Helper()
	out, _, err := transcode.Message(nil, doc, json.Format{}, to)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// TestDuplicateKeysInNesting puts a duplicate key in each level of deep and wide documents, and none.
func TestDuplicateKeysInNesting(t *testing.T) {
	t.Parallel()
	for _, n := range append(slices.Clone(hostileNestings), nesting{"one key more than the stack holds", 1, 65}, nesting{"flat", 1, 3000}) {
		for duplicate := -1; duplicate <= n.levels; duplicate++ {
			err := json.Format{}.Validate(n.document(4096, duplicate), format.Options{})
			if (err != nil) != (duplicate >= 0) {
				t.Errorf("%s, a key twice in level %d of %d: got %v", n.name, duplicate, n.levels, err)
			}
		}
		sound := n.document(4096, -1)
		for _, f := range []format.Format{cbor.Format{}, bson.Format{}, msgpack.Format{}} {
			data := as(t, sound, f)
			if err := f.Validate(data, format.Options{}); err != nil {
				t.Errorf("%s of %s: %v", f.Name(), n.name, err)
			}
			// A key of the first map becomes the same as its first one.
			first, second := bytes.Index(data, []byte("k0")), bytes.Index(data, []byte("k1"))
			copy(data[second:], data[first:first+2])
			if f.Validate(data, format.Options{}) == nil {
				t.Errorf("%s of %s: k0 occurs twice in the first map, and the message is valid", f.Name(), n.name)
			}
		}
	}
}

// recursive is a protobuf message with numbers, and a repeated field of its own type.
func recursive(fields int) *schema.Message {
	m := &schema.Message{Name: "Tree", Fields: []schema.Field{{Name: "l", Number: 1, Type: schema.Nested, Repeated: true}}}
	m.Fields[0].Message = m
	for i := range fields {
		m.Fields = append(m.Fields, schema.Field{Name: fmt.Sprintf("k%d", i), Number: i + 2, Type: schema.Int32})
	}
	return m
}

// tree returns a protobuf message of the schema recursive.
func tree(n nesting, size int) []byte {
	inner := bytes.Repeat([]byte{1<<3 | 2, 4, 2 << 3, 1, 3 << 3, 1}, size/6)
	for range n.levels {
		var b []byte
		for k := range n.keys {
			b = append(appendUvarint(b, (k+2)<<3), 0)
		}
		b = append(appendUvarint(append(b, 1<<3|2), len(inner)), inner...)
		inner = b
	}
	return inner
}

// nodes returns a Y3 message of nodes in one another, around a slice of small nodes.
func nodes(n nesting, size int) []byte {
	inner := bytes.Repeat([]byte{0x80, 6, 0x01, 1, 1, 0x02, 1, 1}, size/8)
	tag := byte(0xc1)
	for range n.levels {
		b := appendY3Length([]byte{tag}, len(inner))
		b = append(b, inner...)
		for k := range min(n.keys, 60) {
			b = append(b, byte(k+3), 1, 0)
		}
		inner, tag = b, 0x81
	}
	return inner
}

func appendUvarint(b []byte, n int) []byte {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func appendY3Length(b []byte, n int) []byte {
	groups := 1
	for n>>(7*groups-1) > 0 {
		groups++
	}
	for ; groups > 1; groups-- {
		b = append(b, 0x80|byte(n>>(7*(groups-1)))&0x7f)
	}
	return append(b, byte(n)&0x7f)
}

// BenchmarkValidateHostile validates 1 MiB of an ordinary shape, and of shapes that an attacker would choose. The time
// per byte of the latter must be of the same order.
func BenchmarkValidateHostile(b *testing.B) {
	const size = 1 << 20
	run := func(b *testing.B, name string, f format.Format, data []byte) {
		b.Run(f.Name()+"/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := f.Validate(data, format.Options{MaxDepth: 64}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	shapes := append([]nesting{{"ordinary", 1, 1}}, hostileNestings...)
	for _, n := range shapes {
		doc := n.document(size, -1)
		run(b, n.name, json.Format{}, doc)
		for _, f := range []format.Format{cbor.Format{}, bson.Format{}, msgpack.Format{}} {
			run(b, n.name, f, as(b, doc, f))
		}
		run(b, n.name, protobuf.Format{Message: recursive(100)}, tree(n, size))
		run(b, n.name, y3.Format{}, nodes(n, size))
	}
	run(b, "one map", json.Format{}, oneMap(size))
	for _, f := range []format.Format{cbor.Format{}, bson.Format{}, msgpack.Format{}} {
		run(b, "one map", f, as(b, oneMap(size), f))
	}
	run(b, "one map", protobuf.Format{Message: recursive(100)}, tree(nesting{"", 1, 100}, 6))
	m := protobuf.Format{Message: recursive(200)}
	run(b, "fields the schema has not", m, bytes.Repeat([]byte{0x90, 0x7f, 0}, size/3))
}
