package levenshtein_test

import (
	"testing"

	"example.com/ferry/internal/levenshtein"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"same", "same", 0},
		{"listener", "listeners", 1}, // insert
		{"ferry", "fery", 1},
		{"tpc", "tcp", 2},        // two letters changed places
		{"kitten", "sitting", 3}, // two replaced, one inserted
	} {
		if got := levenshtein.Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := levenshtein.Distance(c.b, c.a); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
