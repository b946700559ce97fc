package y3

import (
	"errors"
	"fmt"
	"io"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Validate reads all tags and lengths once. Unless o.BoundsOnly is set, it refuses data that consumers read
// differently. These are a key that occurs twice in a node, a length longer than necessary, a slice flag on a
// primitive, and items of a slice with a key. Dialect N has no slices, so any slice is refused there: YoMo's decoder
// reads only its last item. An empty message gives a wrapped io.ErrUnexpectedEOF. The content of primitives is not
// checked, not even for UTF-8, because the message carries no types. A message ends where data does, so o.AllowTrailing
// has no effect.
func (f Format) Validate(data []byte, o format.Options) error {
	if len(data) == 0 {
		return fmt.Errorf("%s: empty message: %w", f.Name(), io.ErrUnexpectedEOF)
	}
	return f.validate(data, o, 0, len(data), min(o.Depth(), MaxDepth), false)
}

// validate checks the packets in data[pos:end]. Nodes may nest depth levels deep in them.
func (f Format) validate(data []byte, o format.Options, pos, end, depth int, isList bool) error {
	var seen uint64
	for pos < end {
		p, err := Next(data, pos, end)
		if err != nil {
			return err
		}
		kind := f.Dialect.kind(data, p.Tag, p.Off, p.End)
		if !o.BoundsOnly {
			bit := uint64(1) << p.Key()
			if reason := f.ambiguityReason(p, kind, isList, seen&bit != 0); reason != "" {
				return &format.SyntaxError{Format: f.Name(), Offset: p.Head, Reason: reason}
			}
			seen |= bit
		}
		if p.IsNode() {
			if depth == 0 {
				return &format.SyntaxError{Format: f.Name(), Offset: p.Head, Reason: fmt.Sprintf("nodes nest deeper than %d", min(o.Depth(), MaxDepth))}
			}
			if err := f.validate(data, o, p.Off, p.End, depth-1, kind == field.List); err != nil {
				return err
			}
		}
		pos = p.End
	}
	return nil
}

// ambiguityReason returns the reason why consumers may read p differently, or "".
func (f Format) ambiguityReason(p Packet, kind field.Kind, isList, again bool) string {
	switch {
	case p.Off-p.Head-1 != lengthSize(p.End-p.Off):
		return fmt.Sprintf("length %d takes %d bytes instead of %d", p.End-p.Off, p.Off-p.Head-1, lengthSize(p.End-p.Off))
	case p.Tag&sliceFlag != 0 && !p.IsNode():
		return fmt.Sprintf("slice flag on the primitive with tag 0x%02x", p.Tag)
	case kind == field.List && f.Dialect == N:
		return fmt.Sprintf("slice with tag 0x%02x: dialect N has none", p.Tag)
	case isList && p.Key() != 0:
		return fmt.Sprintf("slice item with key 0x%02x instead of 0x00", p.Key())
	case !isList && again:
		return fmt.Sprintf("key 0x%02x a second time", p.Key())
	}
	return ""
}

// Walk calls visit for the message and for each packet in order. A node comes before its content. Items of a slice have
// an index as their step; other packets have a key. Nodes nested deeper than MaxDepth give *format.SyntaxError.
func (f Format) Walk(data []byte, visit format.Visit) error {
	whole := field.Span{End: len(data), Kind: field.Map}
	err := visit(field.Step{Index: -1, Key: -1}, 0, whole)
	if errors.Is(err, format.SkipChildren) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.walk(data, visit, whole, 1)
}

func (f Format) walk(data []byte, visit format.Visit, parent field.Span, depth int) error {
	index := 0
	for pos := parent.Off; pos < parent.End; {
		p, err := Next(data, pos, parent.End)
		if err != nil {
			return err
		}
		step := field.Step{Index: -1, Key: p.Key()}
		if parent.Kind == field.List && p.Key() == 0 {
			step = field.Step{Index: index, Key: -1}
			index++
		}
		span := f.Dialect.span(data, p)
		err = visit(step, depth, span)
		if err == nil && p.IsNode() {
			if depth > MaxDepth {
				return &format.SyntaxError{Format: f.Name(), Offset: p.Head, Reason: fmt.Sprintf("nodes nest deeper than %d", MaxDepth)}
			}
			err = f.walk(data, visit, span, depth+1)
		}
		if err != nil && !errors.Is(err, format.SkipChildren) {
			return err
		}
		pos = p.End
	}
	return nil
}
