package formattest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// checkTruncations cuts valid data at each byte. Validate must refuse each part, unless the part is a valid message
// itself. Examples are the first of several packets, and the first digits of a number.
func checkTruncations(t *testing.T, f format.Format, data []byte) {
	t.Helper()
	whole, err := walk(f, data)
	if err != nil {
		t.Fatal(err)
	}
	step := 1 + len(data)/2000
	for n := 0; n < len(data); n += step {
		cut := data[:n:n]
		if err := f.Validate(cut, format.Options{}); err != nil {
			var syntax *format.SyntaxError
			if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.As(err, &syntax) {
				t.Errorf("Validate of %d of %d bytes: got %v, want io.ErrUnexpectedEOF or *format.SyntaxError\n% x", n, len(data), err, data)
			}
		} else if part, err := walk(f, cut); err != nil || !isPrefix(part, whole) {
			t.Errorf("Validate accepted %d of %d bytes, which hold other values than the whole: %v\n% x", n, len(data), err, data)
		}
		for _, it := range whole {
			if !it.first || len(whole) > 100 && it.span.End < n-64 {
				continue
			}
			got, err := f.Lookup(cut, field.MustParse(it.path))
			if err == nil && (got.Head != it.span.Head || got.End > n) {
				t.Errorf("Lookup(%q) in %d of %d bytes: got %+v, want an error or %+v\n% x", it.path, n, len(data), got, it.span, data)
			}
		}
	}
}

// isPrefix reports whether the values of part are the first values of whole. It does not compare the end of the
// outermost value, which is the end of data, and the end of a list without an end mark.
func isPrefix(part, whole []walkItem) bool {
	if len(part) > len(whole) || len(part) == 0 {
		return false
	}
	for i := range part[1:] {
		got, want := part[i+1], whole[i+1]
		if want.span.Kind == field.List && got.span.End == part[0].span.End {
			want.span.End = min(want.span.End, got.span.End)
		}
		if got.path != want.path || got.span != want.span {
			return false
		}
	}
	return true
}

// checkMutations changes, inserts, removes and repeats random bytes of data. The changes are the same in each run.
func checkMutations(t *testing.T, f format.Format, data []byte) {
	t.Helper()
	if len(data) > 4096 {
		return // a large document has no structure that small documents lack
	}
	r := rand.New(rand.NewPCG(uint64(len(data)), 1))
	for range mutantsPerDocument {
		Check(t, f, mutate(r, bytes.Clone(data)))
	}
}

var boundaryBytes = []byte{0x00, 0x01, 0x3f, 0x40, 0x7f, 0x80, 0x9f, 0xbf, 0xc0, 0xff, '"', '\\', '{', '['}

func mutate(r *rand.Rand, b []byte) []byte {
	for range 1 + r.IntN(3) {
		if len(b) == 0 {
			b = append(b, byte(r.Uint32()))
		}
		i := r.IntN(len(b))
		switch r.IntN(6) {
		case 0:
			b[i] = byte(r.Uint32())
		case 1:
			b[i] = boundaryBytes[r.IntN(len(boundaryBytes))]
		case 2:
			b[i] ^= 1 << r.IntN(8)
		case 3:
			b = append(b[:i], b[i+1:]...)
		case 4:
			b = append(b[:i], append([]byte{byte(r.Uint32())}, b[i:]...)...)
		case 5:
			b = append(b[:i], b[r.IntN(len(b)):]...)
		}
	}
	return b
}

// checkReadsPastEnd calls every method on data with three different suffixes within its capacity. The results must be
// equal. A span outside data ends the test.
func checkReadsPastEnd(t testing.TB, f format.Format, data []byte) {
	t.Helper()
	want := recordCalls(t, f, data[:len(data):len(data)])
	more := bytes.Repeat([]byte{0x01, '"', '}', 0x81}, 8)
	for _, tail := range [][]byte{bytes.Repeat([]byte{0xff}, 32), more} {
		behind := append(bytes.Clone(data), tail...)
		got := recordCalls(t, f, behind[:len(data)])
		if got != want {
			t.Errorf("the bytes behind data change what is read: got\n%swant\n%s% x", got, want, data)
		}
		if !bytes.Equal(behind[len(data):], tail) {
			t.Errorf("the bytes behind data were written to: got % x\n% x", behind[len(data):], data)
		}
	}
}

// recordCalls calls all methods of f on data, and returns the results as text. f must not change data.
func recordCalls(t testing.TB, f format.Format, data []byte) string {
	t.Helper()
	before := bytes.Clone(data)
	var b strings.Builder
	for _, o := range []format.Options{{}, {BoundsOnly: true}, {MaxDepth: 3}, {FoldKeys: true, AllowTrailing: true}} {
		fmt.Fprintln(&b, "validate:", f.Validate(data, o))
	}
	valid := f.Validate(data, format.Options{}) == nil
	items, err := walk(f, data)
	if errors.Is(err, errSpan) || valid && err != nil {
		t.Fatalf("Walk: %v\n% x", err, data)
	}
	fmt.Fprintln(&b, "walk:", err)
	b.WriteString(describeItems(f, data, items))
	paths := []field.Path{{}}
	for _, text := range absentPaths {
		paths = append(paths, field.MustParse(text))
	}
	for _, it := range items[:min(len(items), 16)] {
		if it.first && it.depth > 0 {
			paths = append(paths, field.MustParse(it.path))
		}
	}
	set, err := field.NewSet(paths...)
	if err != nil {
		t.Fatal(err)
	}
	spans := make([]field.Span, set.Len())
	err = f.Find(data, set, spans)
	fmt.Fprintln(&b, "find:", err, spans)
	for i, p := range paths {
		s, lookupErr := f.Lookup(data, p)
		fmt.Fprintln(&b, p, s, lookupErr)
		if lookupErr == nil {
			checkSpanInside(t, data, p, s)
			for as := field.AnyType; as <= field.ByteString; as++ {
				v, err := f.Value(data, s, as)
				fmt.Fprintln(&b, as, v, err)
			}
		}
		if err == nil && spans[i] != s {
			t.Fatalf("Find: got %+v for %q, where Lookup has %+v, %v\n% x", spans[i], p, s, lookupErr, data)
		}
	}
	if !bytes.Equal(before, data) {
		t.Fatalf("a method that only reads changed data to % x\n% x", data, before)
	}
	return b.String()
}

func checkSpanInside(t testing.TB, data []byte, p field.Path, s field.Span) {
	t.Helper()
	if s.Head < 0 || s.Head > s.Off || s.Off > s.End || s.End > len(data) || s.Kind == field.Missing {
		t.Fatalf("Lookup(%q): %+v is not inside the %d bytes of data\n% x", p, s, len(data), data)
	}
}

// allocationSlack is a number of bytes: an error and a table of open containers may allocate as much in addition to the
// input's size.
const allocationSlack = 4096

// checkAllocationBound measures how many bytes of memory f allocates. f must not allocate memory for a length that data
// does not have.
func checkAllocationBound(t *testing.T, f format.Format, data []byte) {
	t.Helper()
	p := field.MustParse(absentPaths[0])
	least := uint64(1 << 62)
	for range 5 { // the least of several measurements, because other tests allocate at the same time
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = f.Validate(data, format.Options{})
		_, _ = f.Lookup(data, p)
		_ = f.Walk(data, func(field.Step, int, field.Span) error { return nil })
		runtime.ReadMemStats(&after)
		if least = min(least, after.TotalAlloc-before.TotalAlloc); least <= allocationSlack {
			break
		}
	}
	if least > uint64(len(data))+allocationSlack {
		t.Errorf("%d bytes are allocated for an input of %d\n% x", least, len(data), data)
	}
}
