package formattest

import (
	"errors"
	"slices"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// FuzzEdits is the body of a fuzz target. It plans changes of any message, at any path, with any value. For a valid
// message it checks the result against the contract. For malformed data it checks the edits at other paths, as Check
// does.
func FuzzEdits(f *testing.F, form format.Format, seeds ...[]byte) {
	f.Helper()
	for _, data := range seeds {
		items, _ := walk(form, data)
		f.Add(data, "deviceName", uint8(field.Text), []byte("pump-1"), int64(1))
		for i, it := range items[:min(len(items), 6)] {
			if it.first {
				f.Add(data, it.path, uint8(it.span.Kind), []byte("x"), int64(300))
				f.Add(data, it.path+".0", uint8(i), data, int64(-1))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, path string, kind uint8, content []byte, n int64) {
		p, err := field.Parse(path)
		if err != nil {
			return
		}
		if form.Validate(data, format.Options{}) != nil {
			checkArbitraryEdits(t, form, data)
			return
		}
		v := field.Value{Kind: field.Kind(kind) % (field.Extension + 1), Bool: n&1 == 1, Int: n, Unsigned: n < 0 && kind > 100, Float: float64(n) / 3, Bytes: content}
		checkEditsAt(t, form, data, p, v)
	})
}

// checkEditsAt checks each kind of change of valid data at p.
func checkEditsAt(t testing.TB, f format.Format, data []byte, p field.Path, v field.Value) {
	t.Helper()
	editor, ok := f.(format.Editor)
	if !ok {
		t.Fatalf("%s is no format.Editor", f.Name())
	}
	items, err := walk(f, data)
	if err != nil {
		t.Fatalf("Walk of valid data: %v\n% x", err, data)
	}
	c := editTarget{t, f, editor, data, items}
	if _, err := c.Lookup(data, p); err == nil {
		c.checkReplaceWith(p, v)
	}
	at := slices.IndexFunc(items, func(it walkItem) bool { return it.first && it.path == p.String() })
	if at > 0 {
		c.checkDelete(at)
	}
	parent, _, ok := p.Parent()
	if !ok {
		return
	}
	s, err := c.Lookup(data, parent)
	isMap := s.Kind == field.Map
	switch {
	case err == nil && isMap && at >= 0:
		if _, err := c.insert(data, p, scalar); !errors.Is(err, format.ErrExists) {
			c.Errorf("Insert(%q): got %v, want format.ErrExists\n% x", p, err, data)
		}
	case err == nil && (isMap || s.Kind == field.List):
		c.checkInsertAndDelete(p, v, isMap)
	default:
		got, err := c.insert(data, p, scalar)
		if err == nil && s.Kind != field.Untyped { // a value without a type may be a container
			c.Errorf("Insert(%q), which stands in no container: got no error\n% x", p, data)
		}
		if invalid := c.Validate(got, format.Options{}); invalid != nil {
			c.Errorf("Insert(%q) gives an invalid message: %v\n% x\nfrom % x", p, invalid, got, data)
		}
	}
}

var scalar = field.Value{Kind: field.Bool}
