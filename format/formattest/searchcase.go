package formattest

import (
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// SearchCase holds a Search of f for path in data, whole or not, to the answer, or to an error that ends in problem, after fed
// bytes; then to the same in pieces of other sizes.
func SearchCase(t *testing.T, f format.Incremental, data, path string, answer format.SearchResult, fed int, problem string) {
	t.Helper()
	p := field.MustParse(path)
	gotAnswer, gotFed, err := FeedSingly(f.NewSearch(p, format.SearchOptions{}), []byte(data))
	got := ""
	if err != nil {
		got = err.Error()
	}
	if gotAnswer != answer || gotFed != fed || !strings.HasSuffix(got, problem) || (got == "") != (problem == "") {
		t.Errorf("got %v after %d bytes, %v, want %v after %d, %s", gotAnswer, gotFed, err, answer, fed, problem)
	}
	CheckSearch(t, f, []byte(data), p, 1)
}

// FeedSingly gives data to s byte by byte, then its end, and returns how many bytes the answer took.
func FeedSingly(s format.Search, data []byte) (answer format.SearchResult, fed int, err error) {
	for i := range data {
		if answer, err = s.Feed(data[i : i+1]); answer != format.More || err != nil {
			return answer, i + 1, err
		}
	}
	answer, err = s.End()
	return answer, len(data), err
}
