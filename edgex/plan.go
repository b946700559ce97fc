package edgex

import (
	"fmt"
	"slices"
)

// plan is the changes of one document that were asked for and not carried out yet.
type plan struct {
	parts   []part // by offset, none overlapping another
	scratch []byte // what their new bytes lie in
	start   int    // of the new bytes at hand
	serial  int
}

// part says that the bytes off..end become with.
type part struct {
	off, end int
	with     []byte
	serial   int
}

func (p *plan) reset() {
	clear(p.parts)
	p.parts, p.scratch, p.serial = p.parts[:0], p.scratch[:0], 0
}

// begin starts the bytes of a part, which are appended to p.scratch; end plans them in the place of off..end.
func (p *plan) begin() { p.start = len(p.scratch) }

func (p *plan) end(off, end int) error {
	return p.put(off, end, p.scratch[p.start:len(p.scratch):len(p.scratch)])
}

// put plans that off..end become with, which is kept.
func (p *plan) put(off, end int, with []byte) error {
	i := len(p.parts)
	for i > 0 && (p.parts[i-1].off > off || p.parts[i-1].off == off && p.parts[i-1].end > end) {
		i--
	}
	if i > 0 && (p.parts[i-1].end > off || p.parts[i-1].off == off && p.parts[i-1].end == end) ||
		i < len(p.parts) && p.parts[i].off < end {
		return fmt.Errorf("edgex: what lies at offset %d is to be changed already: carry that out first, by InPlace or AppendTo", off)
	}
	p.serial++
	q := part{off, end, with, p.serial}
	if i == len(p.parts) {
		p.parts = append(p.parts, q)
	} else {
		p.parts = slices.Insert(p.parts, i, q)
	}
	return nil
}

// undo forgets what was planned since serial.
func (p *plan) undo(serial int) {
	p.parts = slices.DeleteFunc(p.parts, func(q part) bool { return q.serial > serial })
}

// grown is by how many bytes what lies in off..end becomes longer.
func (p *plan) grown(off, end int) int {
	n := 0
	for _, q := range p.parts {
		if q.off >= off && q.end <= end {
			n += len(q.with) - (q.end - q.off)
		}
	}
	return n
}
