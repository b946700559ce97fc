package meter

import "fmt"

// reader reads the integers of the binary format, LEB128. The first error sticks, and all later reads return 0.
type reader struct {
	b   []byte
	pos int // offset of the next byte
	err error
}

// SyntaxError says where a module is malformed.
type SyntaxError struct {
	Section byte   // WebAssembly 2.0, section 5.5.2
	Offset  int    // bytes from the start of the section's content
	Reason  string // what is wrong there
}

// Error returns the text of e.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("wasm: section %d, offset %d: %s", e.Section, e.Offset, e.Reason)
}

func (r *reader) fail(reason string) {
	if r.err == nil {
		r.err = &SyntaxError{Offset: r.pos, Reason: reason}
	}
}

func (r *reader) more() bool { return r.err == nil && r.pos < len(r.b) }

func (r *reader) byte() byte {
	if !r.more() {
		r.fail("it ends early")
		return 0
	}
	r.pos++
	return r.b[r.pos-1]
}

// take returns the next n bytes.
func (r *reader) take(n uint32) []byte {
	if r.err != nil || uint64(n) > uint64(len(r.b)-r.pos) {
		r.fail("it ends early")
		return nil
	}
	r.pos += int(n)
	return r.b[r.pos-int(n) : r.pos]
}

// uint32 reads an unsigned integer of 32 bits. WebAssembly 2.0, section 5.2.2.
func (r *reader) uint32() uint32 {
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		if shift == 28 && c > 0x0f {
			r.fail("an integer exceeds 32 bits")
			return 0
		}
		v |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
	r.fail("an integer exceeds 32 bits")
	return 0
}

// skipInteger skips an integer of up to bits bits, signed or not.
func (r *reader) skipInteger(bits int) {
	for range (bits + 6) / 7 {
		if r.byte() < 0x80 {
			return
		}
	}
	r.fail(fmt.Sprintf("an integer exceeds %d bits", bits))
}

// count reads the number of items of a vector. Each item has at least one byte, so a larger count is malformed.
func (r *reader) count() uint32 {
	n := r.uint32()
	if uint64(n) > uint64(len(r.b)-r.pos) {
		r.fail(fmt.Sprintf("%d items in %d bytes", n, len(r.b)-r.pos))
		return 0
	}
	return n
}

// appendUint appends v as LEB128.
func appendUint(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// appendInt appends v as signed LEB128.
func appendInt(b []byte, v int32) []byte {
	for {
		c := byte(v) & 0x7f
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// appendName appends a name with its length.
func appendName(b []byte, name string) []byte {
	return append(appendUint(b, uint32(len(name))), name...)
}
