package dashboard

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"example.com/ferry"
	"example.com/ferry/node/config"
	"example.com/ferry/stream"
	"example.com/ferry/stream/pipeline"
	"example.com/ferry/transport/tcp"
)

// TestPipelineSteps opens the dashboard of a node with a pipeline: the steps with their counters, and what its groups hold.
func TestPipelineSteps(t *testing.T) {
	b := open(t)
	cfg := quiet(t)
	cfg.Listeners = []config.Listener{{Address: "tcp://127.0.0.1:0"}}
	cfg.Identities = []config.Identity{{Name: "source", Token: "0123456789abcdef", Publish: []string{"in/#"}}}
	cfg.Functions = []config.Function{{Name: "means", Observe: []string{"in/+"}, Pipeline: []pipeline.Step{
		{Where: "v > 0"},
		{GroupBy: &pipeline.Paths{"id"}},
		{Window: &pipeline.Window{Count: 3}},
		{Aggregates: []pipeline.Aggregation{{Mean: "v"}, {Max: "v", As: "peak"}}},
		{Publish: "out/{id}"},
	}}}
	n := build(t, cfg)
	run(t, n)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := stream.Dial(ctx, tcp.New(nil), strings.TrimPrefix(n.Addresses()[0], "tcp://"), &stream.Config{Token: []byte(cfg.Identities[0].Token)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, payload := range []string{`{"id":"a","v":1}`, `{"id":"a","v":2}`, `{"id":"b","v":"4"}`, `{"id":"a","v":6}`, `{"id":"a"}`, `{"v":1}`, `{"id":"b","v":0}`} {
		if err := c.Send(ctx, ferry.Message{Tag: "in/x", Type: ferry.JSON, Payload: []byte(payload)}); err != nil {
			t.Fatal(err)
		}
	}
	b.do(chromedp.Navigate(n.Admin()))
	const step = `[...document.querySelectorAll(".pipeline li")].map((e) => [...e.children].filter((c) => !c.hidden).map((c) => c.textContent).join(" "))`
	for _, want := range []string{
		"where v > 0 7 → 5 1 skipped", "group_by id 5 → 4 1 skipped", "window of 3 | aggregate mean v, max v as peak 4 → 1", "publish out/{id} 1 → 1",
	} {
		b.wait("a step is "+want, step+`.includes("`+want+`")`)
	}
	b.wait("the open window is shown", `document.querySelector(".pipeline .state").textContent === "2 groups, 1 open window"`)
	b.do(chromedp.EmulateViewport(375, 812), chromedp.ScrollIntoView(".pipeline"))
	if wide := b.text(`String(document.documentElement.scrollWidth)`); wide != "375" {
		t.Errorf("on a phone the page is %s wide, want 375", wide)
	}
	if c := b.consoleErrors(false); len(c) > 0 {
		t.Errorf("the console says %q", c)
	}
}
