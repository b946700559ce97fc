package config

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/ferry/stream/pipeline"
)

func TestPipeline(t *testing.T) {
	t.Parallel()
	c, err := Parse("node.yaml", []byte(`
functions:
  - name: avg
    observe: [sensors/+]
    pipeline:
      - where: readings.0.value > 3
      - window: {time: 10s}
      - mean: readings.0.value
      - publish: averages/+
  - name: all
    observe: [sensors/#]
    pipeline:
      - select: {v: 'float64(0x10.0x11)', tag: '@tag'}
      - group_by: []
      - {window: {session: 1m, event_time: origin, unit: ms, lateness: 2s}}
      - aggregate: [{count: true}, {max: v, as: peak}]
      - {changed: peak}
      - {publish: peaks, type: cbor}
    max_groups: 5
`), Program{})
	if err != nil {
		t.Fatal(err)
	}
	want := []pipeline.Step{
		{Where: "readings.0.value > 3"},
		{Window: &pipeline.Window{Time: 10 * time.Second}},
		{Aggregation: pipeline.Aggregation{Mean: "readings.0.value"}},
		{Publish: "averages/+"},
	}
	if got := c.Functions[0].Pipeline; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if f := c.Functions[0]; f.CPU != Light || f.Concurrency != 1 {
		t.Errorf("a pipeline is %s with concurrency %d, want light with 1", f.CPU, f.Concurrency)
	}
	want = []pipeline.Step{
		{Select: map[string]string{"v": "float64(0x10.0x11)", "tag": "@tag"}},
		{GroupBy: &pipeline.Paths{}},
		{Window: &pipeline.Window{Session: time.Minute, EventTime: "origin", Unit: pipeline.Milliseconds, Lateness: 2 * time.Second}},
		{Aggregates: []pipeline.Aggregation{{Count: true}, {Max: "v", As: "peak"}}},
		{Changed: pipeline.Paths{"peak"}},
		{Publish: "peaks", Type: "cbor"},
	}
	if got := c.Functions[1].Pipeline; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestPipelineRefused has one wrong line a row, behind four lines of a function. {} closes a pipeline that is right.
func TestPipelineRefused(t *testing.T) {
	t.Parallel()
	const head = "functions:\n  - name: avg\n    observe: [sensors/+]\n    pipeline:\n"
	const end = "      - publish: averages/+\n"
	for _, row := range []struct{ name, text, want string }{
		{"no steps", "      []\n", "functions[0].pipeline: 0 steps: want 1 to 32"},
		{"unknown step", "      - filter: a\n" + end, "node.yaml:5:9: functions[0].pipeline[0].filter: unknown field"},
		{"misspelt aggregate", "      - window: {time: 1s}\n      - meen: a\n" + end, `node.yaml:6:9: functions[0].pipeline[1].meen: unknown field: did you mean "mean"?`},
		{"empty step", "      - {}\n" + end, "node.yaml:5:9: functions[0].pipeline[0]: does nothing: write one of where, select,"},
		{"two steps in one", "      - where: a > 1\n        throttle: 1s\n" + end, "node.yaml:6:19: functions[0].pipeline[0].throttle: beside where: write each as a step of its own"},
		{"bad predicate", "      - where: a >\n" + end, "node.yaml:5:16: functions[0].pipeline[0].where: predicate ends at offset 3"},
		{"bad path", "      - window: {time: 1s}\n      - mean: a..b\n" + end, `node.yaml:6:15: functions[0].pipeline[1].mean: path "a..b" has an empty step at offset 2`},
		{"bad path in a list", "      - distinct: [a, '.b']\n" + end, `node.yaml:5:23: functions[0].pipeline[0].distinct[1]: path ".b"`},
		{"bad path in select", "      - select:\n          x: a.\n" + end, `node.yaml:6:14: functions[0].pipeline[0].select.x: path "a." has an empty step`},
		{"no window", "      - mean: a\n" + end, "node.yaml:5:15: functions[0].pipeline[0].mean: no window is before it: write window: {time: 10s}, or scan"},
		{"no aggregate", "      - window: {time: 1s}\n" + end, "node.yaml:6:18: functions[0].pipeline[1].publish: follows a window"},
		{"window without end", "      - window: {}\n      - count: true\n" + end, "node.yaml:5:17: functions[0].pipeline[0].window: has no end: give it time, count or session"},
		{"session and time", "      - window: {time: 1s, session: 1s}\n      - count: true\n" + end, "node.yaml:5:37: functions[0].pipeline[0].window.session: beside time or count"},
		{"count of nothing", "      - window: {count: 0}\n      - count: true\n" + end, "node.yaml:5:25: functions[0].pipeline[0].window.count: "},
		{"short time", "      - window: {time: 1000}\n      - count: true\n" + end, "window.time: number where string is expected"},
		{"a tenth of a millisecond", "      - window: {time: 0.1ms}\n      - count: true\n" + end, "node.yaml:5:24: functions[0].pipeline[0].window.time: 100µs is too short"},
		{"every of count", "      - window: {count: 5, every: 1s}\n      - count: true\n" + end, "window.every: is for windows of time alone"},
		{"every above time", "      - window: {time: 1s, every: 2s}\n      - count: true\n" + end, "window.every: 2s is longer than time"},
		{"too much overlap", "      - window: {time: 1h, every: 1s}\n      - count: true\n" + end, "window.every: 1s makes 3600 windows of each message: at most 1000"},
		{"lateness without event time", "      - window: {time: 1s, lateness: 1s}\n      - count: true\n" + end, "window.lateness: is for event_time"},
		{"too much lateness", "      - window: {time: 1s, event_time: t, lateness: 1h}\n      - count: true\n" + end, "window.lateness: 1h0m0s keeps 3600 windows open: at most 1000"},
		{"ahead without event time", "      - window: {time: 1s, ahead: 1h}\n      - count: true\n" + end, "window.ahead: is for event_time"},
		{"short group_idle", "      - throttle: 1s\n" + end + "    group_idle: 10ms\n", "functions[0].group_idle: 10ms is too short: at least 1s"},
		{"bad unit", "      - window: {time: 1s, event_time: t, unit: sec}\n      - count: true\n" + end, `window.unit: "sec" is not one of ns, us, ms, s`},
		{"two aggregates in one", "      - window: {time: 1s}\n      - {mean: a, max: a}\n" + end, "functions[0].pipeline[1].max: beside mean"},
		{"same name twice", "      - window: {time: 1s}\n      - aggregate: [{mean: a}, {mean: b}]\n" + end, "node.yaml:6:39: functions[0].pipeline[1].aggregate[1].mean: the record has a field mean already: name this one with as"},
		{"name of the group", "      - group_by: a.max\n      - window: {time: 1s}\n      - max: b\n" + "      - publish: averages\n", "pipeline[2].max: the record has a field max already"},
		{"aggregate of nothing", "      - scan: [{as: x}]\n" + end, "pipeline[0].scan[0]: no aggregate: write one of count, sum,"},
		{"as of a where", "      - {where: a > 1, as: b}\n" + end, "pipeline[0].as: means nothing for where"},
		{"type of a where", "      - {where: a > 1, type: json}\n" + end, "pipeline[0].type: means nothing for where"},
		{"no publish", "      - where: a > 1\n", "node.yaml:5:9: functions[0].pipeline[0]: the last step is where: end with publish"},
		{"steps after publish", end + "      - where: a > 1\n" + end, "node.yaml:5:18: functions[0].pipeline[0].publish: steps follow it"},
		{"bad tag", "      - publish: averages/#/a\n", `pipeline[0].publish: tag "averages/#/a" goes on behind #`},
		{"too many levels", "      - publish: averages/+/+\n", `pipeline[0].publish: "averages/+/+" takes more levels than the wildcards of observe[0], "sensors/+", match`},
		{"own results", "      - publish: sensors/x\n", `pipeline[0].publish: "sensors/x" is observed by the function itself`},
		{"levels of a merged tag", "      - group_by: a\n      - throttle: 1s\n" + end, `pipeline[2].publish: "averages/+" takes levels of the tag, but a group has messages of several tags: add @tag`},
		{"bad type", "      - {publish: averages, type: y3}\n", `pipeline[0].type: "y3" is no format of records: want json, cbor, msgpack or bson`},
		{"groups without state", "      - group_by: a\n      - publish: averages\n", "node.yaml:5:19: functions[0].pipeline[0].group_by: no step after it keeps state"},
		{"groups after state", "      - throttle: 1s\n      - group_by: a\n      - throttle: 1s\n" + end, "pipeline[1].group_by: follows a step that keeps state"},
		{"groups twice", "      - group_by: a\n      - group_by: b\n      - throttle: 1s\n" + end, "pipeline[1].group_by: a pipeline groups once"},
		{"beside run", end + "    run: averages\n", "functions[0].pipeline: beside run, command or wasm"},
		{"heavy", end + "    cpu: heavy\n", `functions[0].cpu: "heavy" is for a run or a command`},
		{"concurrency", end + "    concurrency: 2\n", "functions[0].concurrency: means nothing for a pipeline"},
		{"timeout", end + "    timeout: 1s\n", "functions[0].timeout: means nothing for a pipeline"},
		{"state without a durable", "      - throttle: 1s\n" + end + "    state: state\n", "functions[0].state: is for a pipeline with a durable and a step that keeps state"},
		{"durable without state", "      - throttle: 1s\n" + end + "    durable: d\nstreams: [{tags: sensors/#, delivery: at-least-once}]\n", "node.yaml:7:14: functions[0].durable: the pipeline keeps state, which a restart would lose"},
		{"state that no stream stores", "      - throttle: 1s\n" + end + "    durable: d\n    state: state/avg\nstreams: [{tags: sensors/#, delivery: at-least-once}]\n", "node.yaml:8:12: functions[0].state: no stream stores state/avg/#"},
		{"state at most once", "      - throttle: 1s\n" + end + "    durable: d\n    state: state/avg\nstreams: [{tags: sensors/#, delivery: at-least-once}, {tags: state/#}]\n", "functions[0].state: streams[1] has delivery at-most-once"},
		{"state in a tag that it observes", "      - throttle: 1s\n" + end + "    durable: d\n    state: sensors\nstreams: [{tags: sensors/#, delivery: at-least-once}]\n", `functions[0].observe[0]: "sensors/+" matches the function's own state`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("node.yaml", []byte(head+row.text), Program{Functions: []string{"averages"}})
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got  %v\nwant %s", err, row.want)
			}
		})
	}
}

// TestPipelinesThatFeedEachOther: results that come back to their function through others are refused, and a chain is not.
func TestPipelinesThatFeedEachOther(t *testing.T) {
	t.Parallel()
	const chain = `
functions:
  - {name: a, observe: [x/#], pipeline: [{publish: 'y/#'}]}
  - {name: b, observe: [y/+], pipeline: [{publish: 'z/{kind}'}]}
  - {name: c, observe: [z/#], pipeline: [{publish: TAG}]}
  - {name: other, observe: [y/#], pipeline: [{publish: o}]}
  - {name: program, observe: ['#'], run: averages}
`
	for _, row := range []struct{ tag, want string }{
		{"w", ""},
		{"x/back", `node.yaml:3:52: functions[0].pipeline[0].publish: "y/#" comes back to the function through b, c: its results would never end`},
		{"y/1", `functions[1].pipeline[0].publish: "z/+" comes back to the function through c: its results would never end`},
	} {
		_, err := Parse("node.yaml", []byte(strings.Replace(chain, "TAG", row.tag, 1)), Program{Functions: []string{"averages"}})
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", row.tag, err, row.want)
		}
	}
}
