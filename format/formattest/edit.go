package formattest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// checkEdits plans inserts, deletes and replacements in valid data, at most limit of each kind, starting with the first
// values. It does nothing if f is no Editor.
func checkEdits(t testing.TB, f format.Format, data []byte, limit int) {
	t.Helper()
	editor, ok := f.(format.Editor)
	if !ok {
		return
	}
	items, err := walk(f, data)
	if err != nil {
		t.Fatalf("Walk of valid data: %v\n% x", err, data)
	}
	c := editTarget{t, f, editor, data, items}
	replaced, deleted, filled := 0, 0, 0
	for i, it := range items {
		if !it.first {
			continue
		}
		isContainer := it.span.Kind == field.List || it.span.Kind == field.Map
		if !isContainer && replaced < limit {
			replaced++
			c.checkReplace(it)
		}
		if it.depth > 0 && deleted < limit {
			deleted++
			c.checkDelete(i)
		}
		if isContainer && filled < limit && it.depth < field.MaxSteps {
			filled++
			c.checkInserts(i)
		}
	}
	c.checkRequiredErrors()
}

// editTarget is a valid message, with the format that edits it.
type editTarget struct {
	testing.TB
	format.Format
	editor format.Editor
	data   []byte
	items  []walkItem
}

// applyEdit plans a change of data in an Edit that was used before, and returns the result. It checks that AppendTo and
// Buffers agree, and that data stays unchanged. If plan fails, the Edit must be empty.
func (c editTarget) applyEdit(what string, data []byte, plan func(*format.Edit) error) ([]byte, error) {
	c.Helper()
	before := bytes.Clone(data)
	var e format.Edit
	e.Reset([]byte("what an earlier message left behind"))
	e.PutCopy(0, 4, []byte("x"))
	err := plan(&e)
	got := e.AppendTo([]byte("dst"))[len("dst"):]
	if joined := slices.Concat(e.Buffers(nil)...); !bytes.Equal(joined, got) || e.Len() != len(got) {
		c.Errorf("%s: Buffers give % x, Len %d, AppendTo % x", what, joined, e.Len(), got)
	}
	if !bytes.Equal(data, before) {
		c.Fatalf("%s changed the message to % x\n% x", what, data, before)
	}
	if err != nil && !bytes.Equal(got, data) {
		c.Errorf("%s: %v, and the Edit makes % x\n% x", what, err, got, data)
	}
	return got, err
}

func (c editTarget) insert(data []byte, p field.Path, v field.Value) ([]byte, error) {
	c.Helper()
	return c.applyEdit(fmt.Sprintf("Insert(%q, %+v)", p, v), data, func(e *format.Edit) error { return c.editor.Insert(e, data, p, v) })
}

func (c editTarget) delete(data []byte, p field.Path) ([]byte, error) {
	c.Helper()
	return c.applyEdit(fmt.Sprintf("Delete(%q)", p), data, func(e *format.Edit) error { return c.editor.Delete(e, data, p) })
}

// checkReplace compares Replace with Patch, and Edit.InPlace with PatchInPlace.
func (c editTarget) checkReplace(it walkItem) {
	c.Helper()
	p := field.MustParse(it.path)
	values := append(alternativeValues(it.span.Kind), field.Value{Kind: field.Bool}, field.Value{Kind: field.Text, Bytes: []byte("text")})
	for _, v := range values {
		c.checkReplaceWith(p, v)
	}
}

func (c editTarget) checkReplaceWith(p field.Path, v field.Value) {
	c.Helper()
	want, wantErr := c.editor.Patch(nil, c.data, p, v)
	got, err := c.applyEdit(fmt.Sprintf("Replace(%q, %+v)", p, v), c.data, func(e *format.Edit) error { return c.editor.Replace(e, c.data, p, v) })
	if fmt.Sprint(err) != fmt.Sprint(wantErr) || err == nil && !bytes.Equal(got, want) {
		c.Errorf("Replace(%q, %+v): got % x, %v, where Patch gives % x, %v\n% x", p, v, got, err, want, wantErr, c.data)
	}
	if err != nil {
		return
	}
	if err := c.Validate(got, format.Options{}); err != nil {
		c.Errorf("Replace(%q, %+v) gives an invalid message: %v\n% x\nfrom % x", p, v, err, got, c.data)
	}
	var e format.Edit
	planned, patched := bytes.Clone(c.data), bytes.Clone(c.data)
	_ = c.editor.Replace(&e, planned, p, v)
	ok, err := c.editor.PatchInPlace(patched, p, v)
	if e.InPlace() != ok || err != nil || !bytes.Equal(planned, patched) {
		c.Errorf("Replace(%q, %+v) in place leaves % x, PatchInPlace % x, %v, %v\n% x", p, v, planned, patched, ok, err, c.data)
	}
}

// checkDelete deletes value number i. A format may refuse this if the rest would not be a valid message.
func (c editTarget) checkDelete(i int) {
	c.Helper()
	it := c.items[i]
	p := field.MustParse(it.path)
	got, err := c.delete(c.data, p)
	if err != nil {
		var mismatch *format.TypeError
		if !errors.As(err, &mismatch) {
			c.Errorf("Delete(%q): %v\n% x", p, err, c.data)
		}
		return
	}
	if err := c.Validate(got, format.Options{}); err != nil {
		c.Errorf("Delete(%q) gives an invalid message: %v\n% x\nfrom % x", p, err, got, c.data)
		return
	}
	if list := c.items[i-1]; list.span.Kind == field.List && list.depth < it.depth {
		if _, err := c.Lookup(got, field.MustParse(list.path)); errors.Is(err, field.ErrNotFound) {
			i-- // an empty list has no bytes, so the deletion of its only item removes the list, too
		}
	}
	if !hasTwin(c.items, i) { // with later values at the same path, Delete removes more than value i
		c.checkWithoutValue(got, c.data, c.items, i, "Delete")
	}
	if s, err := c.Lookup(got, p); !errors.Is(err, field.ErrNotFound) && parentOf(c.items, i).span.Kind == field.Map {
		c.Errorf("Lookup(%q) after Delete: got %+v, %v, want field.ErrNotFound\n% x", p, s, err, got)
	}
}

// checkWithoutValue checks that small has the values of large, except value number i and its content. items are the values
// of large.
func (c editTarget) checkWithoutValue(small, large []byte, items []walkItem, i int, what string) {
	c.Helper()
	left, err := walk(c.Format, small)
	behind := i + 1
	for behind < len(items) && items[behind].depth > items[i].depth {
		behind++
	}
	if err != nil || len(left) != len(items)-(behind-i) {
		c.Errorf("%s of %q: Walk sees %d values without it, %v, want %d\n% x\n% x", what, items[i].path, len(left), err, len(items)-(behind-i), small, large)
		return
	}
	parent := parentOf(items, i)
	moved := false // true while the current values are after item i in the list of item i
	for n, got := range left {
		want := items[n]
		if n >= i {
			want = items[n+behind-i]
			moved = moved || n == i
		}
		if moved = moved && want.depth >= items[i].depth; moved && want.depth == items[i].depth && parent.span.Kind == field.List && want.step.Index >= 0 {
			want.step.Index--
		}
		if got.step != want.step || got.depth != want.depth || got.span.Kind != want.span.Kind || c.content(small, got.span) != c.content(large, want.span) {
			c.Errorf("%s of %q changed %q to %q: %+v to %+v\n% x\n% x", what, items[i].path, want.path, got.path, want, got, large, small)
			return
		}
	}
}

// content returns a value as text for a comparison. For an extension it leaves out the head, because the head may
// contain an index that an edit changes.
func (c editTarget) content(data []byte, s field.Span) string {
	if s.Kind == field.Extension {
		return string(data[s.Off:s.End])
	}
	return valueText(c.Format, data, s)
}

func parentOf(items []walkItem, i int) walkItem {
	for n := i - 1; n >= 0; n-- {
		if items[n].depth < items[i].depth {
			return items[n]
		}
	}
	return walkItem{}
}

// newKeys are steps that no document has. A format may refuse some of them. None of them is a Y3 key: freeKeys searches
// for a free Y3 key.
var newKeys = []string{"formattest new", "536870911", "536870910"}

// freeKeys returns steps from the container at prefix that lead to no value.
func (c editTarget) freeKeys(prefix string) []string {
	for key := 0x3f; key > 0; key-- {
		step := fmt.Sprintf("0x%02x", key)
		if _, err := c.Lookup(c.data, field.MustParse(prefix+step)); err != nil {
			return append([]string{step}, newKeys...)
		}
	}
	return newKeys
}

// checkInserts inserts values into container number i.
func (c editTarget) checkInserts(i int) {
	c.Helper()
	it := c.items[i]
	prefix := ""
	if it.depth > 0 {
		prefix = it.path + "."
	}
	accepted, count := 0, 0
	steps := c.freeKeys(prefix)
	if it.span.Kind == field.List {
		for _, other := range c.items[i+1:] {
			if other.depth <= it.depth {
				break
			}
			if other.depth == it.depth+1 && other.step.Index >= 0 {
				count++
			}
		}
		steps = []string{"0", fmt.Sprint(count / 2), fmt.Sprint(count)}
		beyond := field.MustParse(prefix + fmt.Sprint(count+1))
		if _, err := c.insert(c.data, beyond, field.Value{Kind: field.Text}); !errors.Is(err, field.ErrNotFound) {
			c.Errorf("Insert(%q) into a list of %d items: got %v, want field.ErrNotFound\n% x", beyond, count, err, c.data)
		}
	}
	for _, step := range steps {
		p := field.MustParse(prefix + step)
		if _, err := c.Lookup(c.data, p); it.span.Kind == field.Map && err == nil {
			continue
		}
		for _, v := range c.newValues() {
			if c.checkInsertAndDelete(p, v, it.span.Kind == field.Map) {
				accepted++
			}
		}
	}
	if accepted == 0 {
		c.Errorf("Insert takes no value into the %v at %q\n% x", it.span.Kind, it.path, c.data)
	}
}

// newValues returns scalars of each kind, and containers of the message in their encoding.
func (c editTarget) newValues() []field.Value {
	all := []field.Value{{Kind: field.Null}, {Kind: field.Bool, Bool: true}, {Kind: field.Int, Int: -300}, {Kind: field.Int, Int: 7}, {Kind: field.Float, Float: 0.5}}
	for _, kind := range []field.Kind{field.Text, field.Bytes, field.Untyped} {
		all = append(all, field.Value{Kind: kind}, field.Value{Kind: kind, Bytes: bytes.Repeat([]byte("y"), 70)})
	}
	if c.Validate(c.data, format.Options{MaxDepth: 14}) != nil {
		return all // a container inside itself might nest too deep
	}
	for _, it := range c.items[:min(len(c.items), 8)] {
		if it.span.Kind == field.List || it.span.Kind == field.Map {
			all = append(all, field.Value{Kind: it.span.Kind, Bytes: c.data[it.span.Head:it.span.End]}, field.Value{Kind: it.span.Kind, Bytes: c.data[it.span.Off:it.span.End]})
		}
	}
	return all
}

// checkInsertAndDelete inserts v at p, checks the result, and deletes v again. It reports whether the format accepts v.
func (c editTarget) checkInsertAndDelete(p field.Path, v field.Value, isMap bool) bool {
	c.Helper()
	got, err := c.insert(c.data, p, v)
	if err != nil {
		var mismatch *format.TypeError
		known := errors.As(err, &mismatch) || errors.Is(err, format.ErrExists) || errors.Is(err, field.ErrNotFound)
		if !known && v.Kind != field.List && v.Kind != field.Map {
			c.Errorf("Insert(%q, %+v): %v\n% x", p, v, err, c.data)
		}
		return false
	}
	if err := c.Validate(got, format.Options{}); err != nil {
		c.Errorf("Insert(%q, %+v) gives an invalid message: %v\n% x\nfrom % x", p, v, err, got, c.data)
		return true
	}
	if len(got) > len(c.data)+escapedText*(len(v.Bytes)+len(p.String()))+maxGrowth(c.data) {
		c.Errorf("Insert(%q, %+v) makes %d bytes of %d\n% x", p, v, len(got), len(c.data), got)
	}
	s, err := c.Lookup(got, p)
	if err != nil {
		c.Errorf("Lookup(%q) after Insert of %+v: %v\n% x", p, v, err, got)
		return true
	}
	if now, err := c.Value(got, s, field.AnyType); err == nil && !readsAs(now, v) {
		c.Errorf("Insert(%q, %+v): reads %+v afterwards\n% x", p, v, now, got)
	}
	if after, err := walk(c.Format, got); err == nil {
		if i := slices.IndexFunc(after, func(it walkItem) bool { return it.first && it.span == s }); i >= 0 {
			c.checkWithoutValue(c.data, got, after, i, "Insert")
		} else {
			c.Errorf("Insert(%q, %+v): Walk does not see it at %+v\n% x", p, v, s, got)
		}
	}
	if _, err := c.insert(got, p, v); isMap && !errors.Is(err, format.ErrExists) {
		c.Errorf("Insert(%q) a second time: got %v, want format.ErrExists\n% x", p, err, got)
	}
	back, err := c.delete(got, p)
	switch {
	case err != nil:
		c.Errorf("Delete(%q) after Insert: %v\n% x", p, err, got)
	case bytes.Equal(back, c.data):
	case len(back) >= len(c.data):
		c.Errorf("Insert(%q, %+v), then Delete: got % x, want % x", p, v, back, c.data)
	default: // the edit has shortened a head or length that was longer than necessary
		checkSameExcept(c.TB, c.Format, c.data, back, -1)
		again, err := c.insert(back, p, v)
		if err == nil {
			again, err = c.delete(again, p)
		}
		if err != nil || !bytes.Equal(again, back) {
			c.Errorf("Insert(%q, %+v) and Delete of what they made before: got % x, %v, want % x", p, v, again, err, back)
		}
	}
	return true
}

// readsAs reports whether got is v as the format reads it. It compares only the Go field for the kind of v. A
// different kind counts as equal, because a format may have no types.
func readsAs(got, v field.Value) bool {
	switch {
	case got.Kind != v.Kind:
		return true
	case v.Kind == field.Bool:
		return got.Bool == v.Bool
	case v.Kind == field.Int:
		return got.Int == v.Int && got.Unsigned == v.Unsigned
	case v.Kind == field.Float:
		return got.Float == v.Float || got.Float != got.Float && v.Float != v.Float
	case v.Kind == field.Null:
		return true
	}
	return bytes.Equal(got.Bytes, v.Bytes)
}

// escapedText is the largest number of bytes that one byte of a key or text becomes when it is escaped.
const escapedText = 6

// maxGrowth is the largest number of bytes that an insertion adds in addition to the key and the value. These bytes are
// the heads of both, longer lengths around them, and renumbered keys after them.
func maxGrowth(data []byte) int { return 64 + field.MaxSteps*8 + len(data)/4 }

// checkRequiredErrors checks the errors that every format must return.
func (c editTarget) checkRequiredErrors() {
	c.Helper()
	v := field.Value{Kind: field.Text, Bytes: []byte("x")}
	if _, err := c.insert(c.data, field.Path{}, v); !errors.Is(err, format.ErrExists) {
		c.Errorf("Insert of the whole message: got %v, want format.ErrExists\n% x", err, c.data)
	}
	if _, err := c.delete(c.data, field.Path{}); !errors.Is(err, format.ErrWhole) {
		c.Errorf("Delete of the whole message: got %v, want format.ErrWhole\n% x", err, c.data)
	}
	for _, text := range absentPaths {
		p := field.MustParse(text)
		if _, err := c.delete(c.data, p); !errors.Is(err, field.ErrNotFound) {
			c.Errorf("Delete(%q): got %v, want field.ErrNotFound\n% x", p, err, c.data)
		}
		if p.Len() < 2 {
			continue
		}
		if _, err := c.insert(c.data, p, v); !errors.Is(err, field.ErrNotFound) {
			c.Errorf("Insert(%q), whose parent is not there: got %v, want field.ErrNotFound\n% x", p, err, c.data)
		}
	}
	for _, kind := range []field.Kind{field.Missing, field.Extension, field.Map, field.List} {
		p := field.MustParse(newKeys[0])
		if got, err := c.insert(c.data, p, field.Value{Kind: kind, Bytes: []byte{0xc1, 0xff}}); err == nil {
			c.Errorf("Insert(%q) of bytes that are no value, as %v: got % x, want an error", p, kind, got)
		}
	}
}
