package formattest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// searchOutcome is the result of one incremental search in a message.
type searchOutcome struct {
	answer  format.SearchResult
	err     string
	tooDeep bool // err is about nesting, which Lookup does not limit
	span    field.Span
	value   string
	fed     int // number of bytes that were fed until the result
}

// feedPieces resets s, and feeds data to s in pieces. next returns the size of each piece. feedPieces overwrites a
// piece after it was fed, because s must not keep a reference to it.
func feedPieces(s format.Search, data []byte, next func(rest int) int) searchOutcome {
	s.Reset()
	var got searchOutcome
	var err error
	for got.answer == format.More && err == nil && got.fed < len(data) {
		n := min(next(len(data)-got.fed), len(data)-got.fed)
		piece := bytes.Clone(data[got.fed : got.fed+n])
		got.answer, err = s.Feed(piece)
		got.fed += n
		for i := range piece {
			piece[i] = 0xa5
		}
	}
	if got.answer == format.More && err == nil {
		got.answer, err = s.End()
	}
	if err != nil {
		got.err = err.Error()
		got.tooDeep = strings.Contains(got.err, "nested deeper")
	}
	if got.span = s.Span(); got.answer == format.Found {
		got.value = valueTexts(s.Value)
	}
	return got
}

// valueTexts returns a value as text. The value is read as each of several types.
func valueTexts(value func(field.Type) (field.Value, error)) string {
	text := ""
	for _, as := range []field.Type{field.AnyType, field.Int32, field.Float64, field.ByteString} {
		v, err := value(as)
		text += fmt.Sprintln(v, err)
	}
	return text
}

// onePiece, oneByte, randomPieces and twoPieces are ways to cut a message into pieces.
func onePiece(rest int) int { return rest }
func oneByte(int) int       { return 1 }

func randomPieces(seed uint64) func(int) int {
	r := rand.New(rand.NewPCG(seed, 7))
	return func(int) int { return r.IntN(1 << r.IntN(7)) }
}

func twoPieces(at int) func(int) int {
	return func(rest int) int {
		n := at
		at = rest
		return n
	}
}

// CheckSearch checks the incremental search of f for p in data, which may be any bytes. The result must not depend on
// how data is cut into pieces, and must agree with Lookup and Value. seed selects the pieces. CheckSearch does nothing
// if f is no format.Incremental.
func CheckSearch(t testing.TB, f format.Format, data []byte, p field.Path, seed uint64) {
	t.Helper()
	incremental, ok := f.(format.Incremental)
	if !ok {
		return
	}
	s := incremental.NewSearch(p, format.SearchOptions{})
	got := feedPieces(s, data, onePiece)
	checkAgainstLookup(t, f, data, p, got)
	cuts := []func(int) int{oneByte, randomPieces(seed), randomPieces(seed + 1)}
	if len(data) > 0 {
		cuts = append(cuts, twoPieces(int(seed%uint64(len(data)))))
	}
	for i, next := range cuts {
		again := feedPieces(s, data, next)
		if i == 0 {
			checkEarlyResult(t, data, p, again)
		}
		if again.fed = got.fed; again != got {
			t.Errorf("NewSearch(%q) in pieces (%d, seed %d): got %+v, in one %+v\n% x", p, i, seed, again, got, data)
		}
	}
}

// checkAgainstLookup compares the outcome of an incremental search with Lookup and Value.
func checkAgainstLookup(t testing.TB, f format.Format, data []byte, p field.Path, got searchOutcome) {
	t.Helper()
	want, err := f.Lookup(data, p)
	switch {
	case errors.Is(err, field.ErrNotFound):
		if got.answer != format.Absent && !got.tooDeep {
			t.Errorf("NewSearch(%q): got %+v, where Lookup finds nothing\n% x", p, got, data)
		}
	case err != nil: // the error may be in a part of data that the search does not read
		if got.answer != format.More && got.err != "" {
			t.Errorf("NewSearch(%q): got both an answer and an error, %+v\n% x", p, got, data)
		}
	case got.answer != format.Found:
		if !got.tooDeep {
			t.Errorf("NewSearch(%q): got %+v, where Lookup has %+v\n% x", p, got, want, data)
		}
	default:
		isContainer := want.Kind == field.List || want.Kind == field.Map
		if isContainer && got.span.End < 0 {
			want.End = -1
		}
		if got.span != want {
			t.Errorf("NewSearch(%q): got %+v, where Lookup has %+v\n% x", p, got.span, want, data)
			return
		}
		if isContainer {
			return
		}
		if value := valueTexts(func(as field.Type) (field.Value, error) { return f.Value(data, want, as) }); got.value != value {
			t.Errorf("NewSearch(%q): Value gives\n%s where that of the whole message gives\n%s% x", p, got.value, value, data)
		}
	}
}

// headBytes is the size in bytes of the largest head that extends past the span's Off. Only a list of records has one:
// the head of its first record.
const headBytes = 20

// checkEarlyResult requires that a search fed with single bytes ends at the value's last byte, or one byte later.
func checkEarlyResult(t testing.TB, data []byte, p field.Path, got searchOutcome) {
	t.Helper()
	need := got.span.End
	if got.span.Kind == field.List || got.span.Kind == field.Map {
		need = got.span.Off + headBytes
	}
	if got.answer == format.Found && got.fed-1 > need {
		t.Errorf("NewSearch(%q): found %+v after %d bytes, want at most %d and one more\n% x", p, got.span, got.fed, need, data)
	}
}

// checkSearches runs incremental searches in data, which may be malformed. It searches for the first values, at most
// limit, and for absent paths.
func checkSearches(t testing.TB, f format.Format, data []byte, limit int) {
	t.Helper()
	if _, ok := f.(format.Incremental); !ok {
		return
	}
	for i, p := range searchPaths(f, data, limit) {
		CheckSearch(t, f, data, p, uint64(i+len(data)))
	}
}

func searchPaths(f format.Format, data []byte, limit int) []field.Path {
	paths := []field.Path{{}}
	for _, text := range absentPaths {
		paths = append(paths, field.MustParse(text))
	}
	items, _ := walk(f, data)
	for _, it := range items[:min(len(items), limit)] {
		if it.first && it.depth > 0 {
			paths = append(paths, field.MustParse(it.path))
		}
	}
	return paths
}

// checkSearchCuts cuts valid data in two, at each byte, and requires the same outcome of the search.
func checkSearchCuts(t *testing.T, f format.Format, data []byte) {
	t.Helper()
	incremental, ok := f.(format.Incremental)
	if !ok {
		return
	}
	paths := searchPaths(f, data, 1<<20)
	for i := 0; i < len(paths); i += 1 + len(paths)/searchesPerDocument {
		s := incremental.NewSearch(paths[i], format.SearchOptions{})
		want := feedPieces(s, data, onePiece)
		for at := 0; at < len(data); at += 1 + len(data)/1000 {
			got := feedPieces(s, data, twoPieces(at))
			if got.fed = want.fed; got != want {
				t.Errorf("NewSearch(%q) cut at %d: got %+v, in one piece %+v\n% x", paths[i], at, got, want, data)
			}
		}
		checkSearchAllocations(t, s, data, paths[i])
	}
}

// checkSearchAllocations requires that a reused Search allocates nothing.
func checkSearchAllocations(t *testing.T, s format.Search, data []byte, p field.Path) {
	t.Helper()
	half := len(data) / 2
	got := testing.AllocsPerRun(3, func() {
		s.Reset()
		for i := range half {
			if _, err := s.Feed(data[i : i+1]); err != nil {
				t.Errorf("Feed: %v", err)
			}
		}
		if _, err := s.Feed(data[half:]); err != nil {
			t.Errorf("Feed: %v", err)
		}
		if _, err := s.End(); err != nil {
			t.Errorf("End: %v", err)
		}
	})
	if got != 0 {
		t.Errorf("a Search for %q that is used again allocates %v times, want 0\n% x", p, got, data)
	}
}

// checkSearchBound measures how many bytes of memory an incremental search allocates. The search must not allocate
// memory for a length before the bytes arrive, and must not keep skipped bytes.
func checkSearchBound(t *testing.T, f format.Format, data []byte) {
	t.Helper()
	incremental, ok := f.(format.Incremental)
	if !ok {
		return
	}
	p := field.MustParse(absentPaths[0])
	var sizes []uint64
	for range 5 { // the least of several measurements, because other tests allocate at the same time
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s := incremental.NewSearch(p, format.SearchOptions{})
		for i := range data {
			if _, err := s.Feed(data[i : i+1]); err != nil {
				break
			}
		}
		runtime.ReadMemStats(&after)
		sizes = append(sizes, after.TotalAlloc-before.TotalAlloc)
	}
	if least := slices.Min(sizes); least > allocationSlack {
		t.Errorf("a Search for an absent value allocates %d bytes, want at most %d\n% x", least, allocationSlack, data)
	}
}

// SearchLarge searches for two scalars in data, a valid message of several megabytes. early lies in the first KiB, and
// is searched in pieces of 1 KiB. late lies after the largest part, and is searched in pieces of 64 KiB. The memory of
// a search must not grow with data. A test that calls SearchLarge must not be parallel, because SearchLarge measures
// the allocations of the whole program.
func SearchLarge(t *testing.T, f format.Incremental, data []byte, early, late string) {
	t.Helper()
	for _, test := range []struct {
		path      string
		size, fed int // size of a piece, and the largest number of bytes that may be fed
	}{{early, 1 << 10, 1 << 10}, {late, 64 << 10, len(data)}} {
		p := field.MustParse(test.path)
		s := f.NewSearch(p, format.SearchOptions{})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		answer, fed := format.More, 0
		for answer == format.More && fed < len(data) {
			n := min(test.size, len(data)-fed)
			var err error
			if answer, err = s.Feed(data[fed : fed+n]); err != nil {
				t.Fatalf("Feed at %d: %v", fed, err)
			}
			fed += n
		}
		runtime.ReadMemStats(&after)
		want, err := f.Lookup(data, p)
		if answer != format.Found || s.Span() != want || err != nil {
			t.Errorf("NewSearch(%q): got %v, %+v, where Lookup has %+v, %v", p, answer, s.Span(), want, err)
		}
		if fed > test.fed {
			t.Errorf("NewSearch(%q) took %d bytes of %d, want at most %d", p, fed, len(data), test.fed)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 16*allocationSlack {
			t.Errorf("NewSearch(%q) allocates %d bytes for %d, want at most %d", p, n, fed, 16*allocationSlack)
		}
	}
}
