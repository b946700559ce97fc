package topic

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		filter, tag string
		want        bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"a", "a/b", false},
		{"a/b", "a", false},
		{"#", "a/b/c", true},
		{"a/#", "a/b/c", true},
		{"a/#", "a", true},
		{"a/#", "ab", false},
		{"+", "a", true},
		{"+", "a/b", false},
		{"a/+/c", "a/b/c", true},
		{"a/+/c", "a//c", true},
		{"a/+/c", "a/b/d", false},
		{"+/+", "/a", true},
		{"a/+", "a", false},
		{"/a", "a", false},
	} {
		if got := Match(c.filter, c.tag); got != c.want {
			t.Errorf("Match(%q, %q) = %v, want %v", c.filter, c.tag, got, c.want)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		outer, inner string
		want         bool
	}{
		{"#", "#", true},
		{"#", "a/+/b", true},
		{"a/#", "#", false},
		{"a/#", "a/b/#", true},
		{"a/#", "a", true},
		{"+", "#", false},
		{"+", "a", true},
		{"+/b", "+/b", true},
		{"a/b", "a/+", false},
		{"a/+", "a/b", true},
		{"a/+", "a/b/c", false},
		{"a/+", "a/#", false},
	} {
		if got := Covers(c.outer, c.inner); got != c.want {
			t.Errorf("Covers(%q, %q) = %v, want %v", c.outer, c.inner, got, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		check func(string) error
		in    string
		want  string // part of the error; "" means none
	}{
		{CheckTag, "sensors/edge-1/cpu", ""},
		{CheckTag, "", "empty"},
		{CheckTag, "a/+", "wildcard"},
		{CheckTag, "a\x00b", "control character at offset 1"},
		{CheckTag, "a\xff", "UTF-8"},
		{CheckTag, strings.Repeat("a", MaxLen+1), "at most 1024"},
		{CheckFilter, "a/+/#", ""},
		{CheckFilter, "#/a", "behind #"},
		{CheckFilter, "a/b+", "inside the level"},
	} {
		err := c.check(c.in)
		if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("check %q: got %v, want %q", c.in, err, c.want)
		}
	}
}

// FuzzCovers: if outer covers inner, outer matches every tag that inner matches.
func FuzzCovers(f *testing.F) {
	f.Add("a/#", "a/+", "a/b")
	f.Fuzz(func(t *testing.T, outer, inner, tag string) {
		if CheckFilter(outer) != nil || CheckFilter(inner) != nil || CheckTag(tag) != nil {
			return
		}
		if Covers(outer, inner) && Match(inner, tag) && !Match(outer, tag) {
			t.Errorf("Covers(%q, %q), but only the inner matches %q", outer, inner, tag)
		}
	})
}

// TestOverlap compares Overlap with tags that both filters match, both ways round.
func TestOverlap(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"a", "a/b", false},
		{"a/+", "a/b", true},
		{"a/+", "a", false},
		{"a/+", "+/b", true},
		{"a/+/c", "a/b/+", true},
		{"a/+/c", "a/b/d", false},
		{"#", "a/b", true},
		{"a/#", "a", true},
		{"a/#", "+", true},
		{"a/#", "b/#", false},
		{"a/#", "a/b/#", true},
		{"a/b/#", "a", false},
		{"a/b/#", "a/+", true},
		{"+/x/#", "a/+", true},
		{"a//b", "a/+/b", true},
	} {
		if got := Overlap(row.a, row.b); got != row.want {
			t.Errorf("%q and %q: got %v, want %v", row.a, row.b, got, row.want)
		}
		if got := Overlap(row.b, row.a); got != row.want {
			t.Errorf("%q and %q: got %v, want %v", row.b, row.a, got, row.want)
		}
	}
}
