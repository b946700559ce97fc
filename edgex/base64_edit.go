package edgex

import (
	"bytes"
	"encoding/base64"
	"io"
	"slices"
)

// blockSize is the number of bytes that are decoded and encoded again in one step. It is a multiple of three.
const blockSize = 3 << 10

// editBase64 turns the changes of an event within base64 into changes of the text. A change may move the bytes after it by a
// multiple of three. Then only the groups of three bytes that the change touches are decoded and encoded again. Any other
// change encodes all bytes after it again, in blocks, until a later change moves the rest back to its place within a group.
func (v *View) editBase64() error {
	text := v.data[v.start:]
	parts := v.inner.parts
	v.encoded = v.encoded[:0]
	for i := 0; i < len(parts); {
		first := parts[i].off / 3 * 3
		begin, pos, moved := len(v.encoded), first, 0
		v.pending = v.pending[:0]
		for done := false; !done; {
			if err := v.reencode(text, pos, parts[i].off); err != nil {
				return err
			}
			v.pending = append(v.pending, parts[i].with...)
			moved += len(parts[i].with) - (parts[i].end - parts[i].off)
			pos = parts[i].end
			i++
			switch last := i == len(parts); {
			case moved%3 != 0 && last: // encode again up to the end of the text
				n := bytes.IndexByte(text, '"')
				if n < 0 || n%4 != 0 {
					return io.ErrUnexpectedEOF
				}
				n = decodedLen(text[:n])
				if err := v.reencode(text, pos, n); err != nil {
					return err
				}
				pos, done = n, true
			case moved%3 == 0 && (last || parts[i].off >= (pos+2)/3*3): // encode again up to the end of the group
				rest, err := appendDecoded(v.pending, text, pos, (pos+2)/3*3)
				if v.pending = rest; err != nil {
					return err
				}
				pos, done = (pos+2)/3*3, true
			}
		}
		v.encoded = base64.StdEncoding.AppendEncode(v.encoded, v.pending)
		v.edit.Put(v.start+first/3*4, v.start+(pos+2)/3*4, v.encoded[begin:len(v.encoded):len(v.encoded)])
	}
	return nil
}

// reencode decodes the bytes from..to of the base64 text into v.pending and encodes whole blocks of v.pending into v.encoded.
func (v *View) reencode(text []byte, from, to int) error {
	for from < to {
		n := min(blockSize, to-from)
		var err error
		if v.pending, err = appendDecoded(v.pending, text, from, from+n); err != nil {
			return err
		}
		from += n
		if whole := len(v.pending) / 3 * 3; whole >= blockSize {
			v.encoded = base64.StdEncoding.AppendEncode(v.encoded, v.pending[:whole])
			v.pending = append(v.pending[:0], v.pending[whole:]...)
		}
	}
	return nil
}

// appendDecoded appends the bytes from..to of the base64 text to dst. It appends fewer bytes if padding ends the base64
// earlier.
func appendDecoded(dst, text []byte, from, to int) ([]byte, error) {
	start, end := from/3*4, (to+2)/3*4
	if end > len(text) {
		return dst, io.ErrUnexpectedEOF
	}
	at := len(dst)
	dst = slices.Grow(dst, (end-start)/4*3+2)
	n, err := decodeBase64(dst[at:cap(dst)], text[start:end])
	if err != nil {
		return dst, err
	}
	if (end-start)/4*3-n >= 3 || n < from%3 {
		return dst, io.ErrUnexpectedEOF
	}
	dst = dst[:at+n]
	copy(dst[at:], dst[at+from%3:])
	return dst[:at+min(n-from%3, to-from)], nil
}

// decodedLen returns the number of bytes that text encodes. text consists of groups of four characters.
func decodedLen(text []byte) int {
	n := len(text) / 4 * 3
	for _, c := range text[max(len(text)-2, 0):] {
		if c == '=' {
			n--
		}
	}
	return n
}
