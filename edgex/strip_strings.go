package edgex

import (
	"encoding/binary"
	"errors"
	"io"

	"example.com/ferry/format"
	"example.com/ferry/internal/cborhead"
)

// removal is a range of bytes of the message that the copy lacks.
type removal struct{ at, n int } // at is an offset in the copy, n a number of bytes

// longBytes is the length in bytes of the longest byte string that is copied.
const longBytes = 64

// stripStrings decodes CBOR in base64 into v.stripped, without the content of long byte strings. The alphabet of text is
// already checked. Any content of a byte string is valid. So the copy is well-formed if and only if the whole CBOR is.
// stripStrings copies one item after the other. It does not check the nesting of items; Validate checks it in the copy.
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

// copyContent copies n bytes of the payload to v.stripped, starting at offset pos.
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

// offsetInWhole converts the offset in err from an offset in v.stripped to one in the whole payload.
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

// The functions below test eight bytes in one word. Adding 0x80-c to a byte with a clear high bit sets the high bit exactly if
// the byte is at least c. The addition does not carry into the next byte.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// notBase64 returns a word without high bits if all bytes of w are characters of base64, RFC 4648, section 4. A byte with a
// set high bit may carry into the next byte. The result is correct nevertheless, because a byte with a set high bit is no
// character of base64.
func notBase64(w uint64) uint64 {
	lower := w | ones*0x20
	letter := (lower + ones*(0x80-'a')) &^ (lower + ones*(0x7f-'z'))
	digit := (w + ones*(0x80-'/')) &^ (w + ones*(0x7f-'9')) // also accepts the slash, the character before 0
	notPlus := (w ^ ones*'+') + ones*0x7f
	return notPlus&^(letter|digit) | w
}

// base64Len returns the number of base64 characters at the start of data. Up to two characters of padding are included.
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
