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
	// The compiler inlines Lookup into its wrapper for interface calls, so such a call is two calls. The second one has
	// the arguments in the order of the first, so that they stay in their registers.
	return lookup(f.Dialect, data, p.Steps())
}

// lookup is the fast path of Lookup. It follows keys to packets with lengths of one or two bytes. At any other packet,
// also a malformed one, it continues with followPath. Its state fits in registers; a capacity that is equal to the
// length needs none.
func lookup(d Dialect, data []byte, steps []field.Step) (field.Span, error) {
	data = data[:len(data):len(data)]
	steps = steps[:len(steps):len(steps)]
	pos, end := 0, len(data) // end is the end of the current container
steps:
	for len(steps) > 0 && end >= 2 {
		key := steps[0].Key
		if key < 0 {
			break
		}
		lengths := data[1:end]
		tags := data[:len(lengths)] // as long as lengths, so that one bounds check covers both
		for {
			if uint(pos) >= uint(len(tags)) {
				break steps
			}
			n, off := int(lengths[pos]), pos+2
			if int(tags[pos]&keyMask) == key {
				break
			}
			if n >= 0x40 {
				if n = readTwoByteLength(lengths, pos, n); n == 0 {
					break steps
				}
				off++
			}
			pos = off + n
		}
		n, off, tag := int(lengths[pos]), pos+2, tags[pos]
		if n >= 0x40 {
			if n = readTwoByteLength(lengths, pos, n); n == 0 {
				break steps
			}
			off++
		}
		stop := off + n
		if stop > len(lengths)+1 {
			break steps
		}
		if len(steps) == 1 {
			return field.Span{Head: pos, Off: off, End: stop, Kind: d.kind(data, tag, off, stop)}, nil
		}
		steps, pos, end = steps[1:], off, stop
		// This is d.kind != field.Map, without an intermediate value.
		if tag&(nodeFlag|sliceFlag) != nodeFlag || d == P && off < stop && data[off]&keyMask == 0 {
			return followPath(data, field.Span{Off: off, End: stop, Kind: d.kind(data, tag, off, stop)}, steps, d)
		}
	}
	return followPath(data, field.Span{Off: pos, End: end, Kind: field.Map}, steps, d)
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
// two bytes of that packet are in data; the caller must check the rest. A packet with a length of one byte that exceeds
// end is noticed only when the next packet is read. One comparison for such a packet therefore bounds all reads.
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
				if n > end-pos { // pos+n may exceed an int of 32 bits
					return 0, truncated(data, pos, end, n)
				}
			}
			pos += n
		}
	}
	if pos == end {
		return end, nil
	}
	return 0, truncated(data, min(pos, end), end, 0)
}
