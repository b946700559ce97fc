package format

import "example.com/ferry/field"

// Matcher applies a predicate to encoded messages of one format. All calls of Match share one slice of spans, so a
// Matcher is not safe for use by several goroutines.
type Matcher struct {
	format Format
	viewer Viewer // nil if format is not a Viewer
	number NumberReader
	set    *field.Set
	tests  []field.Test
	spans  []field.Span
}

// NewMatcher returns a Matcher. Its method Match allocates nothing.
func NewMatcher(f Format, p *field.Predicate) *Matcher {
	viewer, _ := f.(Viewer)
	number, _ := f.(NumberReader)
	return &Matcher{format: f, viewer: viewer, number: number, set: p.Set(), tests: p.Tests(), spans: make([]field.Span, p.Set().Len())}
}

// Match reports whether the predicate holds for data. It reads data in one pass. mismatch means that a compared field
// was missing or had another type; such a comparison counts as false. err is the error of Find: data is malformed
// before the last field of the predicate, and ok is false.
func (m *Matcher) Match(data []byte) (ok, mismatch bool, err error) {
	if err := m.format.Find(data, m.set, m.spans); err != nil {
		return false, false, err
	}
	at := 0
	for at >= 0 {
		t := &m.tests[at]
		s := m.spans[t.Path]
		holds := s.Found()
		if !t.Exists {
			unlike := true
			if holds {
				holds, unlike = m.compare(data, t, s)
			}
			mismatch = mismatch || unlike
		}
		if at = t.Else; holds {
			at = t.Then
		}
	}
	return at == field.Accept, mismatch, nil
}

func (m *Matcher) compare(data []byte, t *field.Test, s field.Span) (holds, mismatch bool) {
	if m.viewer != nil && s.Kind == field.Text && t.As == field.AnyType {
		if text, ok := m.viewer.View(data, s); ok {
			return t.HoldsText(text)
		}
	}
	v, err := m.format.Value(data, s, t.As)
	if isWideNumber(m.number, data, s, t.As, &v, err) {
		err = nil
	}
	if err != nil {
		return false, true
	}
	return t.Holds(&v)
}

// isWideNumber sets v to the number at s if only the NumberReader n can read it. v and err are the results of Value. n may
// be nil.
func isWideNumber(n NumberReader, data []byte, s field.Span, as field.Type, v *field.Value, err error) bool {
	if n == nil || as != field.AnyType || err == nil && v.Kind != field.Bytes {
		return false
	}
	number, ok := n.Number(data, s)
	if ok {
		*v = number
	}
	return ok
}
