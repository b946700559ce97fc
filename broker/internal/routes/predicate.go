package routes

import (
	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Predicate is a condition on payloads. A nil Predicate is true for all.
type Predicate struct {
	*field.Predicate
	canonical string // its text
	users     int    // subscriptions that share it
}

// ParsePredicate returns the predicate of a text; nil for "".
func ParsePredicate(text string) (*Predicate, error) {
	if text == "" {
		return nil, nil
	}
	p, err := field.ParsePredicate(text)
	if err != nil {
		return nil, err
	}
	return &Predicate{Predicate: p, canonical: p.String()}, nil
}

// String returns the canonical text; "" for a nil Predicate.
func (p *Predicate) String() string {
	if p == nil {
		return ""
	}
	return p.canonical
}

// Predicates holds the predicates of all subscriptions, by canonical text. Subscriptions with equal predicates share an
// entry, so that a predicate is evaluated once for each message.
type Predicates map[string]*Predicate

// Acquire returns the entry with the text of p, and adds a user. p may be nil.
func (ps Predicates) Acquire(p *Predicate) *Predicate {
	if p == nil {
		return nil
	}
	if known := ps[p.canonical]; known != nil {
		p = known
	}
	ps[p.canonical] = p
	p.users++
	return p
}

// Release removes one user of p. p may be nil.
func (ps Predicates) Release(p *Predicate) {
	if p == nil {
		return
	}
	if p.users--; p.users == 0 {
		delete(ps, p.canonical)
	}
}

// Matchers holds the compiled predicates of one goroutine: one for each predicate and payload type.
type Matchers struct {
	formats *format.ByType
	all     map[matcherKey]*format.Matcher
	last    matcherKey
	matcher *format.Matcher // all[last]
}

// NewMatchers returns Matchers without predicates.
func NewMatchers(formats *format.ByType) Matchers {
	return Matchers{formats: formats, all: map[matcherKey]*format.Matcher{}}
}

type matcherKey struct {
	predicate *Predicate
	payload   ferry.Type
}

// maxMatchers bounds Matchers.all, which would grow with every new predicate.
const maxMatchers = 1024

// Match reports whether p is true for a payload of type t. mismatch means that a false result may be a mistake: a
// field has another kind, or no format can read the payload.
func (m *Matchers) Match(p *Predicate, t ferry.Type, payload []byte) (ok, mismatch bool) {
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
func (m *Matchers) find(key matcherKey) *format.Matcher {
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
