package hop

import (
	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/protocol/native"
)

// formats is the formats a hop knows, by payload type.
type formats [256]format.Format

func newFormats(list []format.Format) (fs formats, err error) {
	for _, f := range list {
		t, err := ferry.ParseType(f.Name())
		if err != nil {
			return fs, err
		}
		fs[t] = f
	}
	return fs, nil
}

// predicates shares one compiled predicate among all subscriptions that mean the same, so that it is evaluated once a
// message however many they are. It is guarded by the hop's lock.
type predicates map[string]*predicate

type predicate struct {
	*field.Predicate
	users int
}

func (ps predicates) get(text string) (*predicate, error) {
	if text == "" {
		return nil, nil
	}
	parsed, err := field.ParsePredicate(text)
	if err != nil {
		return nil, err
	}
	key := parsed.String()
	if ps[key] == nil {
		ps[key] = &predicate{Predicate: parsed}
	}
	ps[key].users++
	return ps[key], nil
}

func (ps predicates) put(p *predicate) {
	if p == nil {
		return
	}
	if p.users--; p.users == 0 {
		delete(ps, p.String())
	}
}

// matchers is what one goroutine evaluates predicates with.
type matchers struct {
	formats *formats
	byPred  map[*predicate]*[8]*format.Matcher
	last    *predicate
	lastM   *[8]*format.Matcher
}

// match reports whether p holds for a frame's payload. odd says why it does not, where that may be a mistake: a field
// of another kind, a payload no predicate can be asked of.
func (m *matchers) match(p *predicate, f native.Frame) (ok, odd bool) {
	if p != m.last {
		ms := m.byPred[p]
		if ms == nil {
			if len(m.byPred) >= 1024 { // predicates come and go with their subscriptions: start anew now and then
				clear(m.byPred)
			}
			ms = new([8]*format.Matcher)
			m.byPred[p] = ms
		}
		m.last, m.lastM = p, ms
	}
	t := f.Type()
	if int(t) >= len(m.lastM) || m.formats[t] == nil {
		return false, true
	}
	matcher := m.lastM[t]
	if matcher == nil {
		matcher = format.NewMatcher(m.formats[t], p.Predicate)
		m.lastM[t] = matcher
	}
	ok, mismatch, err := matcher.Match(f.Payload())
	return ok && err == nil, mismatch || err != nil
}
