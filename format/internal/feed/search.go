package feed

import (
	"errors"
	"fmt"
	"io"
	"math"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Grammar is one format's way through a message to the value at one path. A Search asks it and is told by it.
type Grammar interface {
	// Start is at the first byte of a message.
	Start(s *Search)

	// Next deals with what b starts with, and returns how many bytes that is: more than len(b) has those that are still
	// to come passed unseen. If b is too short to tell, it changes nothing and returns io.ErrUnexpectedEOF, and is asked
	// again with more; it must not need more bytes than the path and a head take. b may be empty, and a Next that changes
	// what it expects may take none of it. A *format.SyntaxError counts from the start of b.
	Next(s *Search, b []byte) (int, error)

	// End is behind the last byte of the message, all of which Next has taken.
	End(s *Search) error
}

// Search is a format.Search.
type Search struct {
	format  format.Format
	grammar Grammar
	max     int // bytes of a value

	off   int    // offset of the first byte that Next has not taken
	pass  int    // how many bytes from there on nobody looks at
	carry []byte // what has arrived from there on, if it is too short to tell

	span field.Span // of the value, if it is met, as its head tells
	open bool       // the value is a scalar that has not ended
	end  int        // where the scalar ends; -1 if that is not known yet
	kind field.Kind // of the scalar
	from int        // offset from which on its bytes are kept
	lead int        // bytes in kept before them
	kept []byte

	answer format.Answer
	err    error
}

var _ format.Search = (*Search)(nil)

// New returns a Search at the first byte of a message of f.
func New(f format.Format, g Grammar, o format.SeekOptions) *Search {
	s := &Search{format: f, grammar: g, max: o.Value()}
	g.Start(s)
	return s
}

// Reset implements format.Search.
func (s *Search) Reset() {
	*s = Search{format: s.format, grammar: s.grammar, max: s.max, carry: s.carry[:0], kept: s.kept[:0]}
	s.grammar.Start(s)
}

// Off returns the offset in the message of the first byte of the b that Next is asked about.
func (s *Search) Off() int { return s.off }

// Syntax is the error for what b holds at pos.
func (s *Search) Syntax(pos int, reason string) error {
	return &format.SyntaxError{Format: s.format.Name(), Offset: pos, Reason: reason}
}

// Absent says that the message does not hold the value.
func (s *Search) Absent() { s.answer = format.Absent }

// Container says that the value is the container at span, in offsets of the message.
func (s *Search) Container(span field.Span) { s.span, s.answer = span, format.Found }

// Scalar says that the value is the scalar at span, in offsets of the message; its End is -1 if that is not known yet,
// and Ends will follow. Its bytes are kept from the offset from on, behind lead, of which the last byte takes the place
// of what stands at the span's Head if that is before from: with them, and no others, Value must be able to decode it.
func (s *Search) Scalar(span field.Span, from int, lead ...byte) {
	if s.span, s.from = span, from; span.End-from > s.max {
		s.answer = format.Found
		return
	}
	s.kept, s.lead, s.open, s.end, s.kind = append(s.kept[:0], lead...), len(lead), true, span.End, span.Kind
}

// Ends says that the scalar, of a kind that may be known only now, ends at end.
func (s *Search) Ends(end int, kind field.Kind) { s.end, s.kind = end, kind }

// Kept returns the bytes of the scalar up to Off.
func (s *Search) Kept() []byte { return s.kept[s.lead:] }

// errOffset ends a search where int has 32 bits and the message more than 2 GiB.
var errOffset = errors.New("format: the message is longer than an int counts")

// Feed implements format.Search.
func (s *Search) Feed(piece []byte) (format.Answer, error) {
	if len(piece) > math.MaxInt-s.off-len(s.carry) && !s.done() {
		s.err = errOffset
	}
	for !s.done() {
		switch {
		case s.pass > 0 && len(piece) > 0:
			n := min(s.pass, len(piece))
			s.pass -= n
			s.take(piece[:n])
			piece = piece[n:]
		case len(s.carry) > 0 && len(piece) > 0:
			piece = s.join(piece)
		case s.pass > 0 || len(s.carry) > 0:
			return s.answer, s.err
		default:
			n := s.next(piece)
			if n < 0 {
				s.carry = append(s.carry, piece...)
				return s.answer, s.err
			}
			piece = piece[n:]
		}
	}
	return s.answer, s.err
}

func (s *Search) done() bool { return s.answer != format.More || s.err != nil }

// join asks about what was carried over and as much of piece again, and returns what is left of piece.
func (s *Search) join(piece []byte) []byte {
	old := len(s.carry)
	more := min(len(piece), max(old, 16))
	s.carry = append(s.carry, piece[:more]...)
	switch n := s.next(s.carry); {
	case n < 0:
		return piece[more:]
	case n < old:
		s.carry = s.carry[:copy(s.carry, s.carry[n:old])]
		return piece
	default:
		s.carry = s.carry[:0]
		return piece[n-old:]
	}
}

// next asks the grammar about b and returns how many bytes of b are dealt with; -1 if b is too short.
func (s *Search) next(b []byte) int {
	n, err := s.grammar.Next(s, b)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return -1
	}
	if err != nil {
		s.err = moved(err, s.off)
		return 0
	}
	in := min(n, len(b))
	s.pass = n - in
	s.take(b[:in])
	return in
}

// take is done with b, which stands at s.off. Of the value it keeps what there is room for.
func (s *Search) take(b []byte) {
	at := s.off
	s.off += len(b)
	if !s.open || s.done() {
		return
	}
	to := s.off
	if s.end >= 0 {
		to = min(to, s.end)
	}
	if start := max(at, s.from); start < to {
		if to-start > s.max+s.lead-len(s.kept) {
			s.answer = format.Found
			return
		}
		s.kept = append(s.kept, b[start-at:to-at]...)
	}
	if s.end >= 0 && s.off >= s.end {
		s.open, s.answer = false, format.Found
		s.span.End, s.span.Kind = s.end, s.kind
	}
}

// End implements format.Search.
func (s *Search) End() (format.Answer, error) {
	if s.done() {
		return s.answer, s.err
	}
	s.err = io.ErrUnexpectedEOF
	if s.pass == 0 && len(s.carry) == 0 {
		s.err = s.grammar.End(s)
		s.take(nil)
	}
	return s.answer, s.err
}

// Span implements format.Search.
func (s *Search) Span() field.Span {
	if s.answer != format.Found {
		return field.Span{}
	}
	return s.span
}

// Value implements format.Search.
func (s *Search) Value(as field.Type) (field.Value, error) {
	kind := s.span.Kind
	switch {
	case s.err != nil:
		return field.Value{}, s.err
	case s.answer != format.Found:
		return field.Value{}, fmt.Errorf("%s: no value: the answer is %v: %w", s.format.Name(), s.answer, field.ErrNotFound)
	case kind == field.List || kind == field.Map:
		return field.Value{}, &format.TypeError{Format: s.format.Name(), Have: kind, Want: as, Reason: "it is no scalar: name one inside it"}
	case s.open || s.span.End-s.from > s.max:
		return field.Value{}, format.ErrTooLong
	}
	at := s.from - s.lead // where kept[0] would stand
	head := s.span.Head - at
	if s.span.Head < s.from {
		head = max(s.lead-1, 0)
	}
	v, err := s.format.Value(s.kept, field.Span{Head: head, Off: s.span.Off - at, End: s.span.End - at, Kind: kind}, as)
	return v, moved(err, at)
}

// moved returns err for what was found in bytes that start at offset off of the message.
func moved(err error, off int) error {
	if err == nil {
		return nil // before syntax is allocated, which errors.As makes escape
	}
	var syntax *format.SyntaxError
	if errors.As(err, &syntax) {
		syntax.Offset += off
	}
	return err
}

// Add returns the sum of an offset and a length that may be anything; of what exceeds an int, the largest int.
func Add(off int, length uint64) int {
	if length > uint64(math.MaxInt-off) {
		return math.MaxInt
	}
	return off + int(length)
}

// Size returns n, which may be anything, as a length that can be added to a small offset without going beyond an int.
func Size(n uint64) int { return int(min(n, math.MaxInt-1<<10)) }
