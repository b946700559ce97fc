package transcode

import (
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"

	"example.com/ferry/field"
	"example.com/ferry/internal/cborhead"
)

// maxNesting bounds the recursion, because data may not be validated.
const maxNesting = 256

// cborReader reads one CBOR item and passes its values to a writer. It does not use Format.Walk, because Walk skips
// tags, and treats the keys 1 and "1" as equal.
type cborReader struct {
	data  []byte
	pos   int
	w     *typedWriter
	notes *Notes
}

// readItem reads the item at pos. key is the step that leads to the item in its container.
func (r *cborReader) readItem(key field.Step, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("transcode: more than %d containers in containers", maxNesting)
	}
	h, err := r.readHead()
	tagged, tag := false, uint64(0)
	for ; err == nil && h.Major == cborhead.Tag; h, err = r.readHead() {
		if tagged {
			r.noteDroppedTag(tag)
		}
		tagged, tag = true, h.Arg
	}
	if err != nil {
		return err
	}
	isBignum := (tag == tagBignum || tag == tagNegativeBignum) && h.Major == cborhead.Bytes
	if tagged && !isBignum {
		r.noteDroppedTag(tag)
	}
	switch h.Major {
	case cborhead.Uint:
		return r.w.scalar(key, value{Value: field.Value{Kind: field.Int, Int: int64(h.Arg), Unsigned: h.Arg > math.MaxInt64}})
	case cborhead.Nint:
		return r.w.scalar(key, value{Value: field.Value{Kind: field.Int}, number: negativeBignum(new(big.Int).SetUint64(h.Arg)).String()})
	case cborhead.Text, cborhead.Bytes:
		v, err := r.readText(h)
		if err != nil {
			return err
		}
		if isBignum {
			return r.passBignum(key, v.Bytes, tag)
		}
		return r.w.scalar(key, value{Value: v})
	case cborhead.Array, cborhead.Map:
		return r.readContainer(key, h, depth)
	}
	v, err := r.readSimple(h)
	if err != nil {
		return err
	}
	return r.w.scalar(key, value{Value: v, single: v.Kind == field.Float && h.Info != cborhead.Float64&31})
}

func (r *cborReader) noteDroppedTag(tag uint64) {
	r.notes.add("tag " + strconv.FormatUint(tag, 10) + " was dropped")
}

func (r *cborReader) readContainer(key field.Step, h cborhead.Head, depth int) error {
	kind := field.List
	if h.Major == cborhead.Map {
		kind = field.Map
	}
	if err := r.w.begin(key, kind); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if h.Info == cborhead.Indefinite && r.pos < len(r.data) && r.data[r.pos] == cborhead.Break {
			r.pos++
			break
		}
		if h.Info != cborhead.Indefinite && uint64(i) == h.Arg {
			break
		}
		step := field.Step{Index: i, Key: -1}
		if kind == field.Map {
			name, err := r.readKey()
			if err != nil {
				return err
			}
			step = field.Step{Name: name, Index: -1, Key: -1}
		}
		if err := r.readItem(step, depth+1); err != nil {
			return prependStep(step, err)
		}
	}
	return r.w.end()
}

// readKey reads a map key as text. An integer becomes decimal text.
func (r *cborReader) readKey() (string, error) {
	h, err := r.readHead()
	if err != nil {
		return "", err
	}
	switch h.Major {
	case cborhead.Text:
		v, err := r.readText(h)
		return string(v.Bytes), err
	case cborhead.Uint, cborhead.Nint:
		r.notes.add("integer keys became text")
		n := new(big.Int).SetUint64(h.Arg)
		if h.Major == cborhead.Nint {
			negativeBignum(n)
		}
		return n.String(), nil
	}
	return "", fmt.Errorf("transcode: a map key at offset %d is neither text nor an integer", r.pos)
}

// readText reads the content of a text or byte string, and joins the chunks of one without a length. RFC 8949, section
// 3.2.3.
func (r *cborReader) readText(h cborhead.Head) (field.Value, error) {
	v := field.Value{Kind: field.Text}
	if h.Major == cborhead.Bytes {
		v.Kind = field.Bytes
	}
	if h.Info != cborhead.Indefinite {
		if h.Arg > uint64(len(r.data)-r.pos) {
			return v, io.ErrUnexpectedEOF
		}
		v.Bytes = r.data[r.pos : r.pos+int(h.Arg)]
		r.pos += int(h.Arg)
		return v, nil
	}
	for r.pos < len(r.data) && r.data[r.pos] != cborhead.Break {
		chunk, err := r.readHead()
		if err != nil {
			return v, err
		}
		if chunk.Major != h.Major || chunk.Info == cborhead.Indefinite {
			return v, fmt.Errorf("transcode: a chunk of another type at offset %d", r.pos)
		}
		part, err := r.readText(chunk)
		if err != nil {
			return v, err
		}
		v.Bytes = append(v.Bytes, part.Bytes...)
	}
	r.pos++
	return v, nil
}

func (r *cborReader) passBignum(key field.Step, magnitude []byte, tag uint64) error {
	n := new(big.Int).SetBytes(magnitude)
	if n.BitLen() > maxDigits*3 { // a decimal digit has about 3.3 bits
		return fmt.Errorf("transcode: an integer of %d bytes: at most %d digits", len(magnitude), maxDigits)
	}
	if tag == tagNegativeBignum {
		negativeBignum(n)
	}
	return r.w.scalar(key, value{Value: field.Value{Kind: field.Int}, number: n.String()})
}

// negativeBignum sets n to -1-n and returns n. RFC 8949, section 3.1.
func negativeBignum(n *big.Int) *big.Int { return n.Not(n) }

func (r *cborReader) readSimple(h cborhead.Head) (field.Value, error) {
	switch h.Info {
	case cborhead.False & 31, cborhead.True & 31:
		return field.Value{Kind: field.Bool, Bool: h.Info == cborhead.True&31}, nil
	case cborhead.Null & 31:
		return field.Value{Kind: field.Null}, nil
	case cborhead.Undefined & 31:
		r.notes.add("undefined became null")
		return field.Value{Kind: field.Null}, nil
	case cborhead.Float16 & 31:
		return field.Value{Kind: field.Float, Float: cborhead.Half(uint16(h.Arg))}, nil
	case cborhead.Float32 & 31:
		return field.Value{Kind: field.Float, Float: float64(math.Float32frombits(uint32(h.Arg)))}, nil
	case cborhead.Float64 & 31:
		return field.Value{Kind: field.Float, Float: math.Float64frombits(h.Arg)}, nil
	}
	return field.Value{}, fmt.Errorf("transcode: simple value %d has no form in another format", h.Arg)
}

// readHead reads the head at pos, and advances pos past the head.
func (r *cborReader) readHead() (cborhead.Head, error) {
	h, err := cborhead.Read(r.data, r.pos)
	r.pos = h.Next
	return h, err
}
