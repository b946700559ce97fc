package incremental

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
	format   format.Format
	grammar  Grammar
	maxValue int // bytes of a value

	off     int    // offset of the first byte that Next has not taken
	skip    int    // how many bytes from there on nobody looks at
	pending []byte // what has arrived from there on, if it is too short to tell

	span       field.Span // of the value, if it is met, as its head tells
	collecting bool       // the value is a scalar that has not ended
	end        int        // where the scalar ends; -1 if that is not known yet
	kind       field.Kind // of the scalar
	keptFrom   int        // offset from which on its bytes are kept
	prefixLen  int        // bytes in kept before them
	kept       []byte

	result format.SearchResult
	err    error
}

var _ format.Search = (*Search)(nil)

// New returns a Search at the first byte of a message of f.
func New(f format.Format, g Grammar, o format.SearchOptions) *Search {
	s := &Search{format: f, grammar: g, maxValue: o.Value()}
	g.Start(s)
	return s
}

// Reset implements format.Search.
func (s *Search) Reset() {
	*s = Search{format: s.format, grammar: s.grammar, maxValue: s.maxValue, pending: s.pending[:0], kept: s.kept[:0]}
	s.grammar.Start(s)
}

// Off returns the offset in the message of the first byte of the b that Next is asked about.
func (s *Search) Off() int { return s.off }

// Syntax is the error for what b holds at pos.
func (s *Search) Syntax(pos int, reason string) error {
	return &format.SyntaxError{Format: s.format.Name(), Offset: pos, Reason: reason}
}

// Absent says that the message does not hold the value.
func (s *Search) Absent() { s.result = format.Absent }

// Container says that the value is the container at span, in offsets of the message.
func (s *Search) Container(span field.Span) { s.span, s.result = span, format.Found }

// Scalar says that the value is the scalar at span, in offsets of the message; its End is -1 if that is not known yet,
// and Ends will follow. Its bytes are kept from the offset from on, behind lead, of which the last byte takes the place
// of what stands at the span's Head if that is before from: with them, and no others, Value must be able to decode it.
func (s *Search) Scalar(span field.Span, from int, lead ...byte) {
	if s.span, s.keptFrom = span, from; span.End-from > s.maxValue {
		s.result = format.Found
		return
	}
	s.kept, s.prefixLen, s.collecting, s.end, s.kind = append(s.kept[:0], lead...), len(lead), true, span.End, span.Kind
}

// Ends says that the scalar, of a kind that may be known only now, ends at end.
func (s *Search) Ends(end int, kind field.Kind) { s.end, s.kind = end, kind }

// Kept returns the bytes of the scalar up to Off.
func (s *Search) Kept() []byte { return s.kept[s.prefixLen:] }

// errOffset ends a search where int has 32 bits and the message more than 2 GiB.
var errOffset = errors.New("format: the message is longer than an int counts")

// Feed implements format.Search.
func (s *Search) Feed(piece []byte) (format.SearchResult, error) {
	if len(piece) > math.MaxInt-s.off-len(s.pending) && !s.done() {
		s.err = errOffset
	}
	for !s.done() {
		switch {
		case s.skip > 0 && len(piece) > 0:
			n := min(s.skip, len(piece))
			s.skip -= n
			s.advance(piece[:n])
			piece = piece[n:]
		case len(s.pending) > 0 && len(piece) > 0:
			piece = s.feedPending(piece)
		case s.skip > 0 || len(s.pending) > 0:
			return s.result, s.err
		default:
			n := s.step(piece)
			if n < 0 {
				s.pending = append(s.pending, piece...)
				return s.result, s.err
			}
			piece = piece[n:]
		}
	}
	return s.result, s.err
}

func (s *Search) done() bool { return s.result != format.More || s.err != nil }

// feedPending asks about what was carried over and as much of piece again, and returns what is left of piece.
func (s *Search) feedPending(piece []byte) []byte {
	old := len(s.pending)
	more := min(len(piece), max(old, 16))
	s.pending = append(s.pending, piece[:more]...)
	switch n := s.step(s.pending); {
	case n < 0:
		return piece[more:]
	case n < old:
		s.pending = s.pending[:copy(s.pending, s.pending[n:old])]
		return piece
	default:
		s.pending = s.pending[:0]
		return piece[n-old:]
	}
}

// step asks the grammar about b and returns how many bytes of b are dealt with; -1 if b is too short.
func (s *Search) step(b []byte) int {
	n, err := s.grammar.Next(s, b)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return -1
	}
	if err != nil {
		s.err = shiftOffset(err, s.off)
		return 0
	}
	in := min(n, len(b))
	s.skip = n - in
	s.advance(b[:in])
	return in
}

// advance is done with b, which stands at s.off. Of the value it keeps what there is room for.
func (s *Search) advance(b []byte) {
	at := s.off
	s.off += len(b)
	if !s.collecting || s.done() {
		return
	}
	to := s.off
	if s.end >= 0 {
		to = min(to, s.end)
	}
	if start := max(at, s.keptFrom); start < to {
		if to-start > s.maxValue+s.prefixLen-len(s.kept) {
			s.result = format.Found
			return
		}
		s.kept = append(s.kept, b[start-at:to-at]...)
	}
	if s.end >= 0 && s.off >= s.end {
		s.collecting, s.result = false, format.Found
		s.span.End, s.span.Kind = s.end, s.kind
	}
}

// End implements format.Search.
func (s *Search) End() (format.SearchResult, error) {
	if s.done() {
		return s.result, s.err
	}
	s.err = io.ErrUnexpectedEOF
	if s.skip == 0 && len(s.pending) == 0 {
		s.err = s.grammar.End(s)
		s.advance(nil)
	}
	return s.result, s.err
}

// Span implements format.Search.
func (s *Search) Span() field.Span {
	if s.result != format.Found {
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
	case s.result != format.Found:
		return field.Value{}, fmt.Errorf("%s: no value: the answer is %v: %w", s.format.Name(), s.result, field.ErrNotFound)
	case kind == field.List || kind == field.Map:
		return field.Value{}, &format.TypeError{Format: s.format.Name(), Have: kind, Want: as, Reason: "it is no scalar: name one inside it"}
	case s.collecting || s.span.End-s.keptFrom > s.maxValue:
		return field.Value{}, format.ErrTooLong
	}
	at := s.keptFrom - s.prefixLen // where kept[0] would stand
	head := s.span.Head - at
	if s.span.Head < s.keptFrom {
		head = max(s.prefixLen-1, 0)
	}
	v, err := s.format.Value(s.kept, field.Span{Head: head, Off: s.span.Off - at, End: s.span.End - at, Kind: kind}, as)
	return v, shiftOffset(err, at)
}

// shiftOffset returns err for what was found in bytes that start at offset off of the message.
func shiftOffset(err error, off int) error {
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
