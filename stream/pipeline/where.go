package pipeline

import (
	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/format"
)

// whereStage passes messages on for which a predicate holds.
type whereStage struct {
	link
	predicate *field.Predicate
	matchers  [256]*format.Matcher // by payload type; made on first use
}

func (s *whereStage) handle(r *run, g *group, m *message) {
	s.now.in++
	matcher := s.matchers[m.typ]
	if matcher == nil {
		if matcher = s.matcher(r, m.typ); matcher == nil {
			s.now.skipped++
			return
		}
	}
	ok, mismatch, err := matcher.Match(m.payload)
	switch {
	case ok && err == nil:
		s.pass(r, g, m)
	case mismatch || err != nil:
		s.now.skipped++
	}
}

func (s *whereStage) matcher(r *run, t ferry.Type) *format.Matcher {
	f := r.typed[t]
	if f == nil {
		return nil
	}
	s.matchers[t] = format.NewMatcher(f, s.predicate)
	return s.matchers[t]
}
