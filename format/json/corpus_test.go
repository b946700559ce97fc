package json

import (
	_ "embed"
	"strconv"
	"strings"
	"testing"

	"example.com/ferry/format"
)

// jsonTestSuite has one test case per line: the name, the verdict of Validate, how often the text is repeated, and the
// text. See testdata/README.md.
//
//go:embed testdata/jsontestsuite.tsv
var jsonTestSuite string

// verdict is the result of Validate: refused, accepted, or accepted only with BoundsOnly.
func verdict(data []byte) string {
	switch {
	case Format{}.Validate(data, format.Options{}) == nil:
		return "accepted"
	case Format{}.Validate(data, format.Options{BoundsOnly: true}) == nil:
		return "bounds"
	}
	return "refused"
}

// TestJSONTestSuite runs the suite. y_ cases are JSON, n_ cases are not, i_ cases may be either. Strict validation also
// refuses y_ cases that consumers read differently.
func TestJSONTestSuite(t *testing.T) {
	t.Parallel()
	strict := 0
	for line := range strings.Lines(jsonTestSuite) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) != 4 {
			t.Fatalf("%d cells in %q, want 4", len(cells), line)
		}
		times, err := strconv.Atoi(cells[2])
		if err != nil {
			t.Fatal(err)
		}
		text, err := strconv.Unquote(cells[3])
		if err != nil {
			t.Fatal(err)
		}
		name, got := cells[0], verdict([]byte(strings.Repeat(text, times)))
		if got != cells[1] {
			t.Errorf("%s: %s, want %s", name, got, cells[1])
		}
		switch {
		case name[0] == 'y' && got == "refused":
			t.Errorf("%s: refused", name)
		case name[0] == 'n' && got != "refused":
			t.Errorf("%s: accepted", name)
		case name[0] == 'y' && got == "bounds":
			strict++
		}
	}
	if strict != 2 {
		t.Errorf("strict validation refuses %d cases that are JSON, want the two with a name twice", strict)
	}
}
