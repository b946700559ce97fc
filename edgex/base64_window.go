package edgex

import (
	"encoding/binary"
	"fmt"
	"io"

	"example.com/ferry/format"
)

// windowSize is the number of bytes that one step decodes from base64. The fields before the readings usually fit.
const windowSize = 240

// window gives access to the bytes of a message. If the message is in base64, it decodes windowSize bytes at a time.
type window struct {
	bytes []byte // a part of the message; its first byte is at offset base
	base  int
	text  []byte // the base64 and the bytes after it; nil if bytes is the whole message
	buf   []byte // memory that bytes uses after decoding
}

// plain sets w to data, which is not in base64.
func (w *window) plain(data []byte) {
	w.bytes, w.base, w.text = data, 0, nil
}

// encoded sets w to the base64 text at the start of text.
func (w *window) encoded(text []byte) {
	w.bytes, w.base, w.text = nil, 0, text
}

// limit is an upper bound of all offsets.
func (w *window) limit() int {
	if w.text != nil {
		return len(w.text) / 4 * 3
	}
	return len(w.bytes)
}

// at returns the n bytes that start at pos. They are valid until the next call of at.
func (w *window) at(pos, n int) ([]byte, error) {
	if off := uint(pos - w.base); off <= uint(len(w.bytes)) && n <= len(w.bytes)-int(off) {
		return w.bytes[off : int(off)+n], nil
	}
	return w.moveWindow(pos, n)
}

func (w *window) moveWindow(pos, n int) ([]byte, error) {
	if w.text == nil || pos < 0 || n > w.limit()-pos {
		return nil, io.ErrUnexpectedEOF
	}
	group := pos / 3
	want := max(windowSize, pos%3+n)
	w.base = group * 3
	chars := w.text[group*4 : min(group*4+(want+2)/3*4, len(w.text)/4*4)]
	if need := len(chars)/4*3 + 4; cap(w.buf) < need {
		w.buf = make([]byte, need)
	}
	size, err := decodeBase64(w.buf[:cap(w.buf)], chars)
	w.bytes = w.buf[:size]
	off := pos - w.base
	if n <= size-off {
		return w.bytes[off : off+n], nil
	}
	if err != nil {
		return nil, err
	}
	return nil, io.ErrUnexpectedEOF
}

// sextets are the values of the characters of base64, shifted to each of the four places in a group. Any other character has
// the value invalid. RFC 4648, section 4.
var sextets = func() (t [4][256]uint32) {
	for i := range t {
		for c := range t[i] {
			t[i][c] = invalid
		}
		for v, c := range []byte(alphabet) {
			t[i][c] = uint32(v) << (18 - 6*i)
		}
	}
	return t
}()

const (
	alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	invalid  = 1 << 31
)

// decodeBase64 decodes groups of four characters. It stops at the end of text, at a quote or after padding. The padding must
// be canonical. It returns the number of decoded bytes. It writes up to two bytes more than it decodes, so dst must have room
// for them.
func decodeBase64(dst, text []byte) (n int, err error) {
	for len(text) >= 8 {
		v := sextets[0][text[0]] | sextets[1][text[1]] | sextets[2][text[2]] | sextets[3][text[3]]
		w := sextets[0][text[4]] | sextets[1][text[5]] | sextets[2][text[6]] | sextets[3][text[7]]
		if v|w >= invalid {
			break
		}
		binary.BigEndian.PutUint64(dst[n:], uint64(v)<<40|uint64(w)<<16)
		n += 6
		text = text[8:]
	}
	for len(text) >= 4 {
		v := sextets[0][text[0]] | sextets[1][text[1]] | sextets[2][text[2]] | sextets[3][text[3]]
		if v >= invalid {
			if text[0] == '"' {
				return n, nil
			}
			k, err := lastGroup(dst[n:], text)
			return n + k, err
		}
		binary.BigEndian.PutUint32(dst[n:], v<<8)
		n += 3
		text = text[4:]
	}
	return n, nil
}

// lastGroup decodes a group of four characters that ends with padding. RFC 4648, sections 3.5 and 4.
func lastGroup(dst, text []byte) (n int, err error) {
	n = 2
	if text[2] == '=' {
		n = 1
	}
	v := sextets[0][text[0]] | sextets[1][text[1]]
	if n == 2 {
		v |= sextets[2][text[2]]
	}
	if text[3] != '=' || v >= invalid {
		return 0, badBase64(text[:4])
	}
	if v<<(8*n+8) != 0 {
		return 0, fmt.Errorf("edgex: base64 ends with %q, whose last bits are not zero: the text is damaged, or not canonical", text[:4])
	}
	copy(dst, []byte{byte(v >> 16), byte(v >> 8)}[:n])
	return n, nil
}

func badBase64(group []byte) error {
	return fmt.Errorf("edgex: %q is no group of base64 (A-Z a-z 0-9 + / and = at the end): the payload is damaged, or not base64", group)
}

func syntax(name string, offset int, reason string) error {
	return &format.SyntaxError{Format: name, Offset: offset, Reason: reason}
}
