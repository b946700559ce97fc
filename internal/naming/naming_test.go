package naming

import (
	"strings"
	"testing"
)

func TestValid(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, more string
		want       bool
	}{
		{"pump-1_B", "", true},
		{strings.Repeat("a", MaxLen), "", true},
		{strings.Repeat("a", MaxLen+1), "", false},
		{"", "", false},
		{"a.b", "", false},
		{"a.b", ".", true},
		{"a/b", ".", false},
		{"a\n", "", false},
		{"é", "", false},
	} {
		if got := ValidWith(row.name, row.more); got != row.want {
			t.Errorf("%q and %q: got %t, want %t", row.name, row.more, got, row.want)
		}
	}
}
