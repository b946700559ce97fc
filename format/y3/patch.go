package y3

import (
	"fmt"
	"math"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Patch appends data to dst with the primitive at p replaced by v, and returns the extended dst. It updates the lengths
// of all nodes around the primitive. Text, bytes and Untyped are copied. A bool becomes one byte. An integer is encoded
// as a signed integer of the dialect. An integer from 2^63 on is encoded as the int64 with the same bits. A float has
// two encodings, so it gives an error: use Cast first. On an error Patch returns dst unchanged.
func (f Format) Patch(dst, data []byte, p field.Path, v field.Value) ([]byte, error) {
	var t enclosingNodes
	if err := t.followToPrimitive(f, data, p); err != nil {
		return dst, err
	}
	var number [10]byte
	content, err := f.encodeValue(number[:0], v)
	if err != nil {
		return dst, err
	}
	if err := t.computeSizes(f, len(content)-(t.span.End-t.span.Off)); err != nil {
		return dst, err
	}
	pos := 0
	for i, c := range t.packets[:t.n] {
		dst = append(dst, data[pos:c.Head+1]...)
		dst = appendLength(dst, t.sizes[i])
		pos = c.Off
	}
	dst = append(dst, content...)
	return append(dst, data[t.span.End:]...), nil
}

// PatchInPlace overwrites the primitive at p in data itself. It does so only if the encoded v has exactly as many bytes
// as the old value. Otherwise it returns false and leaves data unchanged. It accepts the same values as Patch.
func (f Format) PatchInPlace(data []byte, p field.Path, v field.Value) (bool, error) {
	at, err := f.Lookup(data, p)
	if err != nil {
		return false, err
	}
	if at.Kind != field.Untyped {
		return false, f.typeMismatch(at.Kind, field.AnyType, "only a primitive packet can be replaced")
	}
	var scratch [10]byte
	content, err := f.encodeValue(scratch[:0], v)
	if err != nil || len(content) != at.End-at.Off {
		return false, err
	}
	copy(data[at.Off:at.End], content)
	return true, nil
}

// enclosingNodes holds the packets on the way to a value, outermost first, and their new sizes. The last packet is that
// of the value.
type enclosingNodes struct {
	span    field.Span // span of the value
	n       int
	packets [field.MaxSteps]Packet
	sizes   [field.MaxSteps]int // new size of each packet's value in bytes
}

// follow looks up p and stores all packets on the way.
func (t *enclosingNodes) follow(data []byte, p field.Path, d Dialect) error {
	t.span = field.Span{End: len(data), Kind: field.Map}
	for _, st := range p.Steps() {
		head, err := findPacket(data, t.span, st)
		if err != nil {
			return err
		}
		if head == t.span.End {
			return field.ErrNotFound
		}
		packet, err := Next(data, head, t.span.End)
		if err != nil {
			return err
		}
		t.span = d.span(data, packet)
		t.packets[t.n] = packet
		t.n++
	}
	return nil
}

func (t *enclosingNodes) followToPrimitive(f Format, data []byte, p field.Path) error {
	err := t.follow(data, p, f.Dialect)
	if err == nil && t.span.Kind != field.Untyped {
		err = f.typeMismatch(t.span.Kind, field.AnyType, "only a primitive packet can be replaced")
	}
	return err
}

// computeSizes computes the new size of each packet, innermost first. A larger value may need a longer length, which
// enlarges the packet around it.
func (t *enclosingNodes) computeSizes(f Format, grown int) error {
	for i := t.n - 1; i >= 0; i-- {
		c := t.packets[i]
		size := c.End - c.Off + grown
		if size > MaxLength {
			return f.sizeError(size, c.Head)
		}
		t.sizes[i] = size
		grown += lengthSize(size) - (c.Off - c.Head - 1)
	}
	return nil
}

func (f Format) sizeError(size, offset int) error {
	return fmt.Errorf("%s: patched node of %d bytes at offset %d: at most %d", f.Name(), size, offset, MaxLength)
}

// encodeValue returns the encoding of v. It encodes a number or bool into scratch.
func (f Format) encodeValue(scratch []byte, v field.Value) ([]byte, error) {
	switch v.Kind {
	case field.Untyped, field.Text, field.Bytes:
		return v.Bytes, nil
	case field.Bool:
		return appendBool(scratch, v.Bool), nil
	case field.Int:
		return f.Dialect.appendInteger(scratch, v.Int), nil
	case field.Float:
		return nil, &format.TypeError{Format: f.Name(), Have: field.Float, Want: field.AnyType, Reason: "say float32 or float64"}
	}
	return nil, f.typeMismatch(v.Kind, field.AnyType, "a primitive packet holds a bool, a number, text or bytes")
}

// Cast returns v encoded as the type as, in an Untyped value that Patch accepts. An integer may become a float. A value
// out of the type's range or of another kind gives *format.TypeError.
func (f Format) Cast(v field.Value, as field.Type) (field.Value, error) {
	untyped := func(b []byte) (field.Value, error) { return field.Value{Kind: field.Untyped, Bytes: b}, nil }
	isFloat := v.Kind == field.Float
	if v.Kind == field.Int && (as == field.Float32 || as == field.Float64) {
		v.Float, isFloat = float64(v.Int), true
		if v.Unsigned {
			v.Float = float64(uint64(v.Int))
		}
	}
	var low, high int64
	switch as {
	case field.Int32:
		low, high = math.MinInt32, math.MaxInt32
	case field.Uint32:
		low, high = 0, math.MaxUint32
	case field.Int64:
		low, high = math.MinInt64, math.MaxInt64
	case field.Uint64:
		low, high = 0, math.MaxInt64
	}
	switch {
	case low < high && v.Kind == field.Int:
		switch {
		case v.Unsigned && as == field.Uint64:
		case v.Unsigned || v.Int < low || v.Int > high:
			return field.Value{}, f.typeMismatch(v.Kind, as, fmt.Sprintf("it is out of range %d to %d", low, high))
		case as == field.Uint32:
			v.Int = int64(int32(v.Int)) // written as the int32 with the same bits
		}
		return untyped(f.Dialect.appendInteger(nil, v.Int))
	case as == field.Float32 && isFloat:
		return untyped(appendFloat32(nil, float32(v.Float)))
	case as == field.Float64 && isFloat:
		return untyped(appendFloat64(nil, v.Float))
	case as == field.Boolean && v.Kind == field.Bool:
		return untyped(appendBool(nil, v.Bool))
	case as == field.String && v.Kind == field.Text, as == field.ByteString && (v.Kind == field.Text || v.Kind == field.Bytes), as == field.AnyType && v.Kind == field.Untyped:
		return untyped(v.Bytes)
	}
	return field.Value{}, f.typeMismatch(v.Kind, as, "the kinds differ")
}
