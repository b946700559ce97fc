package broker

import (
	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/format"
)

// predicates holds the predicates of all subscriptions, by canonical text. Subscriptions with equal predicates share an
// entry, so that a predicate is evaluated once for each message. The broker's lock guards the map.
type predicates map[string]*predicate

type predicate struct {
	*field.Predicate
	canonical string // its text
	users     int    // subscriptions that use the predicate
}

// parsePredicate returns the predicate of text and its canonical text. It returns nil for an empty text, which matches every message.
func parsePredicate(text string) (p *field.Predicate, canonical string, err error) {
	if text == "" {
		return nil, "", nil
	}
	if p, err = field.ParsePredicate(text); err != nil {
		return nil, "", err
	}
	return p, p.String(), nil
}

// acquire returns the predicate with what parsePredicate has returned, and adds a user.
func (ps predicates) acquire(parsed *field.Predicate, canonical string) *predicate {
	if parsed == nil {
		return nil
	}
	p := ps[canonical]
	if p == nil {
		p = &predicate{Predicate: parsed, canonical: canonical}
		ps[canonical] = p
	}
	p.users++
	return p
}

// release removes one user of p. p may be nil.
func (ps predicates) release(p *predicate) {
	if p == nil {
		return
	}
	if p.users--; p.users == 0 {
		delete(ps, p.canonical)
	}
}

// matchers holds the compiled predicates of one goroutine: one for each predicate and payload type.
type matchers struct {
	formats *format.ByType
	all     map[matcherKey]*format.Matcher
	last    matcherKey
	matcher *format.Matcher // all[last]
}

func newMatchers(formats *format.ByType) matchers {
	return matchers{formats: formats, all: map[matcherKey]*format.Matcher{}}
}

type matcherKey struct {
	predicate *predicate
	payload   ferry.Type
}

// maxMatchers bounds matchers.all, which would grow with every new predicate.
const maxMatchers = 1024

// match reports whether p is true for a payload of type t. mismatch means that a false result may be a mistake: a
// field has another kind, or no format can read the payload.
func (m *matchers) match(p *predicate, t ferry.Type, payload []byte) (ok, mismatch bool) {
	key := matcherKey{p, t}
	if key != m.last {
		if m.formats[key.payload] == nil {
			return false, true
		}
		m.last, m.matcher = key, m.find(key)
	}
	ok, mismatch, err := m.matcher.Match(payload)
	return ok && err == nil, mismatch || err != nil
}

// find returns the matcher of key. It compiles the matcher on first use.
func (m *matchers) find(key matcherKey) *format.Matcher {
	matcher := m.all[key]
	if matcher == nil {
		if len(m.all) >= maxMatchers {
			for other := range m.all { // any one: to drop all of them would compile all of them again
				delete(m.all, other)
				break
			}
		}
		matcher = format.NewMatcher(m.formats[key.payload], key.predicate.Predicate)
		m.all[key] = matcher
	}
	return matcher
}
