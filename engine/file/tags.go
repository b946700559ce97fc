package file

import "example.com/ferry/internal/topic"

// maxTags is how many tags a tags, or a stream, remembers.
const maxTags = 1024

// tags reports which tags match a filter. It remembers the last ones, so that a tag is allocated and compared once, and not for each record.
type tags struct {
	filter string // "" matches all
	known  map[string]knownTag
	recent [64]knownTag // of known, by the last bytes of the tag
}

type knownTag struct {
	name    string
	matches bool
}

func newTags(filter string) *tags {
	if filter == "#" {
		filter = ""
	}
	return &tags{filter: filter, known: map[string]knownTag{}}
}

// match returns a tag as text of its own, and whether it matches.
func (t *tags) match(tag []byte) (string, bool) {
	place := uint(len(tag))
	for _, c := range tag[max(0, len(tag)-4):] {
		place = place*31 + uint(c)
	}
	recent := &t.recent[place%uint(len(t.recent))]
	if string(tag) == recent.name {
		return recent.name, recent.matches
	}
	k, ok := t.known[string(tag)]
	if !ok {
		if len(t.known) == maxTags {
			clear(t.known)
		}
		name := string(tag)
		k = knownTag{name, t.filter == "" || topic.Match(t.filter, name)}
		t.known[name] = k
	}
	*recent = k
	return k.name, k.matches
}

// filterFunc returns a function that matches the filter; nil if it matches all.
func (t *tags) filterFunc() func(string) bool {
	if t.filter == "" {
		return nil
	}
	return func(tag string) bool { return topic.Match(t.filter, tag) }
}
