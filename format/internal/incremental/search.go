package incremental

import (
	"errors"
	"fmt"
	"io"
	"math"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Grammar parses messages of one format and follows one path. A Search calls it with the next bytes. The Grammar calls
// methods of the Search to report the result.
type Grammar interface {
	// Start is called before the first byte of a message.
	Start(s *Search)

	// Next reads the item at the start of b and returns its size. If the size exceeds len(b), the Search skips the
	// missing bytes when they arrive. If b is too short to read the item, Next changes no state and returns
	// io.ErrUnexpectedEOF. The Search then calls Next again with more bytes. Next must not need more bytes than those
	// of the path and one head. b may be empty. Next may return 0 after it has changed its state. The Offset of a
	// *format.SyntaxError counts from the start of b.
	Next(s *Search, b []byte) (int, error)

	// End is called at the end of a message if Next has consumed all bytes.
	End(s *Search) error
}

// Search implements format.Search for a Grammar.
type Search struct {
	format   format.Format
	grammar  Grammar
	maxValue int // maximum number of message bytes in keptBytes

	off         int    // offset of the first byte that Next has not consumed
	bytesToSkip int    // number of bytes after off that are still to be skipped
	pending     []byte // bytes after off, too few for Next to read an item

	span       field.Span // span of the value according to its head; zero until the value is found
	collecting bool       // the value is a scalar whose end has not arrived
	end        int        // offset where the scalar ends; -1 while the end is not known
	kind       field.Kind // kind of the scalar
	keptFrom   int        // offset in the message of the first byte that is stored
	prefixLen  int        // number of bytes in keptBytes before the byte at keptFrom
	keptBytes  []byte     // prefix from the Grammar, then bytes of the value

	result format.SearchResult
	err    error
}

var _ format.Search = (*Search)(nil)

// New returns a Search for a message of format f.
func New(f format.Format, g Grammar, o format.SearchOptions) *Search {
	s := &Search{format: f, grammar: g, maxValue: o.Value()}
	g.Start(s)
	return s
}

// Reset implements format.Search.
func (s *Search) Reset() {
	*s = Search{format: s.format, grammar: s.grammar, maxValue: s.maxValue, pending: s.pending[:0], keptBytes: s.keptBytes[:0]}
	s.grammar.Start(s)
}

// Off returns the offset in the message of the first byte of b, the argument of Next.
func (s *Search) Off() int { return s.off }

// Syntax returns a *format.SyntaxError for the byte b[pos], where b is the argument of Next.
func (s *Search) Syntax(pos int, reason string) error {
	return &format.SyntaxError{Format: s.format.Name(), Offset: pos, Reason: reason}
}

// Absent ends the search with the result Absent: the message does not contain the value.
func (s *Search) Absent() { s.result = format.Absent }

// Container ends the search with the result Found: the value is the container at span. The offsets of span count from
// the start of the message.
func (s *Search) Container(span field.Span) { s.span, s.result = span, format.Found }

// Scalar starts to collect the value, which is the scalar at span. The offsets of span count from the start of the
// message. If span.End is -1, a call of Ends must follow. The Search stores lead, then the bytes of the message that
// start at the offset from. If span.Head is less than from, the last byte of lead stands for the byte at span.Head.
// Value must be able to decode the scalar from the stored bytes alone.
func (s *Search) Scalar(span field.Span, from int, lead ...byte) {
	if s.span, s.keptFrom = span, from; span.End-from > s.maxValue {
		s.result = format.Found
		return
	}
	s.keptBytes, s.prefixLen, s.collecting, s.end, s.kind = append(s.keptBytes[:0], lead...), len(lead), true, span.End, span.Kind
}

// Ends sets the end of the scalar. It also sets the kind, because the kind of some scalars is not known before the end.
func (s *Search) Ends(end int, kind field.Kind) { s.end, s.kind = end, kind }

// Kept returns the bytes of the scalar that have been collected, up to Off.
func (s *Search) Kept() []byte { return s.keptBytes[s.prefixLen:] }

// errOffset ends the search in a message of more than 2 GiB, on a platform where int has 32 bits.
var errOffset = errors.New("format: the message is longer than an int counts")

// Feed implements format.Search.
func (s *Search) Feed(piece []byte) (format.SearchResult, error) {
	if len(piece) > math.MaxInt-s.off-len(s.pending) && !s.done() {
		s.err = errOffset
	}
	for !s.done() {
		switch {
		case s.bytesToSkip > 0 && len(piece) > 0:
			n := min(s.bytesToSkip, len(piece))
			s.bytesToSkip -= n
			s.advance(piece[:n])
			piece = piece[n:]
		case len(s.pending) > 0 && len(piece) > 0:
			piece = s.feedPending(piece)
		case s.bytesToSkip > 0 || len(s.pending) > 0:
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

// feedPending calls Next with the pending bytes and the first part of piece. It returns the part of piece that is not
// consumed.
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

// step calls Next and returns how many bytes of b were consumed, or -1 if b is too short.
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
	s.bytesToSkip = n - in
	s.advance(b[:in])
	return in
}

// advance moves off to the end of b. It stores the bytes of b that belong to the value, up to maxValue.
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
		if to-start > s.maxValue+s.prefixLen-len(s.keptBytes) {
			s.result = format.Found
			return
		}
		s.keptBytes = append(s.keptBytes, b[start-at:to-at]...)
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
	if s.bytesToSkip == 0 && len(s.pending) == 0 {
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
		return field.Value{}, fmt.Errorf("%s: no value: the search result is %v: %w", s.format.Name(), s.result, field.ErrNotFound)
	case kind == field.List || kind == field.Map:
		return field.Value{}, &format.TypeError{Format: s.format.Name(), Have: kind, Want: as, Reason: "it is no scalar: name one inside it"}
	case s.collecting || s.span.End-s.keptFrom > s.maxValue:
		return field.Value{}, format.ErrTooLong
	}
	at := s.keptFrom - s.prefixLen // offset in the message of keptBytes[0]
	head := s.span.Head - at
	if s.span.Head < s.keptFrom {
		head = max(s.prefixLen-1, 0)
	}
	v, err := s.format.Value(s.keptBytes, field.Span{Head: head, Off: s.span.Off - at, End: s.span.End - at, Kind: kind}, as)
	return v, shiftOffset(err, at)
}

// shiftOffset adds off to the Offset of a *format.SyntaxError.
func shiftOffset(err error, off int) error {
	if err == nil {
		return nil // return before errors.As, which makes the variable syntax escape to the heap
	}
	var syntax *format.SyntaxError
	if errors.As(err, &syntax) {
		syntax.Offset += off
	}
	return err
}

// Add returns the sum of off and length, capped at the largest int.
func Add(off int, length uint64) int {
	if length > uint64(math.MaxInt-off) {
		return math.MaxInt
	}
	return off + int(length)
}

// Size converts n to an int. The result is capped, so that a small offset can be added without overflow.
func Size(n uint64) int { return int(min(n, math.MaxInt-1<<10)) }
