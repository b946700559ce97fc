package edgex

import (
	"encoding/binary"
	"errors"
	"io"

	"example.com/ferry/format"
	"example.com/ferry/internal/cborhead"
)

// cut is bytes that were left out of a copy of a message.
type cut struct{ at, n int } // at is an offset in the copy

// longBytes is what a byte string has to exceed to be left out.
const longBytes = 64

// strip copies the CBOR in text, base64 of a checked alphabet, to v.bare, without the content of long byte
// strings. Any bytes are valid in these: the copy is well-formed if and only if the whole is. It takes one item after the
// other, as they stand, and leaves their structure to whoever validates the copy.
func (v *View) strip(text []byte) error {
	d := &v.payload
	d.encoded(text)
	size := decodedLen(text)
	v.bare, v.cuts = v.bare[:0], v.cuts[:0]
	for pos := 0; pos < size; {
		b, err := d.at(pos, 1)
		if err != nil {
			return err
		}
		if b[0] == cborhead.Break {
			v.bare = append(v.bare, cborhead.Break)
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
			v.bare = cborhead.Append(v.bare, cborhead.Bytes, 0)
			v.cuts = append(v.cuts, cut{len(v.bare), int(h.Arg) + len(b) - 1})
			pos = h.Next + int(h.Arg)
			continue
		}
		v.bare = append(v.bare, b...)
		if pos = h.Next; isString {
			if err := v.keep(pos, int(h.Arg)); err != nil {
				return err
			}
			pos += int(h.Arg)
		}
	}
	return nil
}

// keep copies n bytes of the payload from pos on to v.bare.
func (v *View) keep(pos, n int) error {
	for n > 0 {
		some := min(n, stretch)
		b, err := v.payload.at(pos, some)
		if err != nil {
			return err
		}
		v.bare = append(v.bare, b...)
		pos, n = pos+some, n-some
	}
	return nil
}

// uncut returns err, about v.bare, with the offset that it has in the whole.
func (v *View) uncut(err error) error {
	if err == nil {
		return nil
	}
	var bad *format.SyntaxError
	if !errors.As(err, &bad) {
		return err
	}
	whole := *bad
	for _, c := range v.cuts {
		if c.at <= bad.Offset {
			whole.Offset += c.n
		}
	}
	return &whole
}

// Eight bytes are looked at as one word. Where the high bit of a byte is clear, adding 0x80-c sets it if the byte is c or
// more, and nothing is carried to the next one.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// foreign has no high bit if all of w's bytes are characters of base64, RFC 4648, section 4. What a byte whose own high
// bit is set carries to the next makes no difference, as it is foreign itself.
func foreign(w uint64) uint64 {
	lower := w | ones*0x20
	letter := (lower + ones*(0x80-'a')) &^ (lower + ones*(0x7f-'z'))
	digit := (w + ones*(0x80-'/')) &^ (w + ones*(0x7f-'9')) // and the slash, which stands before 0
	notPlus := (w ^ ones*'+') + ones*0x7f
	return notPlus&^(letter|digit) | w
}

// base64Len returns how many characters of base64 data begins with, padding of two at most included.
func base64Len(data []byte) int {
	n := 0
	for ; len(data)-n >= 32; n += 32 {
		b := data[n : n+32]
		w := foreign(binary.LittleEndian.Uint64(b)) | foreign(binary.LittleEndian.Uint64(b[8:])) |
			foreign(binary.LittleEndian.Uint64(b[16:])) | foreign(binary.LittleEndian.Uint64(b[24:]))
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
