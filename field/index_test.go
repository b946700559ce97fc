package field_test

import (
	"fmt"
	"slices"
	"testing"

	"example.com/ferry/field"
)

// texts are the fields of a message: a text for each path.
type texts map[string]string

// inIndex gives the texts to an Index.
type inIndex struct {
	texts texts
	sets  []*field.Set
}

func (f inIndex) text(place int) (string, bool) {
	s, ok := f.texts[f.sets[place/field.MaxSet].Paths()[place%field.MaxSet].String()]
	return s, ok
}

func (f inIndex) Found(place int) bool {
	_, ok := f.text(place)
	return ok
}

func (f inIndex) Read(place int, _ field.Type, v *field.Value) bool {
	s, ok := f.text(place)
	*v = field.Value{Kind: field.Text, Bytes: []byte(s)}
	return ok
}

func (f texts) match(x *field.Index) (where []string, mismatches int) {
	var e field.Evaluation
	ids, mismatches, _ := e.Match(x, inIndex{f, x.Sets(nil)}, nil, nil)
	for _, id := range ids {
		where = append(where, x.Predicate(id).String())
	}
	slices.Sort(where)
	return where, mismatches
}

func TestIndex(t *testing.T) {
	t.Parallel()
	x := field.NewIndex()
	for _, where := range []string{
		`type == "a" && device == "d1"`, `type == "a" && device == "d2"`, `type == "b" && device == "d1" && value > 3`,
		`value >= 3 && value < 5`, `value > 5 || device == "d2"`, `prefix(device, "d")`, `!(value > 3)`, `exists(extra)`,
	} {
		x.Add(field.MustParsePredicate(where))
	}
	for _, row := range []struct {
		fields     texts
		want       []string
		mismatches int
	}{
		{texts{"type": "a", "device": "d1", "value": "4"}, []string{`prefix(device, "d")`, `type == "a" && device == "d1"`, `value >= 3 && value < 5`}, 0},
		{texts{"type": "b", "device": "d1", "value": "9"}, []string{`prefix(device, "d")`, `type == "b" && device == "d1" && value > 3`, `value > 5 || device == "d2"`}, 0},
		{texts{"device": "d2", "extra": ""}, []string{`!(value > 3)`, `exists(extra)`, `prefix(device, "d")`, `value > 5 || device == "d2"`}, 6},
		{texts{"type": "a", "value": "0"}, []string{`!(value > 3)`}, 4},
		{texts{"type": "c", "value": "x"}, []string{`!(value > 3)`}, 4},
	} {
		if got, mismatches := row.fields.match(x); !slices.Equal(got, row.want) || mismatches != row.mismatches {
			t.Errorf("%v: got %q with %d mismatches, want %q with %d", row.fields, got, mismatches, row.want, row.mismatches)
		}
	}
}

// TestIndexShrinks: an index that was large costs no more than a small one.
func TestIndexShrinks(t *testing.T) {
	t.Parallel()
	x := field.NewIndex()
	kept := x.Add(field.MustParsePredicate(`a == "kept"`))
	before := x.Memory()
	for i := range 1000 {
		x.Add(field.MustParsePredicate(fmt.Sprintf(`p%d == %d && a < "%d"`, i, i, i)))
	}
	if x.Memory() <= before || len(x.Sets(nil)) != 16 {
		t.Errorf("1001 predicates use %d bytes and %d sets, one uses %d bytes", x.Memory(), len(x.Sets(nil)), before)
	}
	for id := range x.Cap() {
		if id != kept && x.Predicate(id) != nil {
			x.Remove(id)
		}
	}
	if x.Memory() != before || x.Len() != 1 || len(x.Sets(nil)) != 1 {
		t.Errorf("one predicate of 1001 uses %d bytes and %d sets, want %d and 1", x.Memory(), len(x.Sets(nil)), before)
	}
	if got, _ := (texts{"a": "kept"}).match(x); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}
