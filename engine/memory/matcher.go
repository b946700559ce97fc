package memory

import "example.com/ferry/internal/topic"

// matcher reports which tags match a filter. It remembers the last one, because records of one tag often follow each other.
type matcher struct {
	filter string // "" matches all
	last   *tag
	result bool
}

func newMatcher(filter string) matcher {
	if filter == "#" {
		filter = ""
	}
	return matcher{filter: filter}
}

func (m *matcher) matches(t *tag) bool {
	if m.filter == "" {
		return true
	}
	if t != m.last {
		m.last, m.result = t, topic.Match(m.filter, t.name)
	}
	return m.result
}
