package y3

import (
	"bytes"
	"fmt"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

var _ format.Editor = Format{}

// Replace plans what Patch does. It costs what finding the value costs and copies no more than lengths, and the bytes of
// a number or a bool. The errors are Patch's.
func (f Format) Replace(e *format.Edit, data []byte, p field.Path, v field.Value) error {
	e.Reset(data)
	var t enclosingNodes
	if err := t.toPrimitive(f, data, p); err != nil {
		return err
	}
	var number [10]byte
	content, err := f.content(number[:0], v)
	if err != nil {
		return err
	}
	if err := t.resize(f, len(content)-(t.at.End-t.at.Off)); err != nil {
		return err
	}
	if isIntegerType(v.Kind) {
		e.PutCopy(t.at.Off, t.at.End, content)
	} else {
		e.Put(t.at.Off, t.at.End, v.Bytes)
	}
	t.relength(e, data)
	return nil
}

// Insert plans v at p: behind the last packet of its node, or before the item of a slice that has its index. A primitive
// is what Patch takes; a Map or List as v is the packets in it, and becomes a node or, in dialect P, a slice. A first key
// 0x00 in a node would make it a slice: that, and a key that is none of Y3's, is a *format.TypeError. The other errors
// are those that format.Editor names, and Lookup's.
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
	pos, tag, err := t.room(f, data, last)
	if err != nil {
		return err
	}
	var number [10]byte
	content := v.Bytes
	if v.Kind == field.List || v.Kind == field.Map {
		tag, err = f.holds(v, tag, p.Len())
	} else {
		content, err = f.content(number[:0], v)
	}
	if err != nil {
		return err
	}
	if len(content) > MaxLength {
		return f.tooLong(len(content), pos)
	}
	if err := t.resize(f, 1+lengthSize(len(content))+len(content)); err != nil {
		return err
	}
	b := appendLength(append(e.Room(), tag), len(content))
	if isIntegerType(v.Kind) {
		e.PutCopy(pos, pos, append(b, content...))
	} else {
		e.PutCopy(pos, pos, b)
		e.Put(pos, pos, v.Bytes)
	}
	t.relength(e, data)
	return nil
}

// Delete plans the message without the packet at p. A message cannot do without its only packet, nor can what would read
// as something else: a slice without a flag without its only item, or a node without its first packet if key 0x00 comes
// next. These are a *format.TypeError; the other errors are those that format.Editor names, and Lookup's.
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
	head, err := findPacket(data, t.at, last)
	if err != nil {
		return err
	}
	if head == t.at.End {
		return field.ErrNotFound
	}
	packet, err := Next(data, head, t.at.End)
	if err != nil {
		return err
	}
	if reason := t.needs(f.Dialect, data, packet); reason != "" {
		return f.mismatch(t.at.Kind, field.AnyType, reason)
	}
	if err := t.resize(f, packet.Head-packet.End); err != nil {
		return err
	}
	e.Put(packet.Head, packet.End, nil)
	t.relength(e, data)
	return nil
}

// isIntegerType reports whether the bytes of a value are made for it, and not given with it.
func isIntegerType(k field.Kind) bool { return k == field.Bool || k == field.Int }

// holds validates the packets in the Map or List v, and returns tag as that of what holds them, in depth nodes.
func (f Format) holds(v field.Value, tag byte, depth int) (byte, error) {
	tag |= nodeFlag
	if v.Kind == field.List {
		if f.Dialect == N {
			return 0, f.mismatch(v.Kind, field.AnyType, "dialect N has no slices")
		}
		tag |= sliceFlag
	}
	var o format.Options
	if err := f.validate(v.Bytes, o, 0, len(v.Bytes), o.Depth()-depth, v.Kind == field.List); err != nil {
		return 0, fmt.Errorf("%s: the %v to be inserted: %w", f.Name(), v.Kind, err)
	}
	if have := f.Dialect.kind(v.Bytes, tag, 0, len(v.Bytes)); have != v.Kind {
		return 0, f.mismatch(have, field.AnyType, "packets of which the first has key 0x00 are a slice")
	}
	return tag, nil
}

// room returns where the packet that st asks for is inserted, and its tag.
func (t *enclosingNodes) room(f Format, data []byte, st field.Step) (pos int, tag byte, err error) {
	switch {
	case t.at.Kind == field.List && st.Index >= 0:
		pos, err = t.item(data, st.Index)
		return pos, Item, err
	case t.at.Kind != field.Map:
		return 0, 0, field.ErrNotFound
	case st.Key < 0:
		return 0, 0, f.mismatch(t.at.Kind, field.AnyType, fmt.Sprintf("its keys are 0x00 to 0x3f, and not %q", st.Name))
	}
	tag = byte(st.Key)
	switch pos, err = findPacket(data, t.at, st); {
	case err != nil:
		return 0, 0, err
	case pos < t.at.End:
		return 0, 0, format.ErrExists
	case t.at.Off == t.at.End && t.wouldBeSlice(f.Dialect, tag):
		return 0, 0, f.mismatch(t.at.Kind, field.AnyType, "a node whose first key is 0x00 is a slice")
	}
	return pos, tag, nil
}

// item returns the offset of the slice's item index, or of its end if it has no more items than that.
func (t *enclosingNodes) item(data []byte, index int) (int, error) {
	pos, err := scanPackets(data, t.at.Off, t.at.End, 1<<Item)
	for n := 0; err == nil && n < index; n++ {
		if pos == t.at.End {
			return 0, field.ErrNotFound
		}
		var p Packet
		if p, err = Next(data, pos, t.at.End); err == nil {
			pos, err = scanPackets(data, p.End, t.at.End, 1<<Item)
		}
	}
	return pos, err
}

// needs says why what the trail ends in cannot do without p, or nothing.
func (t *enclosingNodes) needs(d Dialect, data []byte, p Packet) string {
	first, last := p.Head == t.at.Off, p.End == t.at.End
	switch {
	case first && last && t.n == 0:
		return "a message without a packet is none"
	case first && last && t.at.Kind == field.List && t.chain[t.n-1].Tag&sliceFlag == 0:
		return "a slice without a flag and without items would be a node"
	case first && !last && t.wouldBeSlice(d, data[p.End]):
		return "without its first packet the node would be a slice, as key 0x00 comes next"
	}
	return ""
}

// wouldBeSlice reports whether the node that the trail ends in reads as a slice if tag is its first one.
func (t *enclosingNodes) wouldBeSlice(d Dialect, tag byte) bool {
	return d == P && t.n > 0 && t.at.Kind == field.Map && tag&keyMask == Item
}

// relength plans the new lengths that resize found.
func (t *enclosingNodes) relength(e *format.Edit, data []byte) {
	for i, c := range t.chain[:t.n] {
		var room [maxLengthBytes]byte
		if length := appendLength(room[:0], t.sizes[i]); !bytes.Equal(length, data[c.Head+1:c.Off]) {
			e.PutCopy(c.Head+1, c.Off, length)
		}
	}
}
