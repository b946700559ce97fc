package y3

import (
	"bytes"
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

var _ format.Editor = Format{}

// Replace plans the change that Patch makes. The errors are the same. The cost is that of Lookup. Only lengths and the
// bytes of a number or bool are copied.
func (f Format) Replace(e *format.Edit, data []byte, p field.Path, v field.Value) error {
	e.Reset(data)
	var t enclosingNodes
	if err := t.followToPrimitive(f, data, p); err != nil {
		return err
	}
	var number [10]byte
	content, err := f.encodeValue(number[:0], v)
	if err != nil {
		return err
	}
	if err := t.computeSizes(f, len(content)-(t.span.End-t.span.Off)); err != nil {
		return err
	}
	if isEncodedByContent(v.Kind) {
		e.PutCopy(t.span.Off, t.span.End, content)
	} else {
		e.Put(t.span.Off, t.span.End, v.Bytes)
	}
	t.planLengths(e, data)
	return nil
}

// Insert plans the insertion of v at p. A node gets the new packet at its end. A slice gets the new item before the
// item that has its index. A scalar v must be a value that Patch accepts. For a Map, v.Bytes is the packets of a new
// node. For a List, v.Bytes is the items of a new slice, which dialect P allows. A node whose first packet has key 0x00
// would be read as a slice, so Insert refuses to create one. That error is a *format.TypeError, and so is the error for
// a key outside 0x00 to 0x3f. The other errors are those of format.Editor and of Lookup.
func (f Format) Insert(e *format.Edit, data []byte, p field.Path, v field.Value) error {
	e.Reset(data)
	parent, last, ok := p.Parent()
	if !ok {
		return format.ErrExists
	}
	var t enclosingNodes
	if err := t.follow(data, parent, f.Dialect); err != nil {
		return err
	}
	pos, tag, err := t.insertOffset(f, data, last)
	if err != nil {
		return err
	}
	var number [10]byte
	content := v.Bytes
	if v.Kind == field.List || v.Kind == field.Map {
		tag, err = f.validateContent(v, tag, p.Len())
	} else {
		content, err = f.encodeValue(number[:0], v)
	}
	if err != nil {
		return err
	}
	if len(content) > MaxLength {
		return f.sizeError(len(content), pos)
	}
	if err := t.computeSizes(f, 1+lengthSize(len(content))+len(content)); err != nil {
		return err
	}
	b := appendLength(append(e.Room(), tag), len(content))
	if isEncodedByContent(v.Kind) {
		e.PutCopy(pos, pos, append(b, content...))
	} else {
		e.PutCopy(pos, pos, b)
		e.Put(pos, pos, v.Bytes)
	}
	t.planLengths(e, data)
	return nil
}

// Delete plans the removal of the packet at p. It refuses a removal that would change how the rest is read. These are
// the only packet of a message, the only item of a slice without the slice flag, and the first packet of a node if the
// next packet has key 0x00. The error is then a *format.TypeError. The other errors are those of format.Editor and of
// Lookup.
func (f Format) Delete(e *format.Edit, data []byte, p field.Path) error {
	e.Reset(data)
	parent, last, ok := p.Parent()
	if !ok {
		return format.ErrWhole
	}
	var t enclosingNodes
	if err := t.follow(data, parent, f.Dialect); err != nil {
		return err
	}
	head, err := findPacket(data, t.span, last)
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
	if reason := t.deleteRefusal(f.Dialect, data, packet); reason != "" {
		return f.typeMismatch(t.span.Kind, field.AnyType, reason)
	}
	if err := t.computeSizes(f, packet.Head-packet.End); err != nil {
		return err
	}
	e.Put(packet.Head, packet.End, nil)
	t.planLengths(e, data)
	return nil
}

// isEncodedByContent reports whether encodeValue encodes a value of this kind. A value of another kind is copied from
// v.Bytes.
func isEncodedByContent(k field.Kind) bool { return k == field.Bool || k == field.Int }

// validateContent validates the packets in the Map or List v. It returns tag with the flags for the kind of v. depth is
// the number of steps in the path of v.
func (f Format) validateContent(v field.Value, tag byte, depth int) (byte, error) {
	tag |= nodeFlag
	if v.Kind == field.List {
		if f.Dialect == N {
			return 0, f.typeMismatch(v.Kind, field.AnyType, "dialect N has no slices")
		}
		tag |= sliceFlag
	}
	var o format.Options
	if err := f.validate(v.Bytes, o, 0, len(v.Bytes), o.Depth()-depth, v.Kind == field.List); err != nil {
		return 0, fmt.Errorf("%s: the %v to be inserted: %w", f.Name(), v.Kind, err)
	}
	if have := f.Dialect.kind(v.Bytes, tag, 0, len(v.Bytes)); have != v.Kind {
		return 0, f.typeMismatch(have, field.AnyType, "packets of which the first has key 0x00 are a slice")
	}
	return tag, nil
}

// insertOffset returns the offset at which the packet for st is inserted, and the packet's tag.
func (t *enclosingNodes) insertOffset(f Format, data []byte, st field.Step) (pos int, tag byte, err error) {
	switch {
	case t.span.Kind == field.List && st.Index >= 0:
		pos, err = t.itemOffset(data, st.Index)
		return pos, Item, err
	case t.span.Kind != field.Map:
		return 0, 0, field.ErrNotFound
	case st.Key < 0:
		return 0, 0, f.typeMismatch(t.span.Kind, field.AnyType, fmt.Sprintf("its keys are 0x00 to 0x3f, and not %q", st.Name))
	}
	tag = byte(st.Key)
	switch pos, err = findPacket(data, t.span, st); {
	case err != nil:
		return 0, 0, err
	case pos < t.span.End:
		return 0, 0, format.ErrExists
	case t.span.Off == t.span.End && t.wouldBeSlice(f.Dialect, tag):
		return 0, 0, f.typeMismatch(t.span.Kind, field.AnyType, "a node whose first key is 0x00 is a slice")
	}
	return pos, tag, nil
}

// itemOffset returns the offset of the slice's item with this index. If the slice has exactly index items, the result
// is the slice's end.
func (t *enclosingNodes) itemOffset(data []byte, index int) (int, error) {
	pos, err := scanPackets(data, t.span.Off, t.span.End, 1<<Item)
	for n := 0; err == nil && n < index; n++ {
		if pos == t.span.End {
			return 0, field.ErrNotFound
		}
		var p Packet
		if p, err = Next(data, pos, t.span.End); err == nil {
			pos, err = scanPackets(data, p.End, t.span.End, 1<<Item)
		}
	}
	return pos, err
}

// deleteRefusal returns the reason why p must not be deleted from the innermost node, or "".
func (t *enclosingNodes) deleteRefusal(d Dialect, data []byte, p Packet) string {
	first, last := p.Head == t.span.Off, p.End == t.span.End
	switch {
	case first && last && t.n == 0:
		return "a message without a packet is none"
	case first && last && t.span.Kind == field.List && t.packets[t.n-1].Tag&sliceFlag == 0:
		return "a slice without a flag and without items would be a node"
	case first && !last && t.wouldBeSlice(d, data[p.End]):
		return "without its first packet the node would be a slice, as key 0x00 comes next"
	}
	return ""
}

// wouldBeSlice reports whether the innermost node would be read as a slice if tag were its first tag.
func (t *enclosingNodes) wouldBeSlice(d Dialect, tag byte) bool {
	return d == P && t.n > 0 && t.span.Kind == field.Map && tag&keyMask == Item
}

// planLengths plans the lengths that computeSizes found.
func (t *enclosingNodes) planLengths(e *format.Edit, data []byte) {
	for i, c := range t.packets[:t.n] {
		var room [maxLengthBytes]byte
		if length := appendLength(room[:0], t.sizes[i]); !bytes.Equal(length, data[c.Head+1:c.Off]) {
			e.PutCopy(c.Head+1, c.Off, length)
		}
	}
}
