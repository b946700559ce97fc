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

// NewSearch starts the search for the value at p in a message that arrives in pieces. The search skips a value with a
// length by that length, and a group record by record. The outermost message has no length, so the search knows only at
// End that one of its fields is Absent. A list is found at its first record. Its end is then unknown.
func (f Format) NewSearch(p field.Path, o format.SearchOptions) format.Search {
	k := &pathSearch{root: f.Message, path: p.Steps(), maxDepth: o.Depth()}
	return incremental.New(searchFormat{f, k}, k, o)
}

// searchFormat decodes the value that a pathSearch has found. The message around the value is no longer needed.
type searchFormat struct {
	Format
	search *pathSearch
}

// Value implements format.Format for data that starts with the wire type of the value.
func (f searchFormat) Value(data []byte, s field.Span, as field.Type) (field.Value, error) {
	if f.search.shape == nil || s.Kind != field.Int {
		return f.Format.Value(data, s, as)
	}
	v, ok := decodeInteger(f.search.shape.Type, data[s.Off:s.End])
	if !ok {
		return field.Value{}, errSpan
	}
	return convert.Read("protobuf", v, as)
}

// pathSearch is the state of one incremental search.
type pathSearch struct {
	root     *schema.Message
	path     []field.Step
	maxDepth int

	step        int             // index in path of the step after the one that is searched now
	message     *schema.Message // shape of the current message; nil without a schema
	number      int             // field number that the search looks for in the current message
	end         int             // offset where the current message ends
	list        *schema.Field   // repeated field whose items are being counted; nil outside of a list
	itemsBefore int             // number of items to skip until the sought one
	packedEnd   int             // offset where the current packed values end; 0 outside of packed values
	groups      []int           // numbers of the open groups, outermost first
	shape       *schema.Field   // field of the found value in the schema; nil without one
}

// Start implements incremental.Grammar.
func (k *pathSearch) Start(s *incremental.Search) {
	*k = pathSearch{root: k.root, path: k.path, maxDepth: k.maxDepth, groups: k.groups[:0]}
	if len(k.path) == 0 {
		s.Container(field.Span{End: -1, Kind: field.Map})
		return
	}
	k.enterMessage(s, k.root, math.MaxInt)
}

// enterMessage starts to search the records of a message, which ends at end.
func (k *pathSearch) enterMessage(s *incremental.Search, m *schema.Message, end int) {
	k.message, k.end, k.list, k.number = m, end, nil, numberOfName(m, &k.path[k.step])
	k.step++
	if k.number <= 0 {
		s.Absent()
	}
}

// End implements incremental.Grammar.
func (k *pathSearch) End(s *incremental.Search) error {
	if k.end < math.MaxInt || k.packedEnd > 0 || len(k.groups) > 0 {
		return io.ErrUnexpectedEOF
	}
	s.Absent()
	return nil
}

// Next implements incremental.Grammar. It consumes a whole record. If the path continues inside the record, it consumes
// only the tag and length.
func (k *pathSearch) Next(s *incremental.Search, b []byte) (int, error) {
	if k.packedEnd > 0 {
		return k.readPackedElement(s, b)
	}
	left := k.bytesLeft(s)
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
		return end, k.skipRecord(s, number, wire)
	}
	return k.readRecord(s, wire, off, end, number)
}

// bytesLeft returns how many bytes are left in the current message. For the outermost message, whose end is unknown, it
// returns math.MaxInt.
func (k *pathSearch) bytesLeft(s *incremental.Search) int {
	if k.end == math.MaxInt {
		return math.MaxInt
	}
	return k.end - s.Off()
}

// skipRecord skips a record. A group has no length, so skipRecord enters it instead.
func (k *pathSearch) skipRecord(s *incremental.Search, number int, wire wireType) error {
	if wire != wireStart {
		return nil
	}
	if len(k.groups) == k.maxDepth {
		return s.Syntax(0, fmt.Sprintf("nested deeper than %d levels", k.maxDepth))
	}
	k.groups = append(k.groups, number)
	return nil
}

// endGroup handles the end tag of the innermost group. number is the tag's field number; end is the tag's end.
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

// readRecord handles a record with the sought number, or the first record after the current list. off and end bound the
// record's content.
func (k *pathSearch) readRecord(s *incremental.Search, wire wireType, off, end, number int) (int, error) {
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
		k.packedEnd = incremental.Add(s.Off(), uint64(end))
		return off, nil
	case k.list != nil && k.itemsBefore > 0:
		k.itemsBefore--
		return end, nil
	}
	return k.foundRecord(s, d, wire, off, end)
}

// enterList starts to search the repeated field d at its first record.
func (k *pathSearch) enterList(s *incremental.Search, d *schema.Field) {
	if k.step == len(k.path) {
		s.Container(field.Span{Head: s.Off(), Off: s.Off(), End: -1, Kind: field.List})
		return
	}
	if k.itemsBefore = k.path[k.step].Index; k.itemsBefore < 0 {
		s.Absent()
	}
	k.list = d
	k.step++
}

// foundRecord handles the record that the current step of the path names. d is nil if the schema does not describe the
// record.
func (k *pathSearch) foundRecord(s *incremental.Search, d *schema.Field, wire wireType, off, end int) (int, error) {
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
		k.enterMessage(s, m, min(span.End, math.MaxInt-1))
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
	return end, k.skipRecord(s, k.number, wire)
}

// readPackedElement reads the packed value at the start of b.
func (k *pathSearch) readPackedElement(s *incremental.Search, b []byte) (int, error) {
	left := k.packedEnd - s.Off()
	if left == 0 {
		k.packedEnd = 0
		return 0, nil
	}
	t := encodingOf(k.list.Type)
	_, end, err := readContentPart(b, t.wire, 0, left)
	switch {
	case err != nil:
		return 0, err
	case k.itemsBefore > 0:
		k.itemsBefore--
	case k.step < len(k.path):
		s.Absent()
	default:
		k.shape = k.list
		s.Scalar(field.Span{Head: s.Off(), Off: s.Off(), End: s.Off() + end, Kind: t.kind}, s.Off(), byte(t.wire))
	}
	return end, nil
}

// encodesField reports whether a record of this wire type holds one value of field d, or packed values of it. d may be
// nil.
func encodesField(d *schema.Field, wire wireType) (inRecord, inPacked bool) {
	if d == nil {
		return false, false
	}
	return wire == encodingOf(d.Type).wire, wire == wireLength && d.Repeated && isPackable(d.Type)
}

// readTagPart reads the tag at the start of b, which may be incomplete. left is the number of bytes left in the
// message.
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

// readContentPart returns where the content of a record starts and ends. pos is the end of the record's tag. left is
// the number of bytes left in the message, counted from the start of b. A group has no content here, so off and end are
// pos.
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

// readVarintPart is readVarint for bytes that may be incomplete. left is the number of bytes left in the message,
// counted from the start of b.
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
