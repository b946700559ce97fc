package format

import "example.com/ferry/field"

// IndexMatcher applies all predicates of a field.Index to encoded messages of one format. It finds all fields in one
// pass for each field.MaxSet paths. An IndexMatcher is not safe for use by several goroutines. Until its next Match it
// holds references to the last message.
type IndexMatcher struct {
	format     Format
	index      *field.Index
	sets       []*field.Set
	fields     indexFields
	evaluation field.Evaluation

	single   *Matcher // of the index's only predicate
	of       *field.Predicate
	singleID int

	combinations []field.Combination
	malformed    []bool
	part         []field.Span
}

// indexFields reads the fields of one message for an IndexMatcher.
type indexFields struct {
	format Format
	viewer Viewer // nil if format is not a Viewer
	number NumberReader
	data   []byte
	spans  []field.Span // by place
}

// NewIndexMatcher returns an IndexMatcher. x may change between two calls of Match.
func NewIndexMatcher(f Format, x *field.Index) *IndexMatcher {
	viewer, _ := f.(Viewer)
	number, _ := f.(NumberReader)
	return &IndexMatcher{format: f, index: x, fields: indexFields{format: f, viewer: viewer, number: number}}
}

// Match appends the ids of the predicates that hold for data to dst, in no particular order. mismatches is the number of
// predicates for which Matcher.Match reports a mismatch. malformed is the number of predicates for which it returns an
// error: data is malformed before the last field of the predicate. Match allocates nothing once its memory has grown
// with the index.
func (m *IndexMatcher) Match(data []byte, dst []int) (ids []int, mismatches, malformed int) {
	switch m.index.Len() {
	case 0:
		return dst, 0, 0
	case 1:
		return m.matchSingle(data, dst)
	}
	m.fields.data = data
	m.sets = m.index.Sets(m.sets[:0])
	m.fields.resize(len(m.sets) * field.MaxSet)
	for i, s := range m.sets {
		if m.format.Find(data, s, m.fields.spans[i*field.MaxSet:]) != nil {
			return m.evaluation.Match(m.index, &m.fields, m.findEach(data), dst)
		}
	}
	return m.evaluation.Match(m.index, &m.fields, nil, dst)
}

// matchSingle is Match for an index with one predicate.
func (m *IndexMatcher) matchSingle(data []byte, dst []int) (ids []int, mismatches, malformed int) {
	if p := m.index.Predicate(m.singleID); p == nil || p != m.of {
		m.findSingle()
	}
	ok, mismatch, err := m.single.Match(data)
	switch {
	case err != nil:
		return dst, 0, 1
	case ok:
		dst = append(dst, m.singleID)
	}
	if mismatch {
		mismatches = 1
	}
	return dst, mismatches, 0
}

// findSingle finds the index's only predicate. The ids below Cap of removed predicates are free.
func (m *IndexMatcher) findSingle() {
	m.singleID = m.index.Cap() - 1
	for m.index.Predicate(m.singleID) == nil {
		m.singleID--
	}
	if p := m.index.Predicate(m.singleID); m.of != p {
		m.of, m.single = p, NewMatcher(m.format, p)
	}
}

// findEach finds the paths of malformed data. It makes a pass for each combination of paths, because some of them may
// lie before the first error. It returns which combinations do not.
func (m *IndexMatcher) findEach(data []byte) (malformed []bool) {
	clear(m.fields.spans)
	m.combinations = m.index.Combinations(m.combinations[:0])
	m.malformed = m.malformed[:0]
	m.part = append(m.part[:0], make([]field.Span, field.MaxSet)...)
	for _, c := range m.combinations {
		bad := c.Set == nil || m.format.Find(data, c.Set, m.part) != nil
		m.malformed = append(m.malformed, bad)
		if bad {
			continue
		}
		for i, place := range c.Paths {
			m.fields.spans[place] = m.part[i]
		}
	}
	return m.malformed
}

// resize makes room for n spans. It returns memory that is no longer needed.
func (f *indexFields) resize(n int) {
	if cap(f.spans) < n || cap(f.spans) > 4*n {
		f.spans = make([]field.Span, n)
	}
	f.spans = f.spans[:n]
}

// Found implements field.Fields.
func (f *indexFields) Found(place int) bool { return f.spans[place].Found() }

// Read implements field.Fields.
func (f *indexFields) Read(place int, as field.Type, v *field.Value) bool {
	s := f.spans[place]
	if !s.Found() {
		return false
	}
	if f.viewer != nil && s.Kind == field.Text && as == field.AnyType {
		if text, ok := f.viewer.View(f.data, s); ok {
			*v = field.Value{Kind: field.Text, Bytes: text}
			return true
		}
	}
	var err error
	*v, err = f.format.Value(f.data, s, as)
	return isWideNumber(f.number, f.data, s, as, v, err) || err == nil
}
