package hop

import (
	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/protocol/native"
)

// predicates holds the predicates of all subscriptions, each once: equal ones are evaluated once for each message. The key
// is the predicate's canonical text. The broker's lock guards it.
type predicates map[string]*predicate

type predicate struct {
	*field.Predicate
	users int // subscriptions
}

// acquire returns the predicate of that text with one more user; nil for an empty text, which holds for every message.
func (ps predicates) acquire(text string) (*predicate, error) {
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

// release removes one user of p, which may be nil.
func (ps predicates) release(p *predicate) {
	if p == nil {
		return
	}
	if p.users--; p.users == 0 {
		delete(ps, p.String())
	}
}

// matchers holds the compiled predicates of one goroutine, one for each payload type that it met.
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

// maxMatchers bounds matchers.all, as predicates come and go with their subscriptions.
const maxMatchers = 1024

// match reports whether p holds for a frame's payload. mismatch is set where a false result may be a mistake: a field of
// another kind, or a payload that no predicate can read.
func (m *matchers) match(p *predicate, f native.Frame) (ok, mismatch bool) {
	key := matcherKey{p, f.Type()}
	if key != m.last {
		if m.formats[key.payload] == nil {
			return false, true
		}
		m.last, m.matcher = key, m.find(key)
	}
	ok, mismatch, err := m.matcher.Match(f.Payload())
	return ok && err == nil, mismatch || err != nil
}

// find returns the matcher of key, compiled on first use.
func (m *matchers) find(key matcherKey) *format.Matcher {
	matcher := m.all[key]
	if matcher == nil {
		if len(m.all) >= maxMatchers {
			clear(m.all)
		}
		matcher = format.NewMatcher(m.formats[key.payload], key.predicate.Predicate)
		m.all[key] = matcher
	}
	return matcher
}
