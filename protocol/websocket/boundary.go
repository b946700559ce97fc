package websocket

import "encoding/binary"

// Boundary follows the frames of one direction of a WebSocket that passes through, and keeps none of its bytes. RFC 6455, section 5.2. The zero value
// stands before the first frame.
type Boundary struct {
	header  [10]byte // the first bytes of a header that is not whole: without the mask
	got     int      // bytes in header
	skip    uint64   // bytes of the frame that follow its length: mask and payload
	message bool     // a fragmented message is not whole
	foreign bool     // the bytes are no frames
}

// Pass follows the next bytes.
func (b *Boundary) Pass(p []byte) {
	for len(p) > 0 && !b.foreign {
		if b.skip > 0 {
			n := min(b.skip, uint64(len(p)))
			b.skip, p = b.skip-n, p[n:]
			continue
		}
		b.header[b.got] = p[0]
		b.got++
		p = p[1:]
		b.measure()
	}
}

// measure begins the rest of the frame once its length has arrived.
func (b *Boundary) measure() {
	if b.got < 2 {
		return
	}
	length, size := uint64(b.header[1]&0x7f), 2
	switch length {
	case 126:
		size = 4
	case 127:
		size = 10
	}
	if b.got < size {
		return
	}
	switch size {
	case 4:
		length = uint64(binary.BigEndian.Uint16(b.header[2:]))
	case 10:
		length = binary.BigEndian.Uint64(b.header[2:])
	}
	if length>>63 != 0 {
		b.foreign = true
		return
	}
	if b.header[1]&0x80 != 0 {
		length += 4
	}
	if !Opcode(b.header[0] & 15).control() {
		b.message = b.header[0]&0x80 == 0
	}
	b.got, b.skip = 0, length
}

// Between reports whether the bytes so far end between two messages, so that a Close frame may follow.
func (b *Boundary) Between() bool { return b.got == 0 && b.skip == 0 && !b.message && !b.foreign }

// AppendMaskedClose appends a Close frame of a client. RFC 6455, section 5.3.
func AppendMaskedClose(dst []byte, c Code, mask [4]byte) []byte {
	payload := binary.BigEndian.AppendUint16(nil, uint16(c))
	dst = append(dst, 0x80|byte(Close), 0x80|byte(len(payload)))
	dst = append(dst, mask[:]...)
	h := Header{Mask: binary.LittleEndian.Uint32(mask[:])}
	h.Unmask(payload)
	return append(dst, payload...)
}
