package formattest

import (
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// SearchCase runs the incremental search of f for path in data, which may be incomplete. After fed bytes the result
// must be answer, or an error whose text ends in problem. SearchCase repeats this with pieces of other sizes.
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

// FeedSingly feeds data to s byte by byte, then calls End. fed is the number of bytes that were fed until the result.
func FeedSingly(s format.Search, data []byte) (answer format.SearchResult, fed int, err error) {
	for i := range data {
		if answer, err = s.Feed(data[i : i+1]); answer != format.More || err != nil {
			return answer, i + 1, err
		}
	}
	answer, err = s.End()
	return answer, len(data), err
}
