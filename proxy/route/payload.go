package route

import (
	"example.com/ferry/field"
	"example.com/ferry/format"
)

// MaxPayload is how much of a payload conditions look at, in bytes.
const MaxPayload = 64 << 10

// payload is a compiled Payload.
type payload struct {
	tests []field.Test
	seeks []int // for each path of the predicate, its place in Table.seeks
}

// seek is one field that conditions of a table ask for, however many of them do.
type seek struct {
	format format.Incremental
	path   field.Path
}

func (b *builder) payload(at place, c *Payload) *payload {
	f, ok := b.formats[c.Format].(format.Incremental)
	if !ok {
		b.add(at.dot("format"), "%q is no format that payloads can be searched in: write json, cbor or another one", c.Format)
	}
	p, err := field.ParsePredicate(c.Where)
	if err != nil {
		b.add(at.dot("where"), "%v", err)
	}
	if !ok || err != nil {
		return nil
	}
	compiled := &payload{tests: p.Tests()}
	for _, path := range p.Set().Paths() {
		key := c.Format + " " + path.String()
		i, ok := b.seeks[key]
		if !ok {
			i = len(b.table.seeks)
			b.seeks[key] = i
			b.table.seeks = append(b.table.seeks, seek{f, path})
		}
		compiled.seeks = append(compiled.seeks, i)
	}
	b.table.tests = max(b.table.tests, len(compiled.tests))
	return compiled
}

// search is the search for one field in the payload at hand.
type search struct {
	format.Search
	fed    int // bytes of the payload that it has seen
	answer format.Answer
	failed bool // there will be no answer: the payload is damaged
}

// advance has the search see what it has not yet seen of data, the payload up to now.
func (s *search) advance(data []byte, whole bool) {
	if s.answer != format.More || s.failed {
		return
	}
	var err error
	if s.fed < len(data) {
		s.answer, err = s.Feed(data[s.fed:])
		s.fed = len(data)
	}
	if whole && err == nil && s.answer == format.More {
		s.answer, err = s.End()
	}
	s.failed = err != nil
}

// outcome is whether the test holds; known is false if there is no answer.
func (s *search) outcome(t *field.Test) (holds, known bool) {
	switch {
	case s.failed || s.answer == format.More:
		return false, false
	case s.answer == format.Absent || t.Exists:
		return s.answer == format.Found, true
	}
	v, err := s.Value(t.As)
	if err != nil {
		return false, true
	}
	holds, _ = t.Holds(&v)
	return holds, true
}

// asks reports what p says of data, the payload up to now. Where a field is not known yet it goes on as if its test held
// and as if it did not: if both come to the same end, that is the answer.
func (m *Matcher) asks(p *payload, data []byte, whole bool) verdict {
	last := whole
	if len(data) >= MaxPayload {
		last = true
		whole = whole && len(data) == MaxPayload
		data = data[:MaxPayload]
	}
	const before = 2 // outcomes are -1 and -2
	reached := m.reached[:before+len(p.tests)]
	clear(reached)
	reached[before] = true
	waiting := false
	m.searching = true
	for i := range p.tests {
		if !reached[before+i] {
			continue
		}
		t := &p.tests[i]
		s := &m.searches[p.seeks[t.Path]]
		s.advance(data, whole)
		holds, known := s.outcome(t)
		if holds || !known {
			reached[before+t.Then] = true
		}
		if !holds || !known {
			reached[before+t.Else] = true
		}
		waiting = waiting || !known && !s.failed
	}
	switch accept, reject := reached[before+field.Accept], reached[before+field.Reject]; {
	case !reject:
		return matches
	case !accept || last || !waiting:
		return differs
	}
	return open
}
