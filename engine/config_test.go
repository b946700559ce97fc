package engine_test

import (
	"reflect"
	"testing"

	"example.com/ferry/engine"
)

// TestIsDone compares IsDone with the ranges.
func TestIsDone(t *testing.T) {
	t.Parallel()
	p := engine.Position{Floor: 2, Done: []engine.Range{{First: 4, Count: 1}, {First: 6, Count: 3}}}
	got := ""
	for sequence := range uint64(11) {
		if p.IsDone(sequence) {
			got += "x"
		} else {
			got += "."
		}
	}
	if want := "xxx.x.xxx.."; got != want {
		t.Errorf("IsDone of 0 to 10: %s, want %s", got, want)
	}
}

// TestClamp takes out of a position what lies behind the end of the stream.
func TestClamp(t *testing.T) {
	t.Parallel()
	full := engine.Position{
		Floor:      10,
		Done:       []engine.Range{{First: 12, Count: 3}, {First: 17, Count: 4}, {First: 30, Count: 1}},
		Deliveries: []engine.Deliveries{{Sequence: 11, Count: 1}, {Sequence: 16, Count: 2}, {Sequence: 29, Count: 3}},
	}
	for _, c := range []struct {
		name    string
		last    uint64
		want    engine.Position
		changed bool
	}{
		{"the end of the last range", 30, full, false},
		{"between ranges", 29, engine.Position{Floor: 10, Done: full.Done[:2], Deliveries: full.Deliveries}, true},
		{"within a range", 18, engine.Position{Floor: 10, Done: []engine.Range{{First: 12, Count: 3}, {First: 17, Count: 2}}, Deliveries: full.Deliveries[:2]}, true},
		{"a range of one", 12, engine.Position{Floor: 10, Done: []engine.Range{{First: 12, Count: 1}}, Deliveries: full.Deliveries[:1]}, true},
		{"the floor", 10, engine.Position{Floor: 10}, true},
		{"below the floor", 4, engine.Position{Floor: 4}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := full.Clone()
			changed := p.Clamp(c.last)
			if len(p.Done) == 0 {
				p.Done = nil
			}
			if len(p.Deliveries) == 0 {
				p.Deliveries = nil
			}
			if changed != c.changed || !reflect.DeepEqual(p, c.want) {
				t.Errorf("Clamp(%d) = %v, %+v, want %v, %+v", c.last, changed, p, c.changed, c.want)
			}
		})
	}
}
