package format

import (
	"slices"

	"example.com/ferry/field"
)

// Editor is a Patcher that can also plan a change without carrying it out, and change which values a message holds. Each
// method begins e anew with data; the lengths and counts of all enclosing containers are put right. On any error e is
// left without a change: applied, it gives data as it is. v.Bytes is kept, not copied, until e is applied, unless it has
// to be written in another way.
type Editor interface {
	Patcher

	// Replace plans what Patch does.
	Replace(e *Edit, data []byte, p field.Path, v field.Value) error

	// Insert plans a value at p, whose parent must be there: a new key at the end of its map, or a new item of a list
	// before the one that has its index; an index equal to the list's length appends. A key that is there already is
	// ErrExists, a missing parent or a larger index field.ErrNotFound. A List or Map as v is its encoding in the
	// message's own format, in v.Bytes: it must be valid, and the message nest no deeper than Options allows by default.
	// What has no form in the format, or no place at p, is a *TypeError.
	Insert(e *Edit, data []byte, p field.Path, v field.Value) error

	// Delete plans the message without the value at p and its key; the items of a list that stand behind it move up. The
	// whole message cannot be deleted: ErrWhole.
	Delete(e *Edit, data []byte, p field.Path) error
}

// Edit is a planned change of an encoded message: the parts that are replaced, and by what. It is one change: planning
// another forgets it, so several are carried out one after another. The zero Edit is ready for use; one that is used
// again allocates nothing once it has grown. It is not safe for use by several goroutines.
type Edit struct {
	data    []byte
	parts   []replacement // in order, none overlapping another
	scratch []byte
}

// replacement says that data[off:end] becomes with.
type replacement struct {
	off, end int
	with     []byte
}

// Reset forgets the planned change and begins one of data, which must stay as it is until the change is applied.
func (e *Edit) Reset(data []byte) {
	e.data = data
	clear(e.parts)
	e.parts, e.scratch = e.parts[:0], e.scratch[:0]
}

// Put plans that data[off:end] becomes with, which is kept, not copied. Formats call it, in any order; parts must not
// overlap, and of several at one offset the first that was put comes first.
func (e *Edit) Put(off, end int, with []byte) {
	if off == end && len(with) == 0 {
		return
	}
	i := len(e.parts)
	for i > 0 && e.parts[i-1].off > off {
		i--
	}
	e.parts = append(e.parts, replacement{})
	copy(e.parts[i+1:], e.parts[i:])
	e.parts[i] = replacement{off, end, with}
}

// Room returns empty space of the Edit's own, for the next PutCopy: what is appended to it is built without allocating.
func (e *Edit) Room() []byte { return e.scratch[len(e.scratch):] }

// PutCopy is Put with a copy of with: for heads and lengths, which are short and made for the occasion.
func (e *Edit) PutCopy(off, end int, with []byte) {
	at := len(e.scratch)
	e.scratch = append(e.scratch, with...)
	e.Put(off, end, e.scratch[at:len(e.scratch):len(e.scratch)])
}

// Len returns how many bytes the changed message has.
func (e *Edit) Len() int {
	n := len(e.data)
	for _, p := range e.parts {
		n += len(p.with) - (p.end - p.off)
	}
	return n
}

// AppendTo appends the changed message to dst, which must not overlap the message. It allocates once, if dst has not the
// room.
func (e *Edit) AppendTo(dst []byte) []byte {
	dst = slices.Grow(dst, e.Len())
	at := 0
	for _, p := range e.parts {
		dst = append(append(dst, e.data[at:p.off]...), p.with...)
		at = p.end
	}
	return append(dst, e.data[at:]...)
}

// Buffers appends the changed message to dst as parts to be written one after another, as by net.Buffers. Those that did
// not change are parts of the message itself: no byte of it is copied. All are valid until the next Reset.
func (e *Edit) Buffers(dst [][]byte) [][]byte {
	at := 0
	for _, p := range e.parts {
		dst = appendPart(dst, e.data[at:p.off])
		dst = appendPart(dst, p.with)
		at = p.end
	}
	return appendPart(dst, e.data[at:])
}

func appendPart(dst [][]byte, part []byte) [][]byte {
	if len(part) == 0 {
		return dst
	}
	return append(dst, part)
}

// InPlace carries the change out in the message itself if no other byte has to move. Else it returns false and leaves
// the message untouched.
func (e *Edit) InPlace() bool {
	for i := 0; i < len(e.parts); {
		grown := 0
		for first := i; i < len(e.parts) && (i == first || e.parts[i].off == e.parts[i-1].end); i++ {
			grown += len(e.parts[i].with) - (e.parts[i].end - e.parts[i].off)
		}
		if grown != 0 {
			return false
		}
	}
	at := 0
	for i, p := range e.parts {
		if i == 0 || p.off != e.parts[i-1].end {
			at = p.off
		}
		at += copy(e.data[at:], p.with)
	}
	return true
}
