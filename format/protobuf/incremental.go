package protobuf

import (
	"fmt"
	"io"
	"math"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/internal/convert"
	"example.com/ferry/format/internal/incremental"
	"example.com/ferry/format/schema"
)

var _ format.Incremental = Format{}

// NewSearch begins the search for the value at p in a message that arrives in pieces. What has a length is passed by it, groups
// record by record. As a message has no length of its own, a field that is missing in the outermost one is Absent at its
// end only. A list is found at its first record, of a length that no byte tells.
func (f Format) NewSearch(p field.Path, o format.SearchOptions) format.Search {
	k := &pathSearch{root: f.Message, path: p.Steps(), depth: o.Depth()}
	return incremental.New(searchFormat{f, k}, k, o)
}

// searchFormat decodes what a seeker has found, without the message around it.
type searchFormat struct {
	Format
	k *pathSearch
}

// Value implements format.Format for a record that begins with its wire type.
func (f searchFormat) Value(data []byte, s field.Span, as field.Type) (field.Value, error) {
	if f.k.shape == nil || s.Kind != field.Int {
		return f.Format.Value(data, s, as)
	}
	v, ok := integer(f.k.shape.Type, data[s.Off:s.End])
	if !ok {
		return field.Value{}, errSpan
	}
	return convert.Read("protobuf", v, as)
}

// pathSearch follows a path through a message that arrives in pieces.
type pathSearch struct {
	root  *schema.Message
	path  []field.Step
	depth int

	step    int             // of the path, that the records at hand are asked for
	message *schema.Message // that they stand in; nil if it is not known
	number  int             // that is sought
	end     int             // offset where they end
	list    *schema.Field   // what they are the items of, if the step is an index
	index   int             // items that come before the one sought
	packed  int             // offset where the packed values at hand end; 0 if there are none
	groups  []int           // the numbers of the groups that are open
	shape   *schema.Field   // of the value, if it is known
}

// Start implements incremental.Grammar.
func (k *pathSearch) Start(s *incremental.Search) {
	*k = pathSearch{root: k.root, path: k.path, depth: k.depth, groups: k.groups[:0]}
	if len(k.path) == 0 {
		s.Container(field.Span{End: -1, Kind: field.Map})
		return
	}
	k.enter(s, k.root, math.MaxInt)
}

// enter is where the records of a message start.
func (k *pathSearch) enter(s *incremental.Search, m *schema.Message, end int) {
	k.message, k.end, k.list, k.number = m, end, nil, numberOfName(m, &k.path[k.step])
	k.step++
	if k.number <= 0 {
		s.Absent()
	}
}

// End implements incremental.Grammar.
func (k *pathSearch) End(s *incremental.Search) error {
	if k.end < math.MaxInt || k.packed > 0 || len(k.groups) > 0 {
		return io.ErrUnexpectedEOF
	}
	s.Absent()
	return nil
}

// Next implements incremental.Grammar: it takes a record, all of it unless the path goes on in it.
func (k *pathSearch) Next(s *incremental.Search, b []byte) (int, error) {
	if k.packed > 0 {
		return k.element(s, b)
	}
	left := k.left(s)
	if left == 0 {
		if len(k.groups) > 0 {
			return 0, s.Syntax(0, "a group has no end in its message")
		}
		s.Absent()
		return 0, nil
	}
	number, wire, off, err := readTagPart(b, left)
	if err != nil {
		return 0, err
	}
	off, end, err := readContentPart(b, wire, off, left)
	switch {
	case err != nil:
		return 0, err
	case wire == wireEnd:
		return end, k.endGroup(s, number, end)
	case len(k.groups) > 0 || number != k.number && k.list == nil:
		return end, k.over(s, number, wire)
	}
	return k.record(s, wire, off, end, number)
}

// left returns how many bytes are left in the message at hand; math.MaxInt in the outermost one, whose end is not known.
func (k *pathSearch) left(s *incremental.Search) int {
	if k.end == math.MaxInt {
		return math.MaxInt
	}
	return k.end - s.Off()
}

// over passes a record, which is entered if it is a group.
func (k *pathSearch) over(s *incremental.Search, number int, wire wireType) error {
	if wire != wireStart {
		return nil
	}
	if len(k.groups) == k.depth {
		return s.Syntax(0, fmt.Sprintf("nested deeper than %d levels", k.depth))
	}
	k.groups = append(k.groups, number)
	return nil
}

// endGroup takes the tag of that number, up to end, that ends the innermost group.
func (k *pathSearch) endGroup(s *incremental.Search, number, end int) error {
	last := len(k.groups) - 1
	if last < 0 || k.groups[last] != number {
		return s.Syntax(0, fmt.Sprintf("a group with the number %d ends that did not begin", number))
	}
	if k.groups = k.groups[:last]; last == 0 {
		s.Ends(s.Off()+end, field.Extension)
	}
	return nil
}

// record takes the record with content at off up to end that has the number sought, or follows one that has.
func (k *pathSearch) record(s *incremental.Search, wire wireType, off, end, number int) (int, error) {
	d := k.list
	if d == nil {
		hint := 0
		d = fieldByNumber(k.message, number, &hint)
	}
	inRecord, inPacked := encodesField(d, wire)
	switch {
	case k.list != nil && (number != k.number || !inRecord && !inPacked):
		s.Absent()
		return 0, nil
	case !inRecord && !inPacked:
		d = nil
	case k.list == nil && d.Repeated:
		k.enterList(s, d)
		return 0, nil
	case inPacked:
		k.packed = incremental.Add(s.Off(), uint64(end))
		return off, nil
	case k.list != nil && k.index > 0:
		k.index--
		return end, nil
	}
	return k.value(s, d, wire, off, end)
}

// enterList is at the first record of d, which repeats.
func (k *pathSearch) enterList(s *incremental.Search, d *schema.Field) {
	if k.step == len(k.path) {
		s.Container(field.Span{Head: s.Off(), Off: s.Off(), End: -1, Kind: field.List})
		return
	}
	if k.index = k.path[k.step].Index; k.index < 0 {
		s.Absent()
	}
	k.list = d
	k.step++
}

// value takes the record on the path; d is nil if its shape is not known.
func (k *pathSearch) value(s *incremental.Search, d *schema.Field, wire wireType, off, end int) (int, error) {
	at := s.Off()
	span := field.Span{Head: at, Off: at + off, End: incremental.Add(at, uint64(end)), Kind: field.Untyped}
	var m *schema.Message
	switch {
	case d != nil:
		span.Kind, m = encodingOf(d.Type).kind, d.Message
	case wire == wireStart:
		span.Kind, span.End = field.Extension, -1
	}
	switch {
	case k.step < len(k.path) && (span.Kind == field.Map || d == nil && wire == wireLength):
		k.enter(s, m, min(span.End, math.MaxInt-1))
		return off, nil
	case k.step < len(k.path):
		s.Absent()
		return 0, nil
	case span.Kind == field.Map:
		s.Container(span)
		return off, nil
	}
	k.shape = d
	s.Scalar(span, span.Off, byte(wire))
	return end, k.over(s, k.number, wire)
}

// element takes the packed value that b starts with.
func (k *pathSearch) element(s *incremental.Search, b []byte) (int, error) {
	left := k.packed - s.Off()
	if left == 0 {
		k.packed = 0
		return 0, nil
	}
	t := encodingOf(k.list.Type)
	_, end, err := readContentPart(b, t.wire, 0, left)
	switch {
	case err != nil:
		return 0, err
	case k.index > 0:
		k.index--
	case k.step < len(k.path):
		s.Absent()
	default:
		k.shape = k.list
		s.Scalar(field.Span{Head: s.Off(), Off: s.Off(), End: s.Off() + end, Kind: t.kind}, s.Off(), byte(t.wire))
	}
	return end, nil
}

// encodesField reports whether a record of that wire type holds a value of d, or packed ones. d may be nil.
func encodesField(d *schema.Field, wire wireType) (inRecord, inPacked bool) {
	if d == nil {
		return false, false
	}
	return wire == encodingOf(d.Type).wire, wire == wireLength && d.Repeated && isPackable(d.Type)
}

// readTagPart reads the tag that b starts with, in a message of which left bytes are left.
func readTagPart(b []byte, left int) (number int, wire wireType, behind int, err error) {
	tag, behind, err := readVarintPart(b, 0, left)
	switch wire = wireType(tag & 7); {
	case err != nil:
		return 0, 0, 0, err
	case tag>>3-1 >= MaxNumber:
		return 0, 0, 0, syntaxError(0, fmt.Sprintf("field number %d is not 1 to %d", tag>>3, MaxNumber))
	case wire > wireFixed32:
		return 0, 0, 0, syntaxError(0, fmt.Sprintf("wire type %d of field %d does not exist", wire, tag>>3))
	}
	return int(tag >> 3), wire, behind, nil
}

// readContentPart returns where the content of a record starts and ends whose tag ends at pos. That of a group is none.
func readContentPart(b []byte, wire wireType, pos, left int) (off, end int, err error) {
	size := uint64(0)
	switch off = pos; wire {
	case wireVarint:
		_, end, err = readVarintPart(b, pos, left)
		return off, end, err
	case wireFixed64:
		size = 8
	case wireFixed32:
		size = 4
	case wireLength:
		if size, off, err = readVarintPart(b, pos, left); err != nil {
			return 0, 0, err
		}
	}
	if left < math.MaxInt && size > uint64(left-off) {
		return 0, 0, syntaxError(off, fmt.Sprintf("a value of %d bytes exceeds the %d left in its message", size, left-off))
	}
	return off, incremental.Add(off, size), nil
}

// readVarintPart is varint for bytes of which more may come, up to left.
func readVarintPart(b []byte, pos, left int) (n uint64, behind int, err error) {
	limit := min(len(b), left)
	for i := pos; i < limit; i++ {
		if b[i] < 0x80 || i-pos == 9 {
			return readVarint(b, pos, limit)
		}
	}
	if limit == left {
		return 0, 0, syntaxError(pos, "a varint has no end in its message")
	}
	return 0, 0, io.ErrUnexpectedEOF
}
