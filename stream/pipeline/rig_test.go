package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry"
	"example.com/ferry/format/all"
)

// rig is a pipeline and what it has published.
type rig struct {
	t testing.TB
	*Pipeline

	mu     sync.Mutex
	sent   []ferry.Message // results and state
	refuse error           // Send fails with it
	flush  error           // Flush fails with it once
}

func newRig(t testing.TB, cfg Config) *rig {
	t.Helper()
	r := &rig{t: t}
	cfg.Formats, cfg.Output = all.Formats(), r
	if cfg.Name == "" {
		cfg.Name = "f"
	}
	if cfg.Observe == nil {
		cfg.Observe = []string{"in/+"}
	}
	var err error
	if r.Pipeline, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// Send keeps a copy.
func (r *rig) Send(_ context.Context, m ferry.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse != nil {
		return r.refuse
	}
	r.sent = append(r.sent, m.Clone())
	return nil
}

// Flush reports what the test has set.
func (r *rig) Flush(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.flush
	r.flush = nil
	return err
}

// put handles one JSON message on in/TAG.
func (r *rig) put(tag, payload string) {
	r.t.Helper()
	r.putAt(tag, payload, 0)
}

// putAt handles one that has a time.
func (r *rig) putAt(tag, payload string, at int64) {
	r.t.Helper()
	if err := r.Handle(r.t.Context(), &ferry.Message{Tag: "in/" + tag, Type: ferry.JSON, Payload: []byte(payload), Time: at}, r); err != nil {
		r.t.Fatal(err)
	}
}

// results returns what was published below out, one on each line, and forgets it.
func (r *rig) results() string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, m := range r.sent {
		if strings.HasPrefix(m.Tag, "out") {
			lines = append(lines, fmt.Sprintf("%s %s", m.Tag, m.Payload))
		}
	}
	r.sent = nil
	return strings.Join(lines, "\n")
}

func steps(list ...Step) []Step { return list }

// TestSteps gives messages to pipelines in virtual time, which begins at 946684800 s.
func TestSteps(t *testing.T) {
	t.Parallel()
	type input struct {
		after   time.Duration
		tag     string
		payload string
	}
	publish := Step{Publish: "out/+"}
	for _, row := range []struct {
		name   string
		steps  []Step
		inputs []input
		wait   time.Duration
		want   []string
	}{
		{
			"where", steps(Step{Where: "v > 1"}, publish),
			[]input{{0, "a", `{"v":1}`}, {0, "a", `{"v":"2"}`}, {0, "b", `{"v":3,"x":[1]}`}, {0, "a", `{}`}},
			0,
			[]string{`out/a {"v":"2"}`, `out/b {"v":3,"x":[1]}`},
		},
		{
			"select", steps(Step{Select: map[string]string{"tag": "@tag", "b": "x.1", "a": "t"}}, publish),
			[]input{{0, "a", `{"x":[1,2.50],"t":"q\"\u00e9"}`}, {0, "a", `{"x":[1,null],"t":true}`}, {0, "a", `{"x":[1],"t":1}`}},
			0,
			[]string{`out/a {"a":"q\"é","b":2.5,"tag":"in/a"}`, `out/a {"a":true,"b":null,"tag":"in/a"}`},
		},
		{
			"a window of time for each tag", steps(Step{Window: &Window{Time: 10 * time.Second}}, Step{Aggregation: Aggregation{Mean: "v"}}, publish),
			[]input{{0, "a", `{"v":1}`}, {0, "b", `{"v":10}`}, {9 * time.Second, "a", `{"v":"2"}`}, {time.Second, "a", `{"v":7}`}},
			10 * time.Second,
			[]string{
				`out/a {"start":946684800000000000,"end":946684810000000000,"mean":1.5}`,
				`out/b {"start":946684800000000000,"end":946684810000000000,"mean":10}`,
				`out/a {"start":946684810000000000,"end":946684820000000000,"mean":7}`,
			},
		},
		{
			"all aggregates by a field", steps(Step{GroupBy: &Paths{"d.id"}}, Step{Window: &Window{Count: 3}}, Step{Aggregates: []Aggregation{
				{Count: true}, {Sum: "v"}, {Mean: "v"}, {Min: "v"}, {Max: "v"}, {First: "s"}, {Last: "s"}, {DistinctCount: "s"}, {Last: "@tag", As: "of"},
			}}, Step{Select: map[string]string{
				"id": "id", "n": "count", "sum": "sum", "mean": "mean", "min": "min", "max": "max", "first": "first", "last": "last", "d": "distinct_count", "of": "of",
			}}, Step{Publish: "out/{id}"}),
			[]input{{0, "a", `{"d":{"id":"x"},"v":2,"s":"p"}`}, {0, "b", `{"d":{"id":"x"},"v":-1.5,"s":"q"}`}, {0, "b", `{"d":{"id":7},"v":1,"s":1}`}, {0, "c", `{"d":{"id":"x"},"v":1e2,"s":"p"}`}},
			0,
			[]string{`out/x {"d":2,"first":"p","id":"x","last":"p","max":100,"mean":33.5,"min":-1.5,"n":3,"of":"in/c","sum":100.5}`},
		},
		{
			"count or time", steps(Step{Window: &Window{Count: 2, Time: time.Second}}, Step{Aggregation: Aggregation{Count: true, As: "n"}}, publish),
			[]input{{500 * time.Millisecond, "a", `{}`}, {0, "a", `{}`}, {100 * time.Millisecond, "a", `{}`}},
			1500 * time.Millisecond,
			[]string{`out/a {"start":946684800500000000,"end":946684801500000000,"n":2}`, `out/a {"start":946684800600000000,"end":946684801600000000,"n":1}`},
		},
		{
			"sliding", steps(Step{Window: &Window{Time: 2 * time.Second, Every: time.Second}}, Step{Aggregation: Aggregation{Sum: "v"}}, Step{Select: map[string]string{"sum": "sum"}}, publish),
			[]input{{0, "a", `{"v":1}`}, {time.Second, "a", `{"v":2}`}},
			3 * time.Second,
			[]string{`out/a {"sum":1}`, `out/a {"sum":3}`, `out/a {"sum":2}`},
		},
		{
			"session", steps(Step{Window: &Window{Session: time.Second}}, Step{Aggregation: Aggregation{Count: true}}, Step{Select: map[string]string{"n": "count"}}, publish),
			[]input{{0, "a", `{}`}, {900 * time.Millisecond, "a", `{}`}, {1100 * time.Millisecond, "a", `{}`}},
			time.Second,
			[]string{`out/a {"n":2}`, `out/a {"n":1}`},
		},
		{
			"event time with lateness", steps(Step{Window: &Window{Time: 10 * time.Second, EventTime: "t", Unit: Seconds, Lateness: 3 * time.Second}}, Step{Aggregation: Aggregation{Last: "t"}}, publish),
			[]input{{0, "a", `{"t":5}`}, {0, "a", `{"t":"12"}`}, {0, "a", `{"t":9}`}, {0, "a", `{"t":13}`}, {0, "a", `{"t":9}`}, {0, "a", `{}`}, {0, "a", `{"t":"1970-01-01T00:00:14Z"}`}},
			13 * time.Second,
			[]string{`out/a {"start":0,"end":10000000000,"last":9}`, `out/a {"start":10000000000,"end":20000000000,"last":"1970-01-01T00:00:14Z"}`},
		},
		{
			"sessions joined", steps(Step{Window: &Window{Session: 5 * time.Second, EventTime: "t", Unit: Seconds, Lateness: time.Minute}},
				Step{Aggregates: []Aggregation{{Count: true}, {Sum: "t"}, {Mean: "t"}, {Min: "t"}, {Max: "t"}, {First: "t"}, {Last: "t"}, {DistinctCount: "t"}}}, publish),
			[]input{{0, "a", `{"t":1}`}, {0, "a", `{"t":8}`}, {0, "a", `{"t":4}`}, {0, "a", `{"t":4}`}},
			2 * time.Minute,
			[]string{`out/a {"start":1000000000,"end":13000000000,"count":4,"sum":17,"mean":4.25,"min":1,"max":8,"first":1,"last":4,"distinct_count":3}`},
		},
		{
			"scan", steps(Step{Scan: []Aggregation{{Count: true}, {Max: "v"}}}, publish),
			[]input{{0, "a", `{"v":1}`}, {0, "b", `{"v":9}`}, {0, "a", `{"v":0}`}, {0, "a", `{"v":"x"}`}},
			0,
			[]string{`out/a {"count":1,"max":1}`, `out/b {"count":1,"max":9}`, `out/a {"count":2,"max":1}`},
		},
		{
			"distinct", steps(Step{Distinct: Paths{"v", "w"}}, publish),
			[]input{{0, "a", `{"v":1,"w":2}`}, {0, "a", `{"v":1,"w":3}`}, {0, "a", `{"v":1,"w":2}`}, {0, "b", `{"v":1,"w":2}`}, {0, "a", `{"v":1}`}},
			0,
			[]string{`out/a {"v":1,"w":2}`, `out/a {"v":1,"w":3}`, `out/b {"v":1,"w":2}`},
		},
		{
			"changed", steps(Step{Changed: Paths{"v"}}, publish),
			[]input{{0, "a", `{"v":1}`}, {0, "a", `{"v":1,"n":2}`}, {0, "a", `{"v":2}`}, {0, "a", `{"v":1}`}},
			0,
			[]string{`out/a {"v":1}`, `out/a {"v":2}`, `out/a {"v":1}`},
		},
		{
			"debounce", steps(Step{Debounce: time.Second}, publish),
			[]input{{0, "a", `1`}, {900 * time.Millisecond, "a", `2`}, {0, "b", `3`}, {2 * time.Second, "a", `4`}},
			time.Second,
			[]string{`out/a 2`, `out/b 3`, `out/a 4`},
		},
		{
			"throttle", steps(Step{Throttle: time.Second}, publish),
			[]input{{0, "a", `1`}, {999 * time.Millisecond, "a", `2`}, {0, "b", `3`}, {time.Millisecond, "a", `4`}},
			time.Second,
			[]string{`out/a 1`, `out/b 3`, `out/a 4`},
		},
		{
			"sample", steps(Step{Sample: time.Second}, publish),
			[]input{{0, "a", `1`}, {600 * time.Millisecond, "a", `2`}, {600 * time.Millisecond, "a", `3`}},
			5 * time.Second,
			[]string{`out/a 2`, `out/a 3`},
		},
		{
			"groups within groups of steps", steps(Step{GroupBy: &Paths{"@tag", "id"}}, Step{Window: &Window{Count: 2}}, Step{Aggregation: Aggregation{Max: "v"}}, Step{Changed: Paths{"max"}},
				Step{Window: &Window{Count: 2}}, Step{Aggregation: Aggregation{Sum: "max"}}, Step{Select: map[string]string{"s": "sum", "id": "id"}}, publish),
			[]input{
				{0, "a", `{"id":1,"v":1}`},
				{0, "a", `{"id":1,"v":2}`},
				{0, "a", `{"id":2,"v":9}`},
				{0, "b", `{"id":1,"v":9}`},
				{0, "a", `{"id":1,"v":2}`},
				{0, "a", `{"id":1,"v":1}`},
				{0, "a", `{"id":1,"v":3}`},
				{0, "a", `{"id":1,"v":1}`},
			},
			0,
			[]string{`out/a {"id":1,"s":5}`},
		},
		{
			"one group of all", steps(Step{GroupBy: &Paths{}}, Step{Window: &Window{Count: 2}}, Step{Aggregation: Aggregation{Count: true}}, Step{Select: map[string]string{"n": "count"}}, Step{Publish: "out"}),
			[]input{{0, "a", `{}`}, {0, "b", `{}`}},
			0,
			[]string{`out {"n":2}`},
		},
		{
			"a field that is no level", steps(Step{Publish: "out/{v}"}),
			[]input{{0, "a", `{"v":"a/b"}`}, {0, "a", `{"v":"+"}`}, {0, "a", `{"v":1.5}`}, {0, "a", `{}`}, {0, "a", `{"v":true}`}},
			0,
			[]string{`out/true {"v":true}`},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, Config{Steps: row.steps})
				for _, in := range row.inputs {
					time.Sleep(in.after)
					synctest.Wait()
					r.put(in.tag, in.payload)
				}
				time.Sleep(row.wait)
				got := strings.Split(r.results(), "\n")
				if row.name == "a window of time for each tag" {
					slices.Sort(got[:2]) // windows that end at the same time
				}
				if !slices.Equal(got, row.want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(row.want, "\n"))
				}
			})
		})
	}
}
