package formattest_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/formattest"
	"example.com/ferry/format/y3"
)

// broken is a correct format with one fault added.
type broken struct {
	y3.Format
	fault string
}

func (b broken) Lookup(data []byte, p field.Path) (field.Span, error) {
	s, err := b.Format.Lookup(data, p)
	switch {
	case err != nil || p.Len() == 0:
	case b.fault == "lookup finds another span":
		s.Off--
	case b.fault == "lookup reads behind the end" && cap(data) > len(data):
		s.End += int(data[:cap(data)][len(data)]) & 1
	}
	return s, err
}

func (b broken) Find(data []byte, set *field.Set, spans []field.Span) error {
	if b.fault == "find forgets the last" && set.Len() > 1 {
		err := b.Format.Find(data, set, spans)
		spans[set.Len()-1] = field.Span{}
		return err
	}
	return b.Format.Find(data, set, spans)
}

func (b broken) Walk(data []byte, visit format.Visit) error {
	return b.Format.Walk(data, func(step field.Step, depth int, s field.Span) error {
		if b.fault == "walk leaves its parent" && depth == 2 {
			s.End++
		}
		return visit(step, depth, s)
	})
}

func (b broken) Patch(dst, data []byte, p field.Path, v field.Value) ([]byte, error) {
	got, err := b.Format.Patch(dst, data, p, v)
	if b.fault == "patch changes a neighbour" && err == nil && len(got) > 0 {
		got[len(got)-1] ^= 1
	}
	return got, err
}

func (b broken) PatchInPlace(data []byte, p field.Path, v field.Value) (bool, error) {
	ok, err := b.Format.PatchInPlace(data, p, v)
	return ok && b.fault != "patch in place says it did not", err
}

func (b broken) NewSearch(p field.Path, o format.SearchOptions) format.Search {
	return &brokenSearch{b.Format.NewSearch(p, o), b.fault, 0}
}

// brokenSearch is a correct search with one fault added.
type brokenSearch struct {
	format.Search
	fault string
	fed   int
}

func (s *brokenSearch) Feed(piece []byte) (format.SearchResult, error) {
	if s.fault == "search forgets a cut" && s.fed > 0 && s.fed%3 == 0 && len(piece) > 1 {
		piece = piece[1:]
	}
	s.fed++
	return s.Search.Feed(piece)
}

func (s *brokenSearch) Span() field.Span {
	span := s.Search.Span()
	if s.fault == "search finds another span" && span.Kind == field.Untyped {
		span.Off--
	}
	return span
}

// recorder is a testing.TB that records failures. Its Fatalf panics, to end the test.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(r)
}

func check(t *testing.T, f format.Format, data []byte) (failures []string) {
	r := &recorder{TB: t}
	defer func() {
		if got := recover(); got != nil && got != any(r) {
			panic(got)
		}
		failures = r.failures
	}()
	formattest.Check(r, f, data)
	return r.failures
}

func TestCheckFindsFaults(t *testing.T) {
	t.Parallel()
	data := []byte{0x81, 0x08, 0x02, 0x01, 0x7f, 0x83, 0x03, 0x04, 0x01, 0x43}
	tests := []struct{ fault, want string }{
		{"lookup finds another span", "where Lookup has"},
		{"lookup reads behind the end", "not inside"},
		{"find forgets the last", "Find"},
		{"walk leaves its parent", "not inside its parent"},
		{"patch changes a neighbour", "Patch"},
		{"patch in place says it did not", "PatchInPlace"},
		{"search forgets a cut", "in pieces"},
		{"search finds another span", "where Lookup has"},
	}
	for _, test := range tests {
		t.Run(test.fault, func(t *testing.T) {
			failures := check(t, broken{fault: test.fault}, data)
			if all := strings.Join(failures, "\n"); !strings.Contains(all, test.want) {
				t.Errorf("got failures %q, want one with %q", failures, test.want)
			}
		})
	}
	if failures := check(t, broken{}, data); len(failures) > 0 {
		t.Errorf("without a fault: %q", failures)
	}
}
