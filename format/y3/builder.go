package y3

import (
	"fmt"
	"math"
)

// Item is the key of each item in a slice.
const Item = 0

// Builder writes one message, packet by packet. It stops writing at the first error, which Message then returns.
type Builder struct {
	dialect   Dialect
	buf       []byte
	start     int
	openNodes []int // for each open node, the offset in buf where its value starts
	err       error
}

// NewBuilder returns a Builder for the dialect d.
func NewBuilder(d Dialect) *Builder { return AppendBuilder(d, nil) }

// AppendBuilder returns a Builder that appends its message to dst.
func AppendBuilder(d Dialect, dst []byte) *Builder {
	return &Builder{dialect: d, buf: dst, start: len(dst)}
}

// Message returns dst with the message appended. A key outside 0x00 to 0x3f, a slice in dialect N, a value above
// MaxLength and a node without End are errors. On an error Message returns dst unchanged.
func (b *Builder) Message() ([]byte, error) {
	if b.err == nil && len(b.openNodes) > 0 {
		b.err = fmt.Errorf("y3: %d nodes are still open: call End for each", len(b.openNodes))
	}
	if b.err != nil {
		return b.buf[:b.start], b.err
	}
	return b.buf, nil
}

// Node opens a node. The packets up to the matching End are inside the node.
func (b *Builder) Node(key int) { b.begin(key, nodeFlag) }

// Slice opens a slice. Its items must have the key Item. Dialect N has no slices.
func (b *Builder) Slice(key int) {
	if b.dialect == N && b.err == nil {
		b.err = fmt.Errorf("y3: slice 0x%02x in dialect N, which has none", key)
	}
	b.begin(key, nodeFlag|sliceFlag)
}

func (b *Builder) begin(key int, flags byte) {
	b.appendTag(key, flags)
	b.buf = append(b.buf, 0) // room for a length of one byte; End makes room for a longer one
	b.openNodes = append(b.openNodes, len(b.buf))
}

// End closes the innermost open node or slice.
func (b *Builder) End() {
	if len(b.openNodes) == 0 {
		if b.err == nil {
			b.err = fmt.Errorf("y3: End without Node or Slice at offset %d", len(b.buf)-b.start)
		}
		return
	}
	off := b.openNodes[len(b.openNodes)-1]
	b.openNodes = b.openNodes[:len(b.openNodes)-1]
	n := len(b.buf) - off
	b.checkLength(n)
	if more := lengthSize(n) - 1; more > 0 && b.err == nil {
		b.buf = append(b.buf, "\x00\x00\x00\x00"[:more]...)
		copy(b.buf[off+more:], b.buf[off:off+n])
	}
	if b.err == nil {
		appendLength(b.buf[:off-1], n)
	}
}

func (b *Builder) appendTag(key int, flags byte) {
	if (key < 0 || key > keyMask) && b.err == nil {
		b.err = fmt.Errorf("y3: key 0x%02x: want 0x00 to 0x3f", key)
	}
	b.buf = append(b.buf, byte(key)&keyMask|flags)
}

func (b *Builder) checkLength(n int) {
	if n > MaxLength && b.err == nil {
		b.err = fmt.Errorf("y3: value of %d bytes: at most %d", n, MaxLength)
	}
}

// writeInteger writes a packet with an integer. The value has at most 10 bytes, so its length has one byte.
func (b *Builder) writeInteger(key int, v int64) {
	b.appendTag(key, 0)
	at := len(b.buf)
	b.buf = b.dialect.appendInteger(append(b.buf, 0), v)
	b.buf[at] = byte(len(b.buf) - at - 1)
}

// Int32 writes an integer. The bytes do not tell its width, so the reader must know it.
func (b *Builder) Int32(key int, v int32) { b.writeInteger(key, int64(v)) }

// Int64 writes an integer. The bytes do not tell its width, so the reader must know it.
func (b *Builder) Int64(key int, v int64) { b.writeInteger(key, v) }

// Uint32 writes v as the int32 with the same bits, as all Y3 encoders do.
func (b *Builder) Uint32(key int, v uint32) { b.writeInteger(key, int64(int32(v))) }

// Uint64 writes v as the int64 with the same bits, as all Y3 encoders do.
func (b *Builder) Uint64(key int, v uint64) { b.writeInteger(key, int64(v)) }

// Float32 writes v in IEEE 754 binary32, without the zero bytes at the end.
func (b *Builder) Float32(key int, v float32) { b.writeFloat(key, uint64(math.Float32bits(v))<<32, 4) }

// Float64 writes v in IEEE 754 binary64, without the zero bytes at the end.
func (b *Builder) Float64(key int, v float64) { b.writeFloat(key, math.Float64bits(v), 8) }

func (b *Builder) writeFloat(key int, bits uint64, size int) {
	b.appendTag(key, 0)
	at := len(b.buf)
	b.buf = appendFloat(append(b.buf, 0), bits, size)
	b.buf[at] = byte(len(b.buf) - at - 1)
}

// Bool writes the byte 01 for true, 00 for false.
func (b *Builder) Bool(key int, v bool) {
	b.appendTag(key, 0)
	b.buf = appendBool(append(b.buf, 1), v)
}

// String writes the bytes of v.
func (b *Builder) String(key int, v string) {
	b.checkLength(len(v))
	b.appendTag(key, 0)
	b.buf = append(appendLength(b.buf, len(v)), v...)
}

// Bytes writes v.
func (b *Builder) Bytes(key int, v []byte) {
	b.checkLength(len(v))
	b.appendTag(key, 0)
	b.buf = append(appendLength(b.buf, len(v)), v...)
}
