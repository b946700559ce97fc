package pipeline

import (
	"errors"
	"fmt"
	"iter"
	"strings"
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
		open[0].Acc = collection{}
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

// TestDamagedDistinct joins a session that has lost its values with another one.
func TestDamagedDistinct(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{Steps: steps(
		Step{Window: &Window{Session: 5 * time.Second, EventTime: "t", Unit: Seconds, Lateness: time.Minute}},
		Step{Aggregation: Aggregation{DistinctCount: "t"}}, Step{Select: map[string]string{"n": "distinct_count"}}, Step{Publish: "out/+"},
	)})
	r.put("a", `{"t":1}`)
	r.put("a", `{"t":8}`)
	open, _, _ := r.groups.byKey["in/a"].slots[0].(*windowSlot).Open()
	open[0].Acc.each[0].seen = nil
	r.put("a", `{"t":4}`)
	r.put("a", `{"t":100}`)
	if len(r.sent) != 1 || string(r.sent[0].Payload) != `{"n":2}` {
		t.Errorf("got %v, want one result", r.sent)
	}
}

// TestTooLarge has results and states that the node does not take: the other messages go on.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	large := `{"v":1,"x":"` + strings.Repeat("x", 1000) + `"}`
	for _, row := range []struct {
		name    string
		step    Step
		results int
		open    int
	}{
		{"result", Step{Distinct: Paths{"v"}}, 1, 0},
		{"state", Step{Sample: time.Hour}, 0, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &storage{state: map[string][]byte{}, results: map[string]string{}, limit: 500}
			r := newRig(t, Config{Steps: steps(row.step, Step{Publish: "out/+"}), State: "state/f"})
			r.cfg.Output = s
			for i, m := range []ferry.Message{
				{Tag: "in/a", Sequence: 1, Payload: []byte(large)}, {Tag: "in/b", Sequence: 2, Payload: []byte(`{"v":1}`)}, {Tag: "in/a", Sequence: 1, Payload: []byte(large)},
			} {
				m.Type = ferry.JSON
				if err := r.Handle(t.Context(), &m, s); err != nil {
					t.Fatalf("message %d: %v", i, err)
				}
			}
			if stats := r.Stats(); len(s.results) != row.results || len(s.state) != 2 || stats.Failed != 1 || stats.Open != row.open {
				t.Errorf("%d results, %d states, %+v", len(s.results), len(s.state), stats)
			}
		})
	}
}

// TestTooLargeInBatch: without state, the message fails whose result is too large, and no other one.
func TestTooLargeInBatch(t *testing.T) {
	t.Parallel()
	s := &storage{state: map[string][]byte{}, results: map[string]string{}, limit: 500}
	r := newRig(t, Config{Steps: steps(Step{Where: "exists(v)"}, Step{Publish: "out/+"})})
	err := r.HandleBatch(t.Context(), []ferry.Message{
		{Tag: "in/a", Type: ferry.JSON, Sequence: 1, Payload: []byte(`{"v":"` + strings.Repeat("x", 1000) + `"}`)},
		{Tag: "in/a", Type: ferry.JSON, Sequence: 2, Payload: []byte(`{"v":1}`)},
	}, s)
	var each ferry.BatchError
	if !errors.As(err, &each) || len(each) != 1 || !errors.Is(each[0], ferry.ErrTooLarge) || len(s.results) != 1 {
		t.Errorf("error %v, results %v", err, s.results)
	}
}

// TestStreamOfBackup restores state that is newer than its stream.
func TestStreamOfBackup(t *testing.T) {
	t.Parallel()
	s := &storage{state: map[string][]byte{}, results: map[string]string{}}
	cfg := Config{Steps: steps(Step{Window: &Window{Count: 2}}, Step{Aggregation: Aggregation{Count: true}}, Step{Publish: "out/+"}), State: "state/f"}
	message := func(sequence uint64) *ferry.Message {
		return &ferry.Message{Tag: "in/a", Type: ferry.JSON, Sequence: sequence, Payload: []byte(`{}`)}
	}
	r := newRig(t, cfg)
	r.cfg.Output = s
	if err := r.Handle(t.Context(), message(10), s); err != nil {
		t.Fatal(err)
	}
	next := newRig(t, cfg)
	next.cfg.Output = s
	if _, _, err := next.Restore(s.saved()); err != nil {
		t.Fatal(err)
	}
	next.EndsAt(8)
	for _, row := range []struct {
		sequence uint64
		results  int
	}{{8, 0}, {9, 1}} {
		if err := next.Handle(t.Context(), message(row.sequence), s); err != nil {
			t.Fatal(err)
		}
		if len(s.results) != row.results {
			t.Errorf("after message %d: results %v, want %d", row.sequence, s.results, row.results)
		}
	}
}
