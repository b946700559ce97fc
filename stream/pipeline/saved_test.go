package pipeline

import (
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry"
)

// TestDroppedGroupBeginsAgain has a group make room for another one and begin again: its new results are no repetitions of the old.
func TestDroppedGroupBeginsAgain(t *testing.T) {
	t.Parallel()
	s := &storage{state: map[string][]byte{}, results: map[string]string{}}
	r := newRig(t, Config{Steps: steps(Step{Window: &Window{Count: 1}}, Step{Aggregation: Aggregation{Sum: "v"}}, Step{Select: map[string]string{"s": "sum"}}, Step{Publish: "out/+"}), State: "state/f", MaxGroups: 1})
	r.cfg.Output = s
	for i, tag := range []string{"in/a", "in/b", "in/a", "in/b"} {
		m := ferry.Message{Tag: tag, Type: ferry.JSON, Sequence: uint64(i + 1), Payload: fmt.Appendf(nil, `{"v":%d}`, i)}
		if err := r.Handle(t.Context(), &m, s); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.order) != 4 {
		t.Errorf("%d results are stored, want 4: %v", len(s.order), s.results)
	}
}

// TestDamagedWindow restores a window of no message.
func TestDamagedWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{Steps: steps(Step{Window: &Window{Time: time.Second}}, Step{Aggregation: Aggregation{Sum: "v"}}, Step{Publish: "out/+"}), State: "state/f"}
		r := newRig(t, cfg)
		r.put("a", `{"v":1}`)
		g := r.groups.byKey["in/a"]
		open, _, _ := g.slots[0].(*windowSlot).Open()
		open[0].State = collection{}
		data := r.run.appendState(nil, g)
		r.Close()
		again := newRig(t, cfg)
		var states iter.Seq2[[]byte, error] = func(yield func([]byte, error) bool) { yield(data, nil) }
		if restored, emptied, err := again.Restore(states); restored != 1 || emptied != 1 || err != nil {
			t.Errorf("%d groups, %d of them emptied, %v", restored, emptied, err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
	})
}
