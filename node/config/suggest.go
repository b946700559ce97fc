package config

import "strings"

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
		d := edits(strings.ToLower(got), k)
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

// edits is the Levenshtein distance of a and b, in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
