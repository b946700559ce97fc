package pipeline

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry"
)

// TestMaxGroups: groups beyond the bound are refused while the others hold something, and get the room of those that do not.
func TestMaxGroups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{MaxGroups: 2, Steps: steps(Step{Window: &Window{Time: time.Second}}, Step{Aggregation: Aggregation{Count: true}}, Step{Publish: "out/+"})})
		for _, tag := range []string{"a", "b", "c", "a"} {
			r.put(tag, `{}`)
		}
		if s := r.Stats(); s.Groups != 2 || s.Refused != 1 || s.Open != 2 {
			t.Errorf("got %+v, want 2 groups, 2 windows and 1 refused", s)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if s := r.Stats(); s.Groups != 0 || s.Open != 0 {
			t.Errorf("got %+v after the windows have ended", s)
		}
		r.put("c", `{}`)
		if s := r.Stats(); s.Groups != 1 || s.Refused != 1 {
			t.Errorf("got %+v, want room for another group", s)
		}
	})
}

// TestRoomBehindBusyGroups: a group that holds nothing makes room, also if many that hold something were used before it.
func TestRoomBehindBusyGroups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const busy = 3 * maxLooks
		r := newRig(t, Config{MaxGroups: busy + 1, Steps: steps(Step{Where: `!(v == 1)`}, Step{GroupBy: &Paths{"id"}},
			Step{Throttle: time.Second}, Step{Where: "v == 2"}, Step{Window: &Window{Count: 2}}, Step{Aggregation: Aggregation{Count: true}}, Step{Publish: "out"})})
		for i := range busy {
			r.put("a", fmt.Sprintf(`{"id":%d,"v":2}`, i))
		}
		r.put("a", `{"id":"idle","v":3}`)
		time.Sleep(time.Minute)
		for range 5 {
			r.put("a", `{"id":"new","v":2}`)
		}
		if s := r.Stats(); s.Groups != busy+1 || s.Open != busy+1 || s.Refused == 5 {
			t.Errorf("got %+v, want the new group in place of the idle one", s)
		}
	})
}

// TestGroupIdle: a group without messages is dropped, unless it holds a window.
func TestGroupIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		scan := Step{Scan: []Aggregation{{Count: true}}}
		r := newRig(t, Config{MaxGroups: 2, GroupIdle: time.Hour, Steps: steps(scan, Step{Publish: "out/+"})})
		for _, step := range []struct {
			after  time.Duration
			tag    string
			groups int
			want   string
		}{
			{0, "a", 1, `out/a {"count":1}`},
			{50 * time.Minute, "a", 1, `out/a {"count":2}`},
			{50 * time.Minute, "b", 2, `out/b {"count":1}`},
			{30 * time.Minute, "c", 2, `out/c {"count":1}`},
			{2 * time.Hour, "c", 1, `out/c {"count":1}`},
		} {
			time.Sleep(step.after)
			synctest.Wait()
			r.put(step.tag, `{}`)
			if got := r.results(); got != step.want || r.Stats().Groups != step.groups {
				t.Errorf("%+v: got %q and %d groups", step, got, r.Stats().Groups)
			}
		}
		w := newRig(t, Config{GroupIdle: time.Hour, Steps: steps(Step{Window: &Window{Count: 2}}, Step{Aggregation: Aggregation{Count: true}}, Step{Select: map[string]string{"n": "count"}}, Step{Publish: "out/+"})})
		w.put("a", `{}`)
		time.Sleep(5 * time.Hour)
		w.put("a", `{}`)
		if got := w.results(); got != `out/a {"n":2}` {
			t.Errorf("got %q: the open window is lost", got)
		}
	})
}

// TestAhead: a message whose event time is in the far future does not make the other ones of its group late.
func TestAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, ahead := range []time.Duration{0, 48 * time.Hour} {
			r := newRig(t, Config{Steps: steps(Step{Window: &Window{Time: 10 * time.Second, EventTime: "t", Ahead: ahead}}, Step{Aggregation: Aggregation{Count: true}},
				Step{Select: map[string]string{"n": "count"}}, Step{Publish: "out/+"})})
			now := time.Now().Truncate(10 * time.Second)
			for _, after := range []time.Duration{0, 36 * time.Hour, time.Second, 2 * time.Second, 10 * time.Second} {
				r.put("a", fmt.Sprintf(`{"t":%d}`, now.Add(after).UnixNano()))
			}
			want, skipped, late := `out/a {"n":3}`, uint64(1), uint64(0)
			if ahead > 36*time.Hour {
				want, skipped, late = `out/a {"n":1}`, 0, 3
			}
			if got, s := r.results(), r.Stats().Steps[0]; got != want || s.Skipped != skipped || s.Late != late {
				t.Errorf("ahead %v: got %q, %+v", ahead, got, s)
			}
		}
	})
}

// TestCrowdedOut: with saved state, an idle group makes room for a new one, and its state is removed.
func TestCrowdedOut(t *testing.T) {
	t.Parallel()
	s := &storage{state: map[string][]byte{}, results: map[string]string{}}
	cfg := Config{MaxGroups: 1, State: "state/f", Steps: steps(Step{Window: &Window{Count: 1}}, Step{Aggregation: Aggregation{Count: true}}, Step{Publish: "out/+"})}
	r := newRig(t, cfg)
	r.cfg.Output = s
	for i, tag := range []string{"in/a", "in/b"} {
		if err := r.Handle(t.Context(), &ferry.Message{Tag: tag, Type: ferry.JSON, Sequence: uint64(i + 1), Payload: []byte(`{}`)}, s); err != nil {
			t.Fatal(err)
		}
	}
	next := newRig(t, cfg)
	if groups, _, err := next.Restore(s.saved()); groups != 1 || err != nil || next.groups.byKey["in/b"] == nil {
		t.Errorf("restored %d groups, %v, want b alone", groups, err)
	}
	if len(s.results) != 2 {
		t.Errorf("results %v, want 2", s.results)
	}
}

// TestDistinctForgets the oldest values.
func TestDistinctForgets(t *testing.T) {
	t.Parallel()
	slot := &distinctSlot{limit: 3}
	var passed []bool
	for _, h := range []uint64{1, 2, 3, 1, 4, 1, 3} {
		passed = append(passed, slot.add(h))
	}
	if want := []bool{true, true, true, false, true, true, false}; !slices.Equal(passed, want) {
		t.Errorf("got %v, want %v", passed, want)
	}
	again := &distinctSlot{limit: 3}
	again.read(&saved{data: slot.append(nil)})
	if again.add(4) || again.add(1) || !again.add(2) {
		t.Error("the restored values differ")
	}
}

// TestMalformed: messages that no format reads, or that end early, are counted and skipped.
func TestMalformed(t *testing.T) {
	t.Parallel()
	for _, first := range []Step{{Where: "v > 1"}, {Select: map[string]string{"v": "v"}}, {Changed: Paths{"v"}}, {Scan: []Aggregation{{Sum: "v"}}}} {
		r := newRig(t, Config{Steps: steps(first, Step{Publish: "out/+"})})
		full := `{"a":[1,2],"v":3}`
		for n := range len(full) {
			r.put("a", full[:n])
		}
		if err := r.Handle(t.Context(), &ferry.Message{Tag: "in/a", Type: ferry.Raw, Payload: []byte(full)}, r); err != nil {
			t.Fatal(err)
		}
		s := r.Stats().Steps[0]
		if s.In != uint64(len(full)+1) || s.Out+s.Skipped != s.In || s.Out > 1 { // a number at the end of data may be whole
			t.Errorf("%s: got %+v", first.String(), s)
		}
	}
}

// TestErrorOfSend is the error of the call, unless the result has no message.
func TestErrorOfSend(t *testing.T) {
	t.Parallel()
	r := newRig(t, Config{Steps: steps(Step{Publish: "out/+"})})
	r.refuse = errCrash
	if err := r.Handle(t.Context(), &ferry.Message{Tag: "in/a", Type: ferry.JSON, Payload: []byte("1")}, r); err != errCrash { //nolint:errorlint // as the Sender has returned it
		t.Errorf("got %v", err)
	}
	if s := r.Stats(); s.Failed != 1 {
		t.Errorf("%d results failed, want 1", s.Failed)
	}
}

// TestTypes: records are converted to the type of publish, and messages keep theirs.
func TestTypes(t *testing.T) {
	t.Parallel()
	for typ, want := range map[string]string{"json": `{"v":1}`, "cbor": "\xa1av\x01", "msgpack": "\x81\xa1v\x01", "bson": "\x0c\x00\x00\x00\x10v\x00\x01\x00\x00\x00\x00"} {
		r := newRig(t, Config{Steps: steps(Step{Select: map[string]string{"v": "v"}}, Step{Publish: "out/+", Type: typ})})
		r.put("a", `{"v":1}`)
		if m := r.sent[0]; string(m.Payload) != want || m.Type.String() != typ {
			t.Errorf("%s: got %q of type %v, want %q", typ, m.Payload, m.Type, want)
		}
	}
	r := newRig(t, Config{Steps: steps(Step{Publish: "out/+", Type: "cbor"})})
	r.put("a", `1`)
	if m := r.sent[0]; m.Type != ferry.JSON {
		t.Errorf("a message became %v", m.Type)
	}
}

// TestTags has rows of observe, publish, the tag of a message and that of its result; "" means none.
func TestTags(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ observe, publish, tag, want string }{
		{"in/+/+", "out/+", "in/a/b", "out/a"},
		{"in/+/x/+", "out/+/y/+", "in/a/x/b", "out/a/y/b"},
		{"in/#", "out/#", "in/a/b", "out/a/b"},
		{"in/#", "out/#", "in", "out"},
		{"in/#", "out/+", "in", ""},
		{"in/+/#", "out/+/x/#", "in/a/b/c", "out/a/x/b/c"},
		{"in/a", "out", "in/a", "out"},
	} {
		r := newRig(t, Config{Observe: []string{row.observe}, Steps: steps(Step{Publish: row.publish})})
		if err := r.Handle(t.Context(), &ferry.Message{Tag: row.tag, Type: ferry.JSON, Payload: []byte("1")}, r); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, m := range r.sent {
			got += m.Tag
		}
		if got != row.want {
			t.Errorf("%+v: got %q", row, got)
		}
	}
}

// TestAllocations: a message that ends in a window of an existing group costs no allocation.
func TestAllocations(t *testing.T) {
	r := newRig(t, Config{Steps: steps(
		Step{Where: "v > 1"}, Step{Window: &Window{Time: time.Hour}}, Step{Aggregates: []Aggregation{{Mean: "v"}, {Last: "s"}, {Max: "v"}}}, Step{Publish: "out/+"},
	)})
	m := ferry.Message{Tag: "in/a", Type: ferry.JSON, Payload: []byte(`{"v":"31.5","s":"abc","x":[1,2,3]}`)}
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() { _ = r.Handle(ctx, &m, r) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkPipeline(b *testing.B) {
	r := newRig(b, Config{Steps: steps(
		Step{Where: "v > 1"}, Step{Window: &Window{Time: time.Second}}, Step{Aggregation: Aggregation{Mean: "v"}}, Step{Publish: "out/+"},
	)})
	batch := make([]ferry.Message, 64)
	for i := range batch {
		batch[i] = ferry.Message{Tag: fmt.Sprintf("in/%d", i%4), Type: ferry.JSON, Payload: []byte(`{"v":31.5,"s":"abc","x":[1,2,3]}`)}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i += len(batch) {
		_ = r.HandleBatch(b.Context(), batch, r)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(batch)), "ns/message")
}
