package edgex

import (
	"encoding/binary"
	"errors"
	"io"

	"example.com/ferry/format"
	"example.com/ferry/internal/cborhead"
)

// removal is a range of bytes that a copy of a message does not have.
type removal struct{ at, n int } // at is an offset in the copy

// longBytes is the length of the longest byte string that is copied.
const longBytes = 64

// stripStrings decodes text, base64 of a checked alphabet that holds CBOR, into v.stripped, without the content of long byte
// strings. Any content of a byte string is valid, so the copy is well-formed if and only if the whole is. It copies one item
// after the other and does not check how they nest; Validate of the copy does.
func (v *View) stripStrings(text []byte) error {
	d := &v.payload
	d.encoded(text)
	size := decodedLen(text)
	v.stripped, v.removals = v.stripped[:0], v.removals[:0]
	for pos := 0; pos < size; {
		b, err := d.at(pos, 1)
		if err != nil {
			return err
		}
		if b[0] == cborhead.Break {
			v.stripped = append(v.stripped, cborhead.Break)
			pos++
			continue
		}
		h, err := d.head(pos)
		if err == nil {
			b, err = d.at(pos, h.Next-pos)
		}
		if err != nil {
			return err
		}
		isString := h.Info != cborhead.Indefinite && (h.Major == cborhead.Bytes || h.Major == cborhead.Text)
		if isString && h.Arg > uint64(size-h.Next) {
			return io.ErrUnexpectedEOF
		}
		if h.Major == cborhead.Bytes && isString && h.Arg > longBytes {
			v.stripped = cborhead.Append(v.stripped, cborhead.Bytes, 0)
			v.removals = append(v.removals, removal{len(v.stripped), int(h.Arg) + len(b) - 1})
			pos = h.Next + int(h.Arg)
			continue
		}
		v.stripped = append(v.stripped, b...)
		if pos = h.Next; isString {
			if err := v.copyContent(pos, int(h.Arg)); err != nil {
				return err
			}
			pos += int(h.Arg)
		}
	}
	return nil
}

// copyContent copies n bytes of the payload from pos on to v.stripped.
func (v *View) copyContent(pos, n int) error {
	for n > 0 {
		some := min(n, windowSize)
		b, err := v.payload.at(pos, some)
		if err != nil {
			return err
		}
		v.stripped = append(v.stripped, b...)
		pos, n = pos+some, n-some
	}
	return nil
}

// offsetInWhole returns err, which is about v.stripped, with the offset in the whole payload.
func (v *View) offsetInWhole(err error) error {
	if err == nil {
		return nil
	}
	var bad *format.SyntaxError
	if !errors.As(err, &bad) {
		return err
	}
	whole := *bad
	for _, c := range v.removals {
		if c.at <= bad.Offset {
			whole.Offset += c.n
		}
	}
	return &whole
}

// The functions below test eight bytes at once, as one word. If the high bit of a byte is clear, adding 0x80-c sets it exactly
// if the byte is at least c, and there is no carry to the next byte.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// notBase64 returns a word without high bits if all bytes of w are characters of base64, RFC 4648, section 4. A byte whose own
// high bit is set may carry into the next one. That does not matter, as such a byte is no character of base64 anyway.
func notBase64(w uint64) uint64 {
	lower := w | ones*0x20
	letter := (lower + ones*(0x80-'a')) &^ (lower + ones*(0x7f-'z'))
	digit := (w + ones*(0x80-'/')) &^ (w + ones*(0x7f-'9')) // and the slash, the character before 0
	notPlus := (w ^ ones*'+') + ones*0x7f
	return notPlus&^(letter|digit) | w
}

// base64Len returns the number of base64 characters at the start of data, including up to two of padding.
func base64Len(data []byte) int {
	n := 0
	for ; len(data)-n >= 32; n += 32 {
		b := data[n : n+32]
		w := notBase64(binary.LittleEndian.Uint64(b)) | notBase64(binary.LittleEndian.Uint64(b[8:])) |
			notBase64(binary.LittleEndian.Uint64(b[16:])) | notBase64(binary.LittleEndian.Uint64(b[24:]))
		if w&highs != 0 {
			break
		}
	}
	for n < len(data) && sextets[3][data[n]] != invalid {
		n++
	}
	for pad := 0; pad < 2 && n < len(data) && data[n] == '='; pad++ {
		n++
	}
	return n
}
