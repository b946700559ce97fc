package config

import (
	"strings"

	"example.com/ferry/internal/levenshtein"
)

// suggest returns `: did you mean "x"?` for the known name closest to got, or a list of what there is.
func suggest(got string, known []string) string {
	if near := closest(got, known); near != "" {
		return near
	}
	return ": want one of " + strings.Join(known, ", ")
}

// closest returns `: did you mean "x"?` for the known name closest to got, or "" if none is similar.
func closest(got string, known []string) string {
	best, distance := "", 3
	for _, k := range known {
		d := levenshtein.Distance(strings.ToLower(got), k)
		if strings.ReplaceAll(strings.ToLower(got), "-", "_") == k || k == got+"s" || got == k+"s" {
			d = 0
		}
		if d < distance && d < len(k) {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return `: did you mean "` + best + `"?`
}
