package y3

import (
	"bytes"
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

var _ format.Editor = Format{}

// Replace plans the change that Patch makes, with the same errors. It costs as much as Lookup, and copies only lengths
// and the bytes of a number or bool.
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

// Insert plans v at p: behind the last packet of its node, or before the item of a slice with its index. A primitive is
// a value that Patch accepts. For a Map or List, v.Bytes is its packets; it becomes a node or, in dialect P, a slice. A
// first key 0x00 would turn a node into a slice: that gives a *format.TypeError, and so does a key outside of Y3's
// range. The other errors are those of format.Editor and of Lookup.
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
		return f.tooLong(len(content), pos)
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

// Delete plans the message without the packet at p. It refuses a change that would alter the meaning of the rest with a
// *format.TypeError: the only packet of a message, the only item of a slice without the slice flag, and the first
// packet of a node if key 0x00 follows. The other errors are those of format.Editor and of Lookup.
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
	if reason := t.refusesDelete(f.Dialect, data, packet); reason != "" {
		return f.typeMismatch(t.span.Kind, field.AnyType, reason)
	}
	if err := t.computeSizes(f, packet.Head-packet.End); err != nil {
		return err
	}
	e.Put(packet.Head, packet.End, nil)
	t.planLengths(e, data)
	return nil
}

// isEncodedByContent reports whether content encodes a value of that kind; the others have their content in v.Bytes.
func isEncodedByContent(k field.Kind) bool { return k == field.Bool || k == field.Int }

// validateContent validates the packets in the Map or List v, nested depth deep, and returns tag with the flags of v's kind.
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

// insertOffset returns where the packet for st is inserted, and its tag.
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

// itemOffset returns the offset of the slice's item index. If the slice has exactly index items, it is the slice's end.
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

// refusesDelete returns the reason why the innermost packet cannot lose p, or "".
func (t *enclosingNodes) refusesDelete(d Dialect, data []byte, p Packet) string {
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

// wouldBeSlice reports whether the innermost node reads as a slice if tag is its first one.
func (t *enclosingNodes) wouldBeSlice(d Dialect, tag byte) bool {
	return d == P && t.n > 0 && t.span.Kind == field.Map && tag&keyMask == Item
}

// planLengths plans the new lengths that resize found.
func (t *enclosingNodes) planLengths(e *format.Edit, data []byte) {
	for i, c := range t.packets[:t.n] {
		var room [maxLengthBytes]byte
		if length := appendLength(room[:0], t.sizes[i]); !bytes.Equal(length, data[c.Head+1:c.Off]) {
			e.PutCopy(c.Head+1, c.Off, length)
		}
	}
}
