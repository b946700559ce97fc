package edgex

import (
	"fmt"
	"slices"
)

// changes are the planned changes of one document. Each change has a serial number, so that undo can remove the latest ones.
type changes struct {
	parts   []change // sorted by offset; they do not overlap
	scratch []byte   // memory of the new bytes of all changes
	start   int      // offset in scratch at which the change that begin started begins
	serial  int
}

// change replaces the bytes off..end with others.
type change struct {
	off, end int
	with     []byte
	serial   int
}

func (p *changes) reset() {
	clear(p.parts)
	p.parts, p.scratch, p.serial = p.parts[:0], p.scratch[:0], 0
}

// begin starts a change. Its caller appends the new bytes to p.scratch and then calls end, which plans that they replace
// off..end.
func (p *changes) begin() { p.start = len(p.scratch) }

func (p *changes) end(off, end int) error {
	return p.put(off, end, p.scratch[p.start:len(p.scratch):len(p.scratch)])
}

// put plans that with replaces the bytes off..end. It does not copy with.
func (p *changes) put(off, end int, with []byte) error {
	i := len(p.parts)
	for i > 0 && (p.parts[i-1].off > off || p.parts[i-1].off == off && p.parts[i-1].end > end) {
		i--
	}
	if i > 0 && (p.parts[i-1].end > off || p.parts[i-1].off == off && p.parts[i-1].end == end) ||
		i < len(p.parts) && p.parts[i].off < end {
		return fmt.Errorf("edgex: the value at offset %d has a planned change already: carry that out first, by InPlace or AppendTo", off)
	}
	p.serial++
	q := change{off, end, with, p.serial}
	if i == len(p.parts) {
		p.parts = append(p.parts, q)
	} else {
		p.parts = slices.Insert(p.parts, i, q)
	}
	return nil
}

// undo removes the changes whose serial number is larger than serial.
func (p *changes) undo(serial int) {
	p.parts = slices.DeleteFunc(p.parts, func(q change) bool { return q.serial > serial })
}

// growth returns by how many bytes the range off..end becomes longer through the changes within it.
func (p *changes) growth(off, end int) int {
	n := 0
	for _, q := range p.parts {
		if q.off >= off && q.end <= end {
			n += len(q.with) - (q.end - q.off)
		}
	}
	return n
}
