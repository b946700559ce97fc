package pipeline

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry"
)

// storage is a stream that stores state and results. It keeps the first of the results with one ID.
type storage struct {
	state   map[string][]byte
	results map[string]string // by ID
	order   []string          // IDs
	fail    func(tag string) error
	limit   int // bytes of the largest payload; 0 means none
}

var errCrash = errors.New("the process ends here")

func (s *storage) Send(_ context.Context, m ferry.Message) error {
	if s.fail != nil {
		if err := s.fail(m.Tag); err != nil {
			return err
		}
	}
	if s.limit > 0 && len(m.Payload) > s.limit {
		return fmt.Errorf("%d bytes: %w", len(m.Payload), ferry.ErrTooLarge)
	}
	if strings.HasPrefix(m.Tag, "state/") {
		s.state[m.Tag] = slices.Clone(m.Payload)
		return nil
	}
	line := fmt.Sprintf("%s %s", m.Tag, m.Payload)
	if old, ok := s.results[m.ID]; ok {
		if old != line {
			return fmt.Errorf("ID %s has %s and %s", m.ID, old, line)
		}
		return nil
	}
	s.results[m.ID] = line
	s.order = append(s.order, m.ID)
	return nil
}

func (s *storage) Flush(context.Context) error { return nil }

func (s *storage) saved() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, data := range s.state {
			if !yield(data, nil) {
				return
			}
		}
	}
}

// statefulSteps have groups by a field, and steps with state behind steps with state.
var statefulSteps = steps(
	Step{GroupBy: &Paths{"@tag", "id"}},
	Step{Window: &Window{Count: 3}},
	Step{Aggregates: []Aggregation{{Sum: "v"}, {First: "n"}, {Last: "n"}, {DistinctCount: "v"}}},
	Step{Window: &Window{Time: 20 * time.Second, Every: 10 * time.Second, EventTime: "last", Unit: Seconds, Lateness: 5 * time.Second, Idle: time.Hour}},
	Step{Aggregates: []Aggregation{{Count: true}, {Max: "sum"}, {Sum: "distinct_count", As: "d"}}},
	Step{Scan: []Aggregation{{Count: true, As: "windows"}, {Sum: "max"}, {Last: "start"}}},
	Step{Publish: "out/{windows}"},
)

// TestCrashes handles the messages of a stream, with an end of the process at random sends, a new process with the saved state, and
// all messages again that were not acknowledged. The results are those of one process that handles each message once.
func TestCrashes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 7))
		var all []ferry.Message
		for n := range 120 {
			tag := fmt.Sprintf("in/%d", random.IntN(2))
			all = append(all, ferry.Message{
				Tag: tag, Type: ferry.JSON, Sequence: uint64(n + 1), Key: []byte(fmt.Sprint(random.IntN(3))),
				Payload: fmt.Appendf(nil, `{"id":%d,"n":%d,"v":%d}`, random.IntN(2), n, random.IntN(50)),
			})
		}
		want := replayed(t, all, func() int { return len(all) }, nil)
		crashes := 0
		got := replayed(t, all, func() int { return 1 + random.IntN(4) }, func(string) error {
			if random.IntN(12) > 0 {
				return nil
			}
			crashes++
			return errCrash
		})
		if crashes == 0 || len(want) == 0 {
			t.Fatalf("seed %d: %d crashes, %d results", seed, crashes, len(want))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d, %d crashes: got\n%s\nwant\n%s", seed, crashes, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// replayed returns the results of all messages, sorted.
func replayed(t *testing.T, all []ferry.Message, batch func() int, fail func(tag string) error) []string {
	t.Helper()
	s := &storage{state: map[string][]byte{}, results: map[string]string{}}
	acknowledged := map[uint64]bool{}
	for round := 0; len(acknowledged) < len(all); round++ {
		if round > 1000 {
			t.Fatal("there is no end of crashes")
		}
		s.fail = nil
		r := newRig(t, Config{Steps: statefulSteps, State: "state/f"})
		r.cfg.Output = s
		if _, emptied, err := r.Restore(s.saved()); err != nil || emptied > 0 {
			t.Fatalf("restore: %d groups were emptied, %v", emptied, err)
		}
		s.fail = fail
		var left []ferry.Message
		for _, m := range all {
			if !acknowledged[m.Sequence] {
				left = append(left, m)
			}
		}
		for len(left) > 0 {
			n := min(batch(), len(left))
			if err := r.HandleBatch(t.Context(), left[:n], s); err != nil {
				if !errors.Is(err, errCrash) {
					t.Fatal(err)
				}
				break
			}
			for _, m := range left[:n] {
				acknowledged[m.Sequence] = true
			}
			left = left[n:]
		}
		r.Close()
	}
	var lines []string
	for _, line := range s.results {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// TestFailedSaveInOneProcess has sends fail without an end of the process: messages are delivered again, and results are published once.
func TestFailedSaveInOneProcess(t *testing.T) {
	t.Parallel()
	s := &storage{state: map[string][]byte{}, results: map[string]string{}}
	r := newRig(t, Config{Steps: steps(Step{Window: &Window{Count: 2}}, Step{Aggregation: Aggregation{Sum: "v"}}, Step{Select: map[string]string{"s": "sum"}}, Step{Publish: "out/+"}), State: "state/f"})
	r.cfg.Output = s
	messages := []ferry.Message{
		{Tag: "in/a", Type: ferry.JSON, Sequence: 1, Payload: []byte(`{"v":1}`)},
		{Tag: "in/a", Type: ferry.JSON, Sequence: 2, Payload: []byte(`{"v":2}`)},
	}
	for _, failing := range []string{"out/a", "state/f/"} {
		s.fail = func(tag string) error {
			if strings.HasPrefix(tag, failing) {
				return errCrash
			}
			return nil
		}
		if err := r.HandleBatch(t.Context(), messages, s); !errors.Is(err, errCrash) {
			t.Fatalf("%s fails, but the batch has %v", failing, err)
		}
	}
	s.fail = nil
	if err := r.HandleBatch(t.Context(), messages, s); err != nil {
		t.Fatal(err)
	}
	if len(s.results) != 1 || s.results[s.order[0]] != `out/a {"s":3}` || len(s.state) != 1 {
		t.Errorf("results %v, %d states", s.results, len(s.state))
	}
}

// TestKeysOutOfOrder: a message that the failure of another one with its key has delayed is new, although later messages of other keys
// were handled.
func TestKeysOutOfOrder(t *testing.T) {
	t.Parallel()
	s := &storage{state: map[string][]byte{}, results: map[string]string{}}
	r := newRig(t, Config{Steps: steps(Step{GroupBy: &Paths{}}, Step{Scan: []Aggregation{{Count: true}}}, Step{Publish: "out"}), State: "state/f"})
	r.cfg.Output = s
	for _, m := range []struct {
		key, tag string
		sequence uint64
	}{{"a", "in/x", 1}, {"b", "in/x", 4}, {"a", "in/x", 2}, {"a", "in/x", 3}, {"b", "in/x", 4}, {"a", "in/x", 2}, {"", "in/y", 6}, {"", "in/x", 5}, {"", "in/x", 5}} {
		if err := r.Handle(t.Context(), &ferry.Message{Tag: m.tag, Key: []byte(m.key), Type: ferry.JSON, Sequence: m.sequence, Payload: []byte(`{}`)}, s); err != nil {
			t.Fatal(err)
		}
	}
	if last := s.results[s.order[len(s.order)-1]]; last != `out {"count":6}` {
		t.Errorf("the last of %d results is %s, want 6 messages", len(s.order), last)
	}
}

// TestManyKeys: a group has messages of many keys, and ends before any is acknowledged. Delivered again, they count once. What the durable
// never delivers again is forgotten, and so is what exceeds the bound.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	s := &storage{state: map[string][]byte{}, results: map[string]string{}}
	done := uint64(0)
	cfg := Config{
		State: "state/x", Steps: steps(Step{GroupBy: &Paths{}}, Step{Scan: []Aggregation{{Count: true}}}, Step{Publish: "out/x"}),
		Done: func(context.Context) func(uint64) bool { return func(sequence uint64) bool { return sequence <= done } },
	}
	var all []ferry.Message
	for i := range 3 * maxApplied {
		all = append(all, ferry.Message{Tag: fmt.Sprintf("in/with/a/long/tag/%d", i), Type: ferry.JSON, Sequence: uint64(i + 1), Payload: []byte(`{}`)})
	}
	const unacked = maxApplied - 2000
	for from := 0; from+unacked <= len(all); from += unacked / 2 {
		r := newRig(t, cfg) // a new process
		r.cfg.Output = s
		if _, _, err := r.Restore(s.saved()); err != nil {
			t.Fatal(err)
		}
		r.EndsAt(uint64(len(all)))
		done = uint64(from)
		if err := r.HandleBatch(t.Context(), all[from:from+unacked], s); err != nil {
			t.Fatal(err)
		}
		if n := from + unacked; len(s.order) != n {
			t.Fatalf("%d results of %d messages", len(s.order), n)
		}
		for _, g := range r.groups.byKey {
			if len(g.applied) > maxApplied {
				t.Fatalf("%d keys are remembered", len(g.applied))
			}
		}
	}
	for _, state := range s.state {
		if len(state) > 1<<20 {
			t.Errorf("the state takes %d bytes, more than a message may have", len(state))
		}
	}
}

// TestSavedAgain: the node may drop state that a call has sent, and then delivers the message again. The state is sent again, and the
// message counts once.
func TestSavedAgain(t *testing.T) {
	t.Parallel()
	s := &storage{state: map[string][]byte{}, results: map[string]string{}}
	r := newRig(t, Config{Steps: steps(Step{Window: &Window{Count: 2}}, Step{Aggregation: Aggregation{Count: true}}, Step{Publish: "out/+"}), State: "state/f"})
	r.cfg.Output = s
	for range 2 {
		clear(s.state)
		if err := r.Handle(t.Context(), &ferry.Message{Tag: "in/a", Type: ferry.JSON, Sequence: 1, Payload: []byte(`{}`)}, s); err != nil {
			t.Fatal(err)
		}
		if len(s.state) != 1 || len(s.results) != 0 {
			t.Errorf("%d states were sent, and %d results", len(s.state), len(s.results))
		}
	}
}

// TestRestoredTimes: windows and held messages go on after a restart, and what was due meanwhile is published at once.
func TestRestoredTimes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		step []Step
		want string
	}{
		{"window", steps(Step{Window: &Window{Time: 10 * time.Second}}, Step{Aggregation: Aggregation{Count: true}}), `out/a {"n":2}`},
		{"debounce", steps(Step{Debounce: 10 * time.Second}, Step{Scan: []Aggregation{{Count: true}}}), `out/a {"n":1}`},
		{"sample", steps(Step{Sample: 10 * time.Second}, Step{Throttle: time.Hour}, Step{Scan: []Aggregation{{Count: true}}}), `out/a {"n":1}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &storage{state: map[string][]byte{}, results: map[string]string{}}
				cfg := Config{Steps: append(row.step, Step{Select: map[string]string{"n": "count"}}, Step{Publish: "out/+"}), State: "state/f"}
				for n := range 3 {
					r := newRig(t, cfg)
					r.cfg.Output = s
					if _, _, err := r.Restore(s.saved()); err != nil {
						t.Fatal(err)
					}
					if n < 2 {
						m := ferry.Message{Tag: "in/a", Type: ferry.JSON, Sequence: uint64(n + 1), Payload: []byte(`{}`)}
						if err := r.Handle(t.Context(), &m, s); err != nil {
							t.Fatal(err)
						}
						r.Close()
						if len(s.results) > 0 {
							t.Fatalf("published before its time: %v", s.results)
						}
					}
					time.Sleep(time.Duration(n) * 30 * time.Second) // the third one finds what was due
				}
				synctest.Wait()
				if len(s.order) != 1 || s.results[s.order[0]] != row.want {
					t.Errorf("results %v, want %s", s.results, row.want)
				}
			})
		})
	}
}

// TestStateOfOtherSteps: state of other steps is dropped, but which messages were handled is not. Damaged state is no state.
func TestStateOfOtherSteps(t *testing.T) {
	t.Parallel()
	s := &storage{state: map[string][]byte{}, results: map[string]string{}}
	count := func(n int) Config {
		return Config{Steps: steps(Step{Window: &Window{Count: n}}, Step{Aggregation: Aggregation{Count: true}}, Step{Publish: "out/+"}), State: "state/f"}
	}
	r := newRig(t, count(3))
	first := ferry.Message{Tag: "in/a", Type: ferry.JSON, Sequence: 1, Payload: []byte(`{}`)}
	if err := r.Handle(t.Context(), &first, s); err != nil {
		t.Fatal(err)
	}
	next := newRig(t, count(2))
	if groups, emptied, err := next.Restore(s.saved()); groups != 1 || emptied != 1 || err != nil {
		t.Errorf("restored %d groups, %d empty, %v", groups, emptied, err)
	}
	if err := next.Handle(t.Context(), &first, s); err != nil || next.Stats().Open != 0 {
		t.Errorf("a message that was handled before opens %d windows, %v", next.Stats().Open, err)
	}
	for tag, data := range s.state {
		for n := range data {
			again := newRig(t, count(2))
			if _, _, err := again.Restore(func(yield func([]byte, error) bool) { yield(data[:n], nil) }); err != nil {
				t.Errorf("state of %s, cut at %d: %v", tag, n, err)
			}
			if err := again.Handle(t.Context(), &ferry.Message{Tag: "in/a", Type: ferry.JSON, Sequence: 9, Payload: []byte(`{}`)}, s); err != nil {
				t.Errorf("state of %s, cut at %d: %v", tag, n, err)
			}
		}
	}
}

// TestDropped: results that the node refuses are counted, and not tried again.
func TestDropped(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{Steps: steps(Step{Window: &Window{Count: 1}}, Step{Aggregation: Aggregation{Count: true}}, Step{Publish: "out/+"}), State: "state/f"})
	r.flush = errors.New("forbidden")
	for n := range uint64(2) {
		if err := r.Handle(t.Context(), &ferry.Message{Tag: "in/a", Type: ferry.JSON, Sequence: n + 1, Payload: []byte(`{}`)}, r); err != nil {
			t.Fatal(err)
		}
	}
	if s := r.Stats(); s.Failed != 1 {
		t.Errorf("%d results have failed, want 1", s.Failed)
	}
}
