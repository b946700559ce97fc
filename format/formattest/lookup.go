package formattest

import (
	"errors"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// absentPaths are paths that no document has. There is one of each form.
var absentPaths = []string{"formattest absent", "0x3f.0x3e.0x3d.0x3c", "2147483646", "formattest.0.absent"}

// checkLookups checks that Lookup and Find agree with a full walk of valid data.
func checkLookups(t testing.TB, f format.Format, data []byte) {
	t.Helper()
	items, err := walk(f, data)
	if err != nil {
		t.Fatalf("Walk of valid data: %v\n% x", err, data)
	}
	var paths []field.Path
	want := map[string]field.Span{}
	for _, it := range items {
		if !it.first {
			continue
		}
		p, err := field.Parse(it.path)
		if err != nil {
			t.Fatalf("path %q of a value that Walk reported: %v", it.path, err)
		}
		got, err := f.Lookup(data, p)
		if err != nil || got != it.span {
			t.Errorf("Lookup(%q): got %+v, %v, want %+v as Walk has it\n% x", it.path, got, err, it.span, data)
		}
		if viewer, ok := f.(format.Viewer); ok {
			text, plain := viewer.View(data, it.span)
			v, err := f.Value(data, it.span, field.AnyType)
			if plain && (err != nil || v.Kind != field.Text || string(v.Bytes) != string(text)) {
				t.Errorf("View(%q): got %q, where Value reads %+v, %v\n% x", it.path, text, v, err, data)
			}
		}
		paths, want[it.path] = append(paths, p), it.span
	}
	for _, text := range absentPaths {
		p := field.MustParse(text)
		if got, err := f.Lookup(data, p); !errors.Is(err, field.ErrNotFound) {
			t.Errorf("Lookup(%q): got %+v, %v, want field.ErrNotFound\n% x", text, got, err, data)
		}
		paths = append(paths, p)
	}
	for _, group := range pathGroups(paths) {
		checkFind(t, f, data, group, want)
	}
}

// pathGroups returns lists of paths to make sets from: each path alone, neighbours, and as many paths as a set can hold, in
// both orders.
func pathGroups(paths []field.Path) [][]field.Path {
	var all [][]field.Path
	for i := range paths {
		all = append(all, paths[i:i+1], paths[max(0, i-1):i+1], paths[max(0, i-3):i+1])
	}
	for len(paths) > 0 {
		n := min(len(paths), field.MaxSet)
		back := make([]field.Path, n)
		for i, p := range paths[:n] {
			back[n-1-i] = p
		}
		all = append(all, paths[:n], back)
		paths = paths[n:]
	}
	return all
}

func checkFind(t testing.TB, f format.Format, data []byte, paths []field.Path, want map[string]field.Span) {
	t.Helper()
	set, err := field.NewSet(paths...)
	if err != nil {
		t.Fatal(err)
	}
	spans := make([]field.Span, set.Len())
	for i := range spans {
		spans[i] = field.Span{Head: -1, Off: -1, End: -1, Kind: field.Extension} // as if an earlier message had left it there
	}
	if err := f.Find(data, set, spans); err != nil {
		t.Errorf("Find(%q): %v\n% x", paths, err, data)
		return
	}
	for i, p := range paths {
		if spans[i] != want[p.String()] {
			t.Errorf("Find(%q): got %+v for %q, want %+v\n% x", paths, spans[i], p, want[p.String()], data)
		}
	}
}

// checkNoAllocations requires that Lookup and Find allocate nothing.
func checkNoAllocations(t *testing.T, f format.Format, data []byte) {
	t.Helper()
	items, _ := walk(f, data)
	var paths []field.Path
	for _, it := range items {
		if it.first && len(paths) < 8 {
			paths = append(paths, field.MustParse(it.path))
		}
	}
	set, err := field.NewSet(paths...)
	if err != nil {
		t.Fatal(err)
	}
	spans := make([]field.Span, set.Len())
	got := testing.AllocsPerRun(5, func() {
		for _, p := range paths {
			if _, err := f.Lookup(data, p); err != nil {
				t.Errorf("Lookup(%q): %v", p, err)
			}
		}
		if err := f.Find(data, set, spans); err != nil {
			t.Errorf("Find(%q): %v", paths, err)
		}
	})
	if got != 0 {
		t.Errorf("Lookup and Find of %q allocate %v times, want 0", paths, got)
	}
}
