package y3

import (
	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Format is Y3 in one dialect. The zero value is dialect P.
type Format struct{ Dialect Dialect }

var (
	_ format.Format  = Format{}
	_ format.Patcher = Format{}
	_ format.Caster  = Format{}
)

// Name returns "y3" for dialect P and "y3n" for N.
func (f Format) Name() string {
	if f.Dialect == N {
		return "y3n"
	}
	return "y3"
}

// Descriptor returns the properties of the dialect. Messages of N differ from those of P only in integers, and no byte
// tells them apart. N is therefore never detected.
func (f Format) Descriptor() format.Descriptor {
	d := format.Descriptor{Type: ferry.Y3, Numbered: true, SampleKey: "0x10", Detection: format.DetectFirst}
	if f.Dialect == N {
		d.Type, d.Detection = ferry.Y3N, format.DetectNever
	}
	return d
}

// Lookup returns where the value at p lies. A step is a key in hex (0x10), which is the low six bits of a tag, or an
// index in a slice in decimal. The empty path is the whole message. Lookup reads only the tags and lengths up to the
// value. It copies nothing. The Span is valid while data is unchanged. A missing key gives field.ErrNotFound. Data that
// ends early gives a wrapped io.ErrUnexpectedEOF. Other malformed data gives *format.SyntaxError. Y3 SPEC draft-01.
func (f Format) Lookup(data []byte, p field.Path) (field.Span, error) {
	return lookup(data, p.Steps(), f.Dialect) // the compiler inlines Lookup into its wrapper for interface calls, so such a call is one call
}

// lookup is the fast path of Lookup. It follows keys to packets with lengths of one or two bytes, and its state fits in
// registers. At any other packet, also a malformed one, it continues with followPath.
func lookup(data []byte, steps []field.Step, d Dialect) (field.Span, error) {
	pos, i, node := 0, 0, data // node is data up to the end of the current container
steps:
	for i < len(steps) && len(node) >= 2 {
		key := steps[i].Key
		if key < 0 {
			break
		}
		lengths := node[1:]
		tags := node[:len(lengths)] // as long as lengths, so that one bounds check covers both
		for {
			if uint(pos) >= uint(len(tags)) {
				break steps
			}
			n, tag, off := int(lengths[pos]), tags[pos], pos+2
			if n >= 0x40 {
				if n&0xc0 != 0x80 || uint(off) >= uint(len(node)) || node[off] >= 0x80 {
					break steps
				}
				n, off = n&0x3f<<7|int(node[off]), off+1
			}
			if int(tag&keyMask) != key {
				pos = off + n
				continue
			}
			end := off + n
			if end > len(node) {
				break steps
			}
			node = node[:end]
			kind := d.kind(node, tag, off, end)
			if i++; i == len(steps) {
				return field.Span{Head: pos, Off: off, End: end, Kind: kind}, nil
			}
			if pos = off; kind != field.Map {
				return followPath(data, field.Span{Off: off, End: end, Kind: kind}, steps[i:], d)
			}
			continue steps
		}
	}
	return followPath(data, field.Span{Off: pos, End: len(node), Kind: field.Map}, steps[i:], d)
}

// followPath returns the span that steps lead to from parent. parent may be only the last part of its container.
func followPath(data []byte, parent field.Span, steps []field.Step, d Dialect) (field.Span, error) {
	for i := range steps {
		head, err := findPacket(data, parent, steps[i])
		if err != nil {
			return field.Span{}, err
		}
		if head == parent.End {
			return field.Span{}, field.ErrNotFound
		}
		p, err := Next(data, head, parent.End)
		if err != nil {
			return field.Span{}, err
		}
		parent = d.span(data, p)
	}
	return parent, nil
}

// findPacket returns the offset of the packet in parent that step names. Without such a packet it returns the end of
// parent.
func findPacket(data []byte, parent field.Span, step field.Step) (int, error) {
	switch {
	case parent.Kind == field.Map && step.Key >= 0:
		return scanPackets(data, parent.Off, parent.End, 1<<(step.Key&keyMask))
	case parent.Kind != field.List || step.Index < 0:
		return parent.End, nil
	}
	head, err := scanPackets(data, parent.Off, parent.End, 1<<Item)
	for n := step.Index; n > 0 && head < parent.End && err == nil; n-- {
		var p Packet
		if p, err = Next(data, head, parent.End); err == nil {
			head, err = scanPackets(data, p.End, parent.End, 1<<Item)
		}
	}
	return head, err
}

// scanPackets returns the offset of the first packet in data[pos:end] whose key has a bit in want, or end. The first
// two bytes of that packet are in data; the caller must check the rest. A packet that exceeds end is noticed only when
// the next packet is read. One comparison per packet therefore bounds all reads.
func scanPackets(data []byte, pos, end int, want uint64) (int, error) {
	if pos+1 < end {
		tags := data[:end-1] // as long as lengths, so that one bounds check covers both
		lengths := data[1:end][:len(tags)]
		for uint(pos) < uint(len(tags)) {
			n := int(lengths[pos])
			if want>>(tags[pos]&keyMask)&1 != 0 {
				return pos, nil
			}
			pos += 2
			if n >= 0x40 {
				var err error
				if n, pos, err = readLength(data, pos-1, end); err != nil {
					return 0, err
				}
			}
			pos += n
		}
	}
	if pos == end {
		return end, nil
	}
	return 0, truncated(data, pos, end, 0)
}
