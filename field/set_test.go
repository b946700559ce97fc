package field

import "testing"

func TestSetTree(t *testing.T) {
	s, err := NewSet(MustParse("a.b"), MustParse("c"), MustParse("a.d.e"), MustParse("a"))
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		name               string
		leaf, first, count int
	}
	want := []row{{"", -1, 1, 2}, {"a", 3, 3, 2}, {"c", 1, 5, 0}, {"b", 0, 5, 0}, {"d", -1, 5, 1}, {"e", 2, 6, 0}}
	for i, n := range s.Nodes() {
		got := row{n.Step.Name, n.Leaf, n.First, n.Count}
		if n.Count == 0 {
			got.first = want[i].first
		}
		if got != want[i] {
			t.Errorf("node %d: got %v, want %v", i, got, want[i])
		}
	}
	if len(s.Nodes()) != len(want) {
		t.Errorf("got %d nodes, want %d", len(s.Nodes()), len(want))
	}
	if _, err := NewSet(MustParse("a"), MustParse("a")); err == nil {
		t.Error("a path given twice was accepted")
	}
}
