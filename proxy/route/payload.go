package route

import (
	"example.com/ferry/field"
	"example.com/ferry/format"
)

// MaxPayload is the number of payload bytes that conditions can use.
const MaxPayload = 64 << 10

// payloadCondition is a compiled Payload.
type payloadCondition struct {
	predicate *field.Predicate
	tests     []field.Test
	searches  []int // for each path of the predicate, its index in Table.searches
}

// fieldSearch is a payload field that conditions of a table search for. Conditions on the same field share one
// fieldSearch.
type fieldSearch struct {
	format format.Incremental
	path   field.Path
}

func (b *builder) compilePayload(at fieldPath, c *Payload) *payloadCondition {
	f, ok := b.formats[c.Format].(format.Incremental)
	if !ok {
		b.addError(at.dot("format"), "%q is not a format whose payloads can be searched: write json, cbor or another one", c.Format)
	}
	p, err := field.ParsePredicate(c.Where)
	if err != nil {
		b.addError(at.dot("where"), "%v", err)
	}
	if !ok || err != nil {
		return nil
	}
	compiled := &payloadCondition{predicate: p, tests: p.Tests()}
	for _, path := range p.Set().Paths() {
		key := c.Format + " " + path.String()
		i, ok := b.searches[key]
		if !ok {
			i = len(b.table.searches)
			b.searches[key] = i
			b.table.searches = append(b.table.searches, fieldSearch{f, path})
		}
		compiled.searches = append(compiled.searches, i)
	}
	b.table.maxTests = max(b.table.maxTests, len(compiled.tests))
	return compiled
}

// runningSearch is the search for one field in the payload of the current request.
type runningSearch struct {
	format.Search
	fed    int // number of payload bytes that the search has seen
	result format.SearchResult
	failed bool // the payload is malformed, so the search has no result
}

// advance passes the new part of data to the search. data is the received payload from its first byte.
func (s *runningSearch) advance(data []byte, whole bool) {
	if s.result != format.More || s.failed {
		return
	}
	var err error
	if s.fed < len(data) {
		s.result, err = s.Feed(data[s.fed:])
		s.fed = len(data)
	}
	if whole && err == nil && s.result == format.More {
		s.result, err = s.End()
	}
	s.failed = err != nil
}

// outcome reports whether the test holds. known is false if more payload is needed to decide.
func (s *runningSearch) outcome(t *field.Test) (holds, known bool) {
	switch {
	case s.failed || s.result == format.More:
		return false, false
	case s.result == format.Absent || t.Exists:
		return s.result == format.Found, true
	}
	v, err := s.Value(t.As)
	if err != nil {
		return false, true
	}
	holds, _ = t.Holds(&v)
	return holds, true
}

// evaluatePayload evaluates p for data, the received payload. If the value of a field is not known yet,
// evaluatePayload follows both outcomes of its test. If all outcomes lead to the same result, that is the result.
func (m *Matcher) evaluatePayload(p *payloadCondition, data []byte, whole bool) conditionResult {
	data, whole, last := clip(data, whole)
	const before = 2 // so that Accept, -1, and Reject, -2, are indices
	reached := m.reachable[:before+len(p.tests)]
	clear(reached)
	reached[before] = true
	waiting := false
	m.searching = true
	for i := range p.tests {
		if !reached[before+i] {
			continue
		}
		t := &p.tests[i]
		s := &m.searches[p.searches[t.Path]]
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
		return conditionHolds
	case !accept || last || !waiting:
		return conditionFails
	}
	return conditionUndecided
}

// clip returns the part of a payload that conditions can use, and whether that is the whole payload. last says that no more of it
// will come.
func clip(data []byte, whole bool) (part []byte, wholePart, last bool) {
	if len(data) >= MaxPayload {
		return data[:MaxPayload], whole && len(data) == MaxPayload, true
	}
	return data, whole, whole
}
