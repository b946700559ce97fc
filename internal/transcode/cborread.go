package transcode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"

	"example.com/ferry/field"
)

// maxNesting bounds the recursion for data that nobody validated.
const maxNesting = 256

// cborReader tells a writer what one CBOR item holds. It reads the item itself, since a walk of fields looks through tags
// and takes the keys 1 and "1" as one, and here both make a difference.
type cborReader struct {
	data  []byte
	pos   int
	w     *shaper
	notes *Notes
}

// item reads the item at pos, which stands under key.
func (r *cborReader) item(key field.Step, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("transcode: more than %d containers in containers", maxNesting)
	}
	h, err := r.head()
	tag := uint64(0)
	for ; err == nil && h.major == cborTag; h, err = r.head() {
		if tag > tagNegativeBignum {
			r.dropped(tag)
		}
		tag = h.arg
	}
	if err != nil {
		return err
	}
	isBignum := (tag == tagBignum || tag == tagNegativeBignum) && h.major == cborBytes
	if tag > 0 && !isBignum {
		r.dropped(tag)
	}
	switch h.major {
	case cborUint:
		return r.w.scalar(key, value{Value: field.Value{Kind: field.Int, Int: int64(h.arg), Unsigned: h.arg > math.MaxInt64}})
	case cborNint:
		return r.w.scalar(key, value{Value: field.Value{Kind: field.Int}, number: negative(new(big.Int).SetUint64(h.arg)).String()})
	case cborText, cborBytes:
		v, err := r.text(h)
		if err != nil {
			return err
		}
		if isBignum {
			return r.bignum(key, v.Bytes, tag)
		}
		return r.w.scalar(key, value{Value: v})
	case cborList, cborMap:
		return r.container(key, h, depth)
	}
	v, err := r.simple(h)
	if err != nil {
		return err
	}
	return r.w.scalar(key, value{Value: v, single: v.Kind == field.Float && h.size < 8})
}

func (r *cborReader) dropped(tag uint64) {
	r.notes.add("tag " + strconv.FormatUint(tag, 10) + " was dropped")
}

func (r *cborReader) container(key field.Step, h cborHead, depth int) error {
	kind := field.List
	if h.major == cborMap {
		kind = field.Map
	}
	if err := r.w.begin(key, kind); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if h.indefinite && r.pos < len(r.data) && r.data[r.pos] == cborBreak {
			r.pos++
			break
		}
		if !h.indefinite && uint64(i) == h.arg {
			break
		}
		step := field.Step{Index: i, Key: -1}
		if kind == field.Map {
			name, err := r.key()
			if err != nil {
				return err
			}
			step = field.Step{Name: name, Index: -1, Key: -1}
		}
		if err := r.item(step, depth+1); err != nil {
			return within(step, err)
		}
	}
	return r.w.end()
}

// key reads a map key. An integer becomes its decimal text.
func (r *cborReader) key() (string, error) {
	h, err := r.head()
	if err != nil {
		return "", err
	}
	switch h.major {
	case cborText:
		v, err := r.text(h)
		return string(v.Bytes), err
	case cborUint, cborNint:
		r.notes.add("integer keys became text")
		n := new(big.Int).SetUint64(h.arg)
		if h.major == cborNint {
			negative(n)
		}
		return n.String(), nil
	}
	return "", fmt.Errorf("transcode: a map key at offset %d is neither text nor an integer", r.pos)
}

// text reads the content of a text or byte string, and puts its chunks together. RFC 8949, section 3.2.3.
func (r *cborReader) text(h cborHead) (field.Value, error) {
	v := field.Value{Kind: field.Text}
	if h.major == cborBytes {
		v.Kind = field.Bytes
	}
	if !h.indefinite {
		if h.arg > uint64(len(r.data)-r.pos) {
			return v, io.ErrUnexpectedEOF
		}
		v.Bytes = r.data[r.pos : r.pos+int(h.arg)]
		r.pos += int(h.arg)
		return v, nil
	}
	for r.pos < len(r.data) && r.data[r.pos] != cborBreak {
		chunk, err := r.head()
		if err != nil {
			return v, err
		}
		if chunk.major != h.major || chunk.indefinite {
			return v, fmt.Errorf("transcode: a chunk of another type at offset %d", r.pos)
		}
		part, err := r.text(chunk)
		if err != nil {
			return v, err
		}
		v.Bytes = append(v.Bytes, part.Bytes...)
	}
	r.pos++
	return v, nil
}

func (r *cborReader) bignum(key field.Step, magnitude []byte, tag uint64) error {
	n := new(big.Int).SetBytes(magnitude)
	if n.BitLen() > maxDigits*3 { // some 3.3 bits a digit
		return fmt.Errorf("transcode: an integer of %d bytes: at most %d digits", len(magnitude), maxDigits)
	}
	if tag == tagNegativeBignum {
		negative(n)
	}
	return r.w.scalar(key, value{Value: field.Value{Kind: field.Int}, number: n.String()})
}

// negative makes n -1-n. RFC 8949, section 3.1.
func negative(n *big.Int) *big.Int { return n.Not(n) }

func (r *cborReader) simple(h cborHead) (field.Value, error) {
	switch {
	case h.size == 0 && (h.arg == 20 || h.arg == 21):
		return field.Value{Kind: field.Bool, Bool: h.arg == 21}, nil
	case h.size == 0 && h.arg == 22:
		return field.Value{Kind: field.Null}, nil
	case h.size == 0 && h.arg == 23:
		r.notes.add("undefined became null")
		return field.Value{Kind: field.Null}, nil
	case h.size == 2:
		return field.Value{Kind: field.Float, Float: float16(uint16(h.arg))}, nil
	case h.size == 4:
		return field.Value{Kind: field.Float, Float: float64(math.Float32frombits(uint32(h.arg)))}, nil
	case h.size == 8:
		return field.Value{Kind: field.Float, Float: math.Float64frombits(h.arg)}, nil
	}
	return field.Value{}, fmt.Errorf("transcode: simple value %d has no form in another format", h.arg)
}

// float16 widens a half-precision number. RFC 8949, appendix D.
func float16(bits uint16) float64 {
	exponent, fraction := int(bits>>10&31), float64(bits&1023)
	f := math.Ldexp(fraction+1024, exponent-25)
	switch {
	case exponent == 0:
		f = math.Ldexp(fraction, -24)
	case exponent == 31 && fraction == 0:
		f = math.Inf(1)
	case exponent == 31:
		f = math.NaN()
	}
	if bits>>15 == 1 {
		return -f
	}
	return f
}

// cborHead is the start of one item.
type cborHead struct {
	major      byte
	indefinite bool
	size       int // bytes behind the initial one
	arg        uint64
}

func (r *cborReader) head() (cborHead, error) {
	if r.pos >= len(r.data) {
		return cborHead{}, io.ErrUnexpectedEOF
	}
	b := r.data[r.pos]
	r.pos++
	h := cborHead{major: b &^ 31, arg: uint64(b & 31)}
	switch info := b & 31; {
	case info < 24:
		return h, nil
	case info <= 27:
		h.size = 1 << (info - 24)
		if len(r.data)-r.pos < h.size {
			return h, io.ErrUnexpectedEOF
		}
		var wide [8]byte
		copy(wide[8-h.size:], r.data[r.pos:r.pos+h.size])
		h.arg = binary.BigEndian.Uint64(wide[:])
		r.pos += h.size
		return h, nil
	case info == 31 && h.major >= cborBytes && h.major <= cborMap:
		h.indefinite = true
		return h, nil
	}
	return h, errors.New("transcode: initial byte 0x" + strconv.FormatUint(uint64(b), 16) + " at offset " + strconv.Itoa(r.pos-1) + " starts no item")
}
