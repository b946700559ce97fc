package childset

import (
	"testing"

	"example.com/ferry/field"
)

func TestSelection(t *testing.T) {
	t.Parallel()
	nodes := []field.Node{
		{Step: field.Step{Name: "b", Index: -1, Key: -1}},
		{Step: field.Step{Index: 7, Key: -1}},
		{Step: field.Step{Index: 3, Key: -1}},
		{Step: field.Step{Name: "a", Index: -1, Key: -1}},
	}
	for _, test := range []struct {
		set           uint64
		name          string
		named, lowest int
	}{
		{0b1111, "a", 3, 2},
		{0b1011, "b", 0, 1},
		{0b0110, "a", -1, 2},
		{0b1001, "c", -1, -1},
		{0, "a", -1, -1},
	} {
		if got := Named(nodes, test.set, []byte(test.name)); got != test.named {
			t.Errorf("Named(%04b, %q): got %d, want %d", test.set, test.name, got, test.named)
		}
		if got := LowestIndex(nodes, test.set); got != test.lowest {
			t.Errorf("LowestIndex(%04b): got %d, want %d", test.set, got, test.lowest)
		}
	}
}
