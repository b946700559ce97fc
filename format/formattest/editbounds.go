package formattest

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// checkArbitraryEdits plans changes of data that may be malformed. It repeats each plan with other bytes after data,
// within its capacity. No method may panic. Both plans must be equal. After an error the plan must be empty.
func checkArbitraryEdits(t testing.TB, f format.Format, data []byte) {
	t.Helper()
	editor, ok := f.(format.Editor)
	if !ok {
		return
	}
	items, _ := walk(f, data)
	paths := slices.Concat(absentPaths, newKeys, []string{"0", "1"})
	for _, it := range items[:min(len(items), 4)] {
		if it.first {
			paths = append(paths, it.path)
		}
	}
	c := editTarget{t, f, editor, data, items}
	behind := append(bytes.Clone(data), bytes.Repeat([]byte{0xff}, 32)...)[:len(data)]
	v := field.Value{Kind: field.Text, Bytes: []byte("text")}
	for _, path := range paths {
		p := field.MustParse(path)
		for name, plan := range map[string]func(*format.Edit, []byte) error{
			"Replace": func(e *format.Edit, data []byte) error { return editor.Replace(e, data, p, v) },
			"Insert":  func(e *format.Edit, data []byte) error { return editor.Insert(e, data, p, v) },
			"Delete":  func(e *format.Edit, data []byte) error { return editor.Delete(e, data, p) },
		} {
			what := fmt.Sprintf("%s of %q", name, p)
			want, wantErr := c.applyEdit(what, data[:len(data):len(data)], func(e *format.Edit) error { return plan(e, data[:len(data):len(data)]) })
			got, err := c.applyEdit(what, behind, func(e *format.Edit) error { return plan(e, behind) })
			if fmt.Sprint(err) != fmt.Sprint(wantErr) || !bytes.Equal(got, want) {
				t.Errorf("the bytes behind data change what %s makes: got % x, %v, want % x, %v\n% x", what, got, err, want, wantErr, data)
			}
		}
	}
}

// checkEditBounds measures how many bytes of memory the plans of edits allocate. data may be malformed.
func checkEditBounds(t *testing.T, f format.Format, data []byte) {
	t.Helper()
	editor, ok := f.(format.Editor)
	if !ok {
		return
	}
	v := field.Value{Kind: field.Text, Bytes: []byte("text")}
	for _, path := range []string{"0", newKeys[0]} {
		p := field.MustParse(path)
		least := uint64(1 << 62)
		for range 5 { // the least of several measurements, because other tests allocate at the same time
			var before, after runtime.MemStats
			var e format.Edit
			runtime.ReadMemStats(&before)
			_ = editor.Replace(&e, data, p, v)
			_ = editor.Insert(&e, data, p, v)
			_ = editor.Delete(&e, data, p)
			runtime.ReadMemStats(&after)
			if least = min(least, after.TotalAlloc-before.TotalAlloc); least <= allocationSlack {
				break
			}
		}
		if least > 4*uint64(len(data))+allocationSlack { // a slice that grows as it is filled may allocate several times its final size
			t.Errorf("%d bytes are allocated to edit %q of an input of %d\n% x", least, p, len(data), data)
		}
	}
}

// checkEditAllocations requires that a plan and its result allocate nothing if Edit and memory are reused.
func checkEditAllocations(t *testing.T, f format.Format, data []byte) {
	t.Helper()
	editor, ok := f.(format.Editor)
	if !ok {
		return
	}
	items, _ := walk(f, data)
	var e format.Edit
	var dst []byte
	var parts [][]byte
	for _, it := range items[:min(len(items), 8)] {
		if !it.first || it.depth == 0 {
			continue
		}
		p := field.MustParse(it.path)
		v, err := f.Value(data, it.span, field.AnyType)
		if err != nil {
			continue
		}
		added := field.MustParse("0") // for a message that is a list
		for _, step := range (editTarget{t, f, editor, data, items}).freeKeys("") {
			if free := field.MustParse(step); editor.Insert(&e, data, free, v) == nil {
				added = free
			}
		}
		plans := map[string]func() error{
			"Replace": func() error { return editor.Replace(&e, data, p, v) },
			"Insert":  func() error { return editor.Insert(&e, data, added, v) },
			"Delete":  func() error { return editor.Delete(&e, data, p) },
		}
		for name, plan := range plans {
			if plan() != nil {
				continue // errors allocate
			}
			got := testing.AllocsPerRun(5, func() {
				_ = plan()
				dst, parts = e.AppendTo(dst[:0]), e.Buffers(parts[:0])
			})
			if got != 0 {
				t.Errorf("%s of %q or %q with an Edit that is used again allocates %v times, want 0", name, p, added, got)
			}
		}
	}
}
