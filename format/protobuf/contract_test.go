package protobuf

import (
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"example.com/ferry/format/formattest"
	"example.com/ferry/format/schema"
)

// pump is a recursive shape. It has a single and a repeated field of each type.
var pump = func() *schema.Message {
	m := &schema.Message{Name: "test.Pump"}
	for t := schema.Bytes; t <= schema.Sfixed64; t++ {
		d := schema.Field{Name: t.String(), Number: 1 + int(t), Type: t}
		if t == schema.Nested {
			d.Message = m
		}
		m.Fields = append(m.Fields, d)
		d.Name, d.Number, d.Repeated = t.String()+"_list", 101+int(t), true
		m.Fields = append(m.Fields, d)
	}
	return m
}()

// shaped is the format with a schema. It has its own name, and so its own folder of vectors.
type shaped struct{ Format }

func (shaped) Name() string { return "schema" }

func TestContract(t *testing.T) {
	t.Run("numbers", func(t *testing.T) {
		formattest.Run(t, Format{}, func(r *rand.Rand) []byte { return randomRecords(r, nil, 0) })
	})
	t.Run("schema", func(t *testing.T) {
		formattest.Run(t, shaped{Format{pump}}, func(r *rand.Rand) []byte { return randomPump(r, nil, 0) })
	})
}

var sizes = []int{0, 1, 2, 20, 127, 128, 300}

// randomRecords appends records without a schema. Numbers may repeat. Tags and lengths may be longer than necessary.
func randomRecords(r *rand.Rand, dst []byte, depth int) []byte {
	for range r.IntN(12) {
		number := protowire.Number(1 + r.IntN(1<<(1+r.IntN(29))))
		number = min(number, MaxNumber)
		switch r.IntN(5) {
		case 0, 1:
			dst = protowire.AppendTag(dst, number, protowire.VarintType)
			dst = protowire.AppendVarint(dst, r.Uint64()>>r.IntN(64))
		case 2:
			dst = protowire.AppendTag(dst, number, protowire.Fixed32Type)
			dst = protowire.AppendFixed32(dst, r.Uint32())
		case 3:
			dst = protowire.AppendTag(dst, number, protowire.Fixed64Type)
			dst = protowire.AppendFixed64(dst, r.Uint64())
		case 4:
			content := []byte(strings.Repeat("x", sizes[r.IntN(len(sizes))]))
			if depth < 3 && r.IntN(2) == 0 {
				content = randomRecords(r, nil, depth+1)
			}
			dst = protowire.AppendTag(dst, number, protowire.BytesType)
			dst = long(r, protowire.AppendVarint(dst, uint64(len(content))))
			dst = append(dst, content...)
		}
	}
	return dst
}

// long sometimes adds an unnecessary byte to the varint at the end of dst.
func long(r *rand.Rand, dst []byte) []byte {
	if r.IntN(8) > 0 {
		return dst
	}
	dst[len(dst)-1] |= 0x80
	return append(dst, 0)
}

// randomPump appends fields of pump. Most of them are in the order of the schema.
func randomPump(r *rand.Rand, dst []byte, depth int) []byte {
	order := r.Perm(len(pump.Fields))[:r.IntN(8)]
	for _, i := range order {
		d := &pump.Fields[i]
		if d.Type == schema.Nested && depth > 3 {
			continue
		}
		count := 1
		if d.Repeated {
			count = r.IntN(4)
		}
		if d.Repeated && isPackable(d.Type) && r.IntN(2) == 0 {
			var content []byte
			for range count {
				content = randomValue(r, content, d.Type, depth)
			}
			dst = protowire.AppendTag(dst, protowire.Number(d.Number), protowire.BytesType)
			dst = protowire.AppendBytes(dst, content)
			count = r.IntN(2) // values that are not packed follow
		}
		for range count {
			dst = protowire.AppendTag(dst, protowire.Number(d.Number), protowire.Type(encodingOf(d.Type).wire))
			content := randomValue(r, nil, d.Type, depth)
			if encodingOf(d.Type).wire == wireLength {
				dst = long(r, protowire.AppendVarint(dst, uint64(len(content))))
			}
			dst = append(dst, content...)
		}
	}
	if r.IntN(3) == 0 { // a field that the schema does not have
		dst = protowire.AppendTag(dst, 99, protowire.BytesType)
		dst = protowire.AppendString(dst, "unknown")
	}
	return dst
}

func randomValue(r *rand.Rand, dst []byte, t schema.Type, depth int) []byte {
	n := int64(r.Uint64()) >> r.IntN(64)
	switch t {
	case schema.Bytes:
		return append(dst, make([]byte, sizes[r.IntN(len(sizes))])...)
	case schema.String:
		return append(dst, strings.Repeat("é", sizes[r.IntN(len(sizes))])...)
	case schema.Nested:
		return randomPump(r, dst, depth+1)
	case schema.Bool:
		return append(dst, byte(n&1))
	case schema.Int32:
		if n = int64(int32(n)); r.IntN(4) == 0 {
			n = int64(uint32(n)) // a negative int32 in five bytes, as some encoders write it
		}
		return protowire.AppendVarint(dst, uint64(n))
	case schema.Uint32:
		return protowire.AppendVarint(dst, uint64(uint32(n)))
	case schema.Int64, schema.Uint64:
		return long(r, protowire.AppendVarint(dst, uint64(n)>>1))
	case schema.Sint32:
		return protowire.AppendVarint(dst, protowire.EncodeZigZag(int64(int32(n))))
	case schema.Sint64:
		return protowire.AppendVarint(dst, protowire.EncodeZigZag(n))
	case schema.Float32, schema.Fixed32, schema.Sfixed32:
		return protowire.AppendFixed32(dst, uint32(n))
	}
	return protowire.AppendFixed64(dst, uint64(n))
}
