package pipeline

import (
	"strings"

	"example.com/ferry"
	"example.com/ferry/field"
	"example.com/ferry/internal/topic"
	"example.com/ferry/internal/transcode"
)

// result is a message to publish.
type result struct {
	tag     string
	typ     ferry.Type
	payload []byte
	time    int64
	key     []byte
}

// publishStage publishes what arrives.
type publishStage struct {
	*counts
	levels  []level
	observe []string
	reader  *reader // of the fields in the tag; nil if it has none
	typ     ferry.Type
	tags    map[string]string // tags of results by tag of the message, unless fields are in it
	made    []byte
}

// level is one level of the tag: a text, +, # or the value of a field.
type level struct {
	text  string
	value int // index of the field in the reader; -1 if it is none
}

// maxTags bounds publishStage.tags.
const maxTags = 4096

func (s *publishStage) handle(r *run, g *group, m *message) {
	s.now.in++
	tag := s.tag(r, m)
	if tag == "" {
		s.now.skipped++
		return
	}
	out := result{tag: tag, typ: m.typ, payload: m.payload, time: m.time, key: m.key}
	if m.isRecord && s.typ != ferry.JSON {
		var err error
		if s.made, _, err = transcode.Message(s.made[:0], m.payload, r.typed[ferry.JSON], r.typed[s.typ]); err != nil {
			s.now.skipped++
			return
		}
		out.typ, out.payload = s.typ, s.made
	}
	s.now.out++
	r.publish(g, &out)
}

// tag returns the tag of the result of m; "" if m has no valid one.
func (s *publishStage) tag(r *run, m *message) string {
	if s.reader != nil {
		s.reader.read(r.typed[m.typ], m)
		return s.build(m)
	}
	tag, ok := s.tags[m.tag]
	if !ok {
		if len(s.tags) >= maxTags {
			clear(s.tags)
		}
		tag = s.build(m)
		s.tags[m.tag] = tag
	}
	return tag
}

func (s *publishStage) build(m *message) string {
	var matched []string
	for _, filter := range s.observe {
		if topic.Match(filter, m.tag) {
			matched = wildcards(filter, m.tag)
			break
		}
	}
	var b []byte
	for i, l := range s.levels {
		if i > 0 {
			b = append(b, '/')
		}
		switch {
		case l.value >= 0:
			text, ok := levelOf(&s.reader.values[l.value])
			if !ok {
				return ""
			}
			b = append(b, text...)
		case l.text == "#":
			b = append(b, strings.Join(matched, "/")...)
		case l.text == "+":
			if len(matched) == 0 {
				return ""
			}
			b = append(b, matched[0]...)
			matched = matched[1:]
		default:
			b = append(b, l.text...)
		}
	}
	tag := strings.TrimSuffix(string(b), "/")
	if topic.CheckTag(tag) != nil {
		return ""
	}
	return tag
}

// wildcards returns the levels of tag that the wildcards of filter match. Each + matches one, # all further ones.
func wildcards(filter, tag string) (levels []string) {
	for more := true; more; {
		var f, t string
		f, filter, _ = strings.Cut(filter, "/")
		if f == "#" {
			return append(levels, strings.Split(tag, "/")...)
		}
		if t, tag, more = strings.Cut(tag, "/"); f == "+" {
			levels = append(levels, t)
		}
	}
	return levels
}

// levelOf returns a value as a level of a tag.
func levelOf(v *field.Value) ([]byte, bool) {
	switch v.Kind {
	case field.Text:
		return v.Bytes, len(v.Bytes) > 0 && strings.IndexByte(string(v.Bytes), '/') < 0
	case field.Int, field.Bool:
		return appendValue(nil, v), true
	}
	return nil, false
}
