package phrase

import "testing"

func TestOr(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		words []string
		want  string
	}{
		{nil, ""},
		{[]string{"a"}, "a"},
		{[]string{"a", "b"}, "a or b"},
		{[]string{"a", "b", "c"}, "a, b or c"},
	} {
		if got := Or(row.words); got != row.want {
			t.Errorf("%q: got %q, want %q", row.words, got, row.want)
		}
	}
}
