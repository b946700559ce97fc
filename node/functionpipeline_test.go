package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/node/config"
	"example.com/ferry/stream"
	"example.com/ferry/stream/pipeline"
)

// TestPipeline runs a pipeline in a node, and changes it by a reload, which leaves the other function alone.
func TestPipeline(t *testing.T) {
	sums := config.Function{Name: "sums", Observe: []string{"in/+"}, Pipeline: []pipeline.Step{
		{Where: "v > 0"},
		{Window: &pipeline.Window{Count: 2}},
		{Aggregation: pipeline.Aggregation{Sum: "v"}},
		{Select: map[string]string{"sum": "sum"}},
		{Publish: "out/+"},
	}}
	other := config.Function{Name: "other", Observe: []string{"in/+"}, Pipeline: []pipeline.Step{
		{Window: &pipeline.Window{Count: 3}}, {Aggregation: pipeline.Aggregation{Count: true}}, {Select: map[string]string{"n": "count"}}, {Publish: "n/+"},
	}}
	n, c, _ := started(t, []config.Function{sums, other})
	if kind := n.functions.List()[0].Kind; kind != "pipeline" {
		t.Errorf("the function is a %s", kind)
	}
	got, others := observe(t, c, "out/#"), observe(t, c, "n/#")
	for _, v := range []string{"1", "0", `"2"`} {
		send(t, c, "in/a", fmt.Sprintf(`{"v":%s}`, v))
	}
	if m := next(t, got); m.Tag != "out/a" || m.Type != ferry.JSON || string(m.Payload) != `{"sum":3}` {
		t.Errorf("got %s %v %s", m.Tag, m.Type, m.Payload)
	}
	if m := next(t, others); string(m.Payload) != `{"n":3}` {
		t.Errorf("got %s", m.Payload)
	}
	awaitMetric(t, n, `ferry_pipeline_messages_total{dir="in",function="sums",step="1 where v > 0"} 3`)
	awaitMetric(t, n, `ferry_pipeline_messages_total{dir="out",function="sums",step="2 window of 2 | sum v"} 1`)

	send(t, c, "in/a", `{"v":1}`) // the other function's window has it before the reload
	awaitMetric(t, n, `ferry_pipeline_open{function="other"} 1`)
	sums.Pipeline = slices.Clone(sums.Pipeline)
	sums.Pipeline[1].Window = &pipeline.Window{Count: 1}
	apply(t, n, func(cfg *config.Config) { cfg.Functions = []config.Function{sums, other} })
	send(t, c, "in/a", `{"v":7}`)
	if m := next(t, got); string(m.Payload) != `{"sum":7}` {
		t.Errorf("after the reload: got %s", m.Payload)
	}
	send(t, c, "in/a", `{"v":8}`)
	if m := next(t, others); string(m.Payload) != `{"n":3}` {
		t.Errorf("got %s", m.Payload)
	}
}

// TestPipelineSurvivesRestarts stops the node while windows of groups are open. Each message counts once.
func TestPipelineSurvivesRestarts(t *testing.T) {
	stored := func(tags string) config.Stream {
		return config.Stream{Tags: config.Filters{tags}, Delivery: config.AtLeastOnce}
	}
	states := stored("state/#")
	states.Retention.PerTag = 1
	cfg := stores(t, "", stored("in/#"), stored("out/#"), states)
	cfg.Functions = []config.Function{{
		Name: "sums", Observe: []string{"in/+"}, Durable: "sums", From: "first", State: "state/sums", Pipeline: []pipeline.Step{
			{GroupBy: &pipeline.Paths{"@tag", "id"}},
			{Window: &pipeline.Window{Count: 5}},
			{Aggregation: pipeline.Aggregation{Sum: "v"}},
			{Window: &pipeline.Window{Count: 2}},
			{Aggregation: pipeline.Aggregation{Max: "sum"}},
			{Scan: []pipeline.Aggregation{{Count: true, As: "n"}, {Last: "max"}}},
			{Publish: "out/+"},
		},
	}}
	want := map[string]bool{}
	windows := map[[2]int][]int{}
	sent := 0
	for range 4 {
		n := build(t, cfg)
		stop := run(t, n)
		c, err := client(t, n, "tcp", n.id.Token())
		if err != nil {
			t.Fatal(err)
		}
		for range 37 {
			tag, id, v := sent%2, sent%3, sent*sent%101
			send(t, c, fmt.Sprintf("in/%d", tag), fmt.Sprintf(`{"id":%d,"v":%d}`, id, v))
			group := [2]int{tag, id}
			if windows[group] = append(windows[group], v); len(windows[group])%10 == 0 {
				sum := func(list []int) (s int) {
					for _, v := range list {
						s += v
					}
					return s
				}
				all := windows[group]
				last := all[len(all)-10:]
				want[fmt.Sprintf(`out/%d {"tag":"in/%d","id":%d,"n":%d,"last":%d}`, tag, tag, id, len(all)/10, max(sum(last[:5]), sum(last[5:])))] = true
			}
			sent++
		}
		if err := c.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		await(t, "all messages are acknowledged", func() bool {
			s := state(t, n, "in")
			return len(s.Durables) == 1 && s.Durables[0].Lag == 0 && s.Durables[0].Floor == uint64(sent)
		})
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
	n := build(t, cfg)
	run(t, n)
	c, err := client(t, n, "tcp", n.id.Token())
	if err != nil {
		t.Fatal(err)
	}
	results := make(chan ferry.Message, 1000)
	_, err = c.Start(t.Context(), stream.Function{Observe: []string{"out/#"}, From: stream.FromFirst(), Handler: stream.Sink(func(_ context.Context, in *ferry.Message) error {
		results <- in.Clone()
		return nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	for stored := state(t, n, "out").Records; stored > 0; stored-- {
		m := next(t, results)
		line := fmt.Sprintf("%s %s", m.Tag, m.Payload)
		if !want[line] {
			t.Errorf("got %s, which is none of the results, or twice", line)
		}
		delete(want, line)
	}
	for line := range want {
		t.Errorf("no %s", line)
	}
	if got := n.functions.List()[0].Pipeline; got == nil || got.Groups != 6 {
		t.Errorf("got %+v, want 6 groups", got)
	}
}

// TestStateThatCannotBeRead: the function says why it does not start.
func TestStateThatCannotBeRead(t *testing.T) {
	n := build(t, stores(t, config.MemoryEngine, config.Stream{Tags: config.Filters{"other/#"}}))
	run(t, n)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, err := range n.saved(ctx, "state/x") {
		if err == nil || !strings.Contains(err.Error(), "no stream stores state/x/#") {
			t.Errorf("got %v", err)
		}
	}
}
