// Package topic checks and matches tags and tag filters (MQTT 5.0, section 4.7). '/' separates levels, + matches one
// level, # matches all further levels.
//
//	topic.Match("sensors/+/cpu", "sensors/edge-1/cpu") // true
package topic

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxLen is the longest tag or filter, in bytes.
const MaxLen = 1024

// CheckTag returns nil if s is a valid tag. The error says what is wrong.
func CheckTag(s string) error {
	if err := checkText("tag", s); err != nil {
		return err
	}
	if i := strings.IndexAny(s, "+#"); i >= 0 {
		return fmt.Errorf("tag %q holds the wildcard %q: publish on one tag, wildcards are for subscriptions", s, s[i])
	}
	return nil
}

// CheckFilter returns nil if s is a valid filter. The error says what is wrong.
func CheckFilter(s string) error {
	if err := checkText("filter", s); err != nil {
		return err
	}
	for rest, more := s, true; more; {
		var level string
		level, rest, more = strings.Cut(rest, "/")
		switch {
		case level == "#" && more:
			return fmt.Errorf("filter %q goes on behind #: it must be the last level", s)
		case level != "#" && level != "+" && strings.ContainsAny(level, "+#"):
			return fmt.Errorf("filter %q has a wildcard inside the level %q: it must stand alone", s, level)
		}
	}
	return nil
}

func checkText(what, s string) error {
	switch {
	case s == "":
		return fmt.Errorf("%s is empty", what)
	case len(s) > MaxLen:
		return fmt.Errorf("%s of %d bytes: at most %d", what, len(s), MaxLen)
	case !utf8.ValidString(s):
		return fmt.Errorf("%s %q is not UTF-8", what, s)
	}
	for i, r := range s {
		if unicode.IsControl(r) {
			return fmt.Errorf("%s %q holds a control character at offset %d", what, s, i)
		}
	}
	return nil
}

// Match reports whether filter matches tag.
func Match(filter, tag string) bool {
	for {
		f, frest, fmore := strings.Cut(filter, "/")
		if f == "#" {
			return true
		}
		t, trest, tmore := strings.Cut(tag, "/")
		switch {
		case f != "+" && f != t:
			return false
		case !tmore:
			return !fmore || frest == "#" // "a/#" also matches "a"
		case !fmore:
			return false
		}
		filter, tag = frest, trest
	}
}

// Covers reports whether outer matches every tag that inner matches.
func Covers(outer, inner string) bool {
	for {
		o, orest, omore := strings.Cut(outer, "/")
		if o == "#" {
			return true
		}
		i, irest, imore := strings.Cut(inner, "/")
		switch {
		case i == "#" || (o != "+" && o != i):
			return false
		case !imore:
			return !omore || orest == "#"
		case !omore:
			return false
		}
		outer, inner = orest, irest
	}
}

// Overlap reports whether there is a tag that both filters match.
func Overlap(a, b string) bool {
	for {
		x, xrest, xmore := strings.Cut(a, "/")
		y, yrest, ymore := strings.Cut(b, "/")
		switch {
		case x == "#" || y == "#":
			return true
		case x != y && x != "+" && y != "+":
			return false
		case !xmore || !ymore: // "a/#" also matches "a"
			return xmore == ymore || xrest == "#" || yrest == "#"
		}
		a, b = xrest, yrest
	}
}
