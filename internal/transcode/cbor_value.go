package transcode

import (
	"fmt"
	"math/big"
	"strconv"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/internal/cborhead"
)

// skipCBORTags returns the head of the item at pos, behind its tags. It adds a note for each tag, except for the tag of a bignum, which
// it returns.
func skipCBORTags(data []byte, pos int, notes *Notes) (h cborhead.Head, bignum uint64, err error) {
	h, err = cborhead.Read(data, pos)
	for err == nil && h.Major == cborhead.Tag {
		tag := h.Arg
		if h, err = cborhead.Read(data, h.Next); h.Major == cborhead.Bytes && (tag == tagBignum || tag == tagNegativeBignum) {
			return h, tag, err
		}
		notes.add("tag " + strconv.FormatUint(tag, 10) + " was dropped")
	}
	return h, 0, err
}

// cborValue decodes the scalar at a span. Value knows neither bignums nor integers below int64, and does not tell undefined from null.
func cborValue(f format.Format, data []byte, at field.Span, notes *Notes) (value, error) {
	h, bignum, err := skipCBORTags(data, at.Head, notes)
	switch {
	case err != nil:
		return value{}, err
	case at.Kind == field.Extension:
		return value{}, fmt.Errorf("transcode: simple value %d has no form in another format", h.Arg)
	case h.Major == cborhead.Nint:
		return value{Value: field.Value{Kind: field.Int}, number: negativeBignum(new(big.Int).SetUint64(h.Arg)).String()}, nil
	case h.Major == cborhead.Simple && h.Info == cborhead.Undefined&31:
		notes.add("undefined became null")
	}
	v, err := f.Value(data, at, field.AnyType)
	if err != nil || bignum == 0 {
		return value{Value: v, single: v.Kind == field.Float && h.Info != cborhead.Float64&31}, err
	}
	n := new(big.Int).SetBytes(v.Bytes)
	if n.BitLen() > maxDigits*3 { // a decimal digit has about 3.3 bits
		return value{}, fmt.Errorf("transcode: an integer of %d bytes: at most %d digits", len(v.Bytes), maxDigits)
	}
	if bignum == tagNegativeBignum {
		negativeBignum(n)
	}
	return value{Value: field.Value{Kind: field.Int}, number: n.String()}, nil
}

// negativeBignum sets n to -1-n and returns n. RFC 8949, section 3.1.
func negativeBignum(n *big.Int) *big.Int { return n.Not(n) }

// cborStep returns the step to a value in a map whose key is at pos. An integer becomes decimal text.
func cborStep(data []byte, pos int, step field.Step, notes *Notes) (field.Step, error) {
	h, err := cborhead.Read(data, pos)
	switch {
	case err != nil:
		return step, err
	case h.Major > cborhead.Nint && h.Major != cborhead.Text:
		return step, fmt.Errorf("transcode: the map key at offset %d is neither text nor an integer", pos)
	case h.Major != cborhead.Text:
		notes.add("integer keys became text")
		if step.Name == "" {
			step = field.Step{Name: strconv.Itoa(step.Index), Index: -1, Key: -1}
		}
	}
	return step, nil
}
