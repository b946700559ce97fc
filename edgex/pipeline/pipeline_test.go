package pipeline_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	stdjson "encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	fxcbor "github.com/fxamacker/cbor/v2"

	"example.com/ferry/edgex"
	"example.com/ferry/edgex/pipeline"
)

const newID = "00000000-0000-4000-8000-00000000000f"

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// event returns an event with one reading for each of resources.
func event(t testing.TB, device string, resources ...string) edgex.Event {
	t.Helper()
	e := edgex.NewEvent("Pump", device, "all")
	for i, r := range resources {
		check(t, e.AddSimple(r, edgex.Int32, int32(i)))
	}
	return e
}

func marshal(t testing.TB, marshal func(any) ([]byte, error), v any) []byte {
	t.Helper()
	data, err := marshal(v)
	check(t, err)
	return data
}

// inEnvelope returns e in the form that a device service publishes: base64 of CBOR in a JSON envelope.
func inEnvelope(t testing.TB, e edgex.Event) []byte {
	return marshal(t, stdjson.Marshal, edgex.MessageEnvelope{
		APIVersion: edgex.APIVersion, CorrelationID: "14a42ea6-c394-41c3-8bcd-a29b9f5e6835",
		Payload: marshal(t, fxcbor.Marshal, edgex.NewAddEventRequest(e)), ContentType: "application/cbor",
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestFilters(t *testing.T) {
	e := event(t, "pump-12", "pressure", "flow", "noise")
	rows := []struct {
		name string
		step pipeline.Step
		want string // the resources that remain; empty if the filter discards the event
	}{
		{"no values", must(pipeline.FilterByDeviceName(pipeline.Filter{})), "pressure flow noise"},
		{"device", must(pipeline.FilterByDeviceName(pipeline.Filter{Values: []string{"other", "pump-12"}})), "pressure flow noise"},
		{"part of a device", must(pipeline.FilterByDeviceName(pipeline.Filter{Values: []string{"pump-1"}})), "pressure flow noise"},
		{"whole device", must(pipeline.FilterByDeviceName(pipeline.Filter{Values: []string{"^pump-1$"}})), ""},
		{"device out", must(pipeline.FilterByDeviceName(pipeline.Filter{Values: []string{"^pump"}, Out: true})), ""},
		{"other device out", must(pipeline.FilterByDeviceName(pipeline.Filter{Values: []string{"fan"}, Out: true})), "pressure flow noise"},
		{"profile", must(pipeline.FilterByProfileName(pipeline.Filter{Values: []string{"Pump"}})), "pressure flow noise"},
		{"other profile", must(pipeline.FilterByProfileName(pipeline.Filter{Values: []string{"Fan"}})), ""},
		{"source", must(pipeline.FilterBySourceName(pipeline.Filter{Values: []string{"a.l"}})), "pressure flow noise"},
		{"other source", must(pipeline.FilterBySourceName(pipeline.Filter{Values: []string{"some"}})), ""},
		{"resource", must(pipeline.FilterByResourceName(pipeline.Filter{Values: []string{"flow"}})), "flow"},
		{"resources", must(pipeline.FilterByResourceName(pipeline.Filter{Values: []string{"^p", "^n"}})), "pressure noise"},
		{"resource out", must(pipeline.FilterByResourceName(pipeline.Filter{Values: []string{"flow"}, Out: true})), "pressure noise"},
		{"all resources", must(pipeline.FilterByResourceName(pipeline.Filter{})), "pressure flow noise"},
		{"no resource", must(pipeline.FilterByResourceName(pipeline.Filter{Values: []string{"none"}})), ""},
	}
	messages := map[string][]byte{
		"CBOR": marshal(t, fxcbor.Marshal, e), "JSON": marshal(t, stdjson.Marshal, e), "envelope": inEnvelope(t, e),
	}
	for _, r := range rows {
		for form, data := range messages {
			t.Run(r.name+"/"+form, func(t *testing.T) {
				p := pipeline.New(nil, r.step, pipeline.Transform(edgex.JSON))
				for range 2 { // run twice, because the second run uses buffers of the first
					out, ok, err := p.Run(bytes.Clone(data))
					check(t, err)
					var got struct {
						edgex.AddEventRequest
						Readings []edgex.Reading `json:"readings"`
					}
					if ok {
						check(t, stdjson.Unmarshal(out, &got))
					}
					var names []string
					for _, reading := range append(got.Readings, got.Event.Readings...) {
						names = append(names, reading.ResourceName)
					}
					if s := strings.Join(names, " "); s != r.want || ok != (r.want != "") {
						t.Errorf("left %q, %v, want %q", s, ok, r.want)
					}
				}
			})
		}
	}
}

func TestPipelineChanges(t *testing.T) {
	id := func() string { return newID }
	short := func() string { return "short" }
	p := pipeline.New(nil,
		pipeline.AddTags(edgex.Tag{Name: "site", Value: "dock"}),
		pipeline.SetID(short), pipeline.SetID(id),
		pipeline.AddTags(edgex.Tag{Name: "site", Value: "quay"}, edgex.Tag{Name: "line", Value: "1"}),
		pipeline.SetCorrelationID(short),
		pipeline.Transform(edgex.CBOREnvelope),
		pipeline.Transform(edgex.JSONEnvelope),
	)
	for range 3 {
		e := event(t, "pump-1", "a", "b")
		out, ok, err := p.Run(inEnvelope(t, e))
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		var got struct {
			CorrelationID string                `json:"correlationID"`
			ContentType   string                `json:"contentType"`
			Payload       edgex.AddEventRequest `json:"payload"`
		}
		check(t, stdjson.Unmarshal(out, &got))
		if tags := fmt.Sprint(got.Payload.Event.Tags); tags != "map[line:1 site:quay]" || got.Payload.Event.ID != newID ||
			got.CorrelationID != "short" || got.ContentType != "application/json" || len(got.Payload.Event.Readings) != 2 {
			t.Errorf("got %+v\n%s", got, out)
		}
	}
}

func TestBatch(t *testing.T) {
	rows := []struct {
		name   string
		config pipeline.BatchConfig
		want   string // number of events in each result of Run and then of Flush
	}{
		{"by count", pipeline.BatchConfig{Count: 3}, "3 3 +1"},
		{"each", pipeline.BatchConfig{Count: 1}, "1 1 1 1 1 1 1"},
		{"by default", pipeline.BatchConfig{}, "+7"},
		{"by bytes", pipeline.BatchConfig{Bytes: 700}, "2 2 2 +1"},
		{"smaller than an event", pipeline.BatchConfig{Bytes: 1}, "1 1 1 1 1 1 1"},
	}
	for _, r := range rows {
		for name, form := range map[string]struct {
			marshal   func(any) ([]byte, error)
			unmarshal func([]byte, any) error
		}{"json": {stdjson.Marshal, stdjson.Unmarshal}, "cbor": {fxcbor.Marshal, fxcbor.Unmarshal}} {
			t.Run(r.name+"/"+name, func(t *testing.T) {
				p := pipeline.New(nil, must(pipeline.Batch(r.config)))
				var got []string
				next := 0
				count := func(prefix string, out []byte) {
					var events []edgex.Event
					if err := form.unmarshal(out, &events); err != nil {
						t.Fatalf("%v: %q", err, out)
					}
					for _, e := range events {
						if e.DeviceName != fmt.Sprint("pump-", next) {
							t.Errorf("device %q at %d", e.DeviceName, next)
						}
						next++
					}
					got = append(got, prefix+fmt.Sprint(len(events)))
				}
				for i := range 7 {
					out, ok, err := p.Run(marshal(t, form.marshal, edgex.NewAddEventRequest(event(t, fmt.Sprint("pump-", i), "r"))))
					check(t, err)
					if ok {
						count("", out)
					}
				}
				for {
					out, ok, err := p.Flush()
					check(t, err)
					if !ok {
						break
					}
					count("+", out)
				}
				if s := strings.Join(got, " "); s != r.want {
					t.Errorf("batches of %s, want %s", s, r.want)
				}
			})
		}
	}
}

func TestBatchByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pipeline.New(nil,
			must(pipeline.Batch(pipeline.BatchConfig{Interval: time.Second})),
			must(pipeline.Compress(pipeline.CompressConfig{Algorithm: "gzip", Raw: true})))
		if _, due := p.Due(); due {
			t.Error("an empty batch is due")
		}
		start := time.Now()
		for range 2 {
			_, ok, err := p.Run(marshal(t, stdjson.Marshal, event(t, "pump-1", "r")))
			if ok || err != nil {
				t.Fatal(ok, err)
			}
			time.Sleep(time.Second / 4)
		}
		due, ok := p.Due()
		if !ok || due != start.Add(time.Second) {
			t.Errorf("due %v after the first event, %v, want 1 s", due.Sub(start), ok)
		}
		out, ok, err := p.Flush()
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		r, err := gzip.NewReader(bytes.NewReader(out))
		check(t, err)
		plain, err := io.ReadAll(r)
		check(t, err)
		var events []edgex.Event
		if check(t, stdjson.Unmarshal(plain, &events)); len(events) != 2 {
			t.Errorf("%d events, want 2", len(events))
		}
		if _, ok, _ := p.Flush(); ok {
			t.Error("flushed twice")
		}
	})
}

func TestCompress(t *testing.T) {
	data := marshal(t, stdjson.Marshal, event(t, "pump-1", "a", "b"))
	for _, algorithm := range []string{"gzip", "zlib"} {
		for _, raw := range []bool{false, true} {
			for _, level := range []int{0, 1, 9} {
				p := pipeline.New(nil, must(pipeline.Compress(pipeline.CompressConfig{Algorithm: algorithm, Raw: raw, Level: level})))
				for range 2 {
					out, ok, err := p.Run(bytes.Clone(data))
					if err != nil || !ok {
						t.Fatal(ok, err)
					}
					if !raw {
						out = must(base64.StdEncoding.DecodeString(string(out)))
					}
					var r io.Reader
					if algorithm == "gzip" {
						r, err = gzip.NewReader(bytes.NewReader(out))
					} else {
						r, err = zlib.NewReader(bytes.NewReader(out))
					}
					check(t, err)
					if back := must(io.ReadAll(r)); !bytes.Equal(back, data) {
						t.Errorf("%s, raw %v: %q", algorithm, raw, back)
					}
				}
			}
		}
	}
}

func TestErrors(t *testing.T) {
	e := event(t, "pump-1", "a")
	inCBOR, inJSON := marshal(t, fxcbor.Marshal, e), marshal(t, stdjson.Marshal, e)
	zip := must(pipeline.Compress(pipeline.CompressConfig{Algorithm: "gzip"}))
	mixed := must(pipeline.Batch(pipeline.BatchConfig{}))
	id := func() string { return newID }
	rows := []struct {
		name   string
		config *pipeline.Config
		steps  []pipeline.Step
		data   []byte
		want   string
	}{
		{"not valid", nil, nil, []byte(`{"id":"a","ID":"b"}`), "stands twice"},
		{"too large", &pipeline.Config{MaxEvent: 10}, nil, inCBOR, "exceeds the limit of 10"},
		{"too large, trusted", &pipeline.Config{MaxEvent: 10, Trusted: true}, []pipeline.Step{pipeline.SetID(id)}, inCBOR, "exceeds the limit of 10"},
		{"tags after compression", nil, []pipeline.Step{zip, pipeline.AddTags(edgex.Tag{Name: "a", Value: "b"})}, inCBOR, "step 2: the message is no single event"},
		{"no envelope", nil, []pipeline.Step{pipeline.SetCorrelationID(id)}, inCBOR, "without an envelope"},
		{"no device", nil, []pipeline.Step{must(pipeline.FilterByDeviceName(pipeline.Filter{Values: []string{"a"}}))}, []byte(`{"id":"a"}`), "deviceName: field: not found"},
		{"batch of one format", nil, []pipeline.Step{mixed}, inCBOR, ""},
		{"batch of two formats", nil, []pipeline.Step{mixed}, inJSON, "put a Transform before it"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			_, _, err := pipeline.New(r.config, r.steps...).Run(bytes.Clone(r.data))
			if r.want == "" && err == nil {
				return
			}
			if err == nil || !strings.Contains(err.Error(), r.want) || !strings.HasPrefix(err.Error(), "pipeline: ") {
				t.Errorf("Run = %v, want an error with %q", err, r.want)
			}
		})
	}
	for name, err := range map[string]error{
		"expression":  second(pipeline.FilterByDeviceName(pipeline.Filter{Values: []string{"("}})),
		"resource":    second(pipeline.FilterByResourceName(pipeline.Filter{Values: []string{"("}})),
		"algorithm":   second(pipeline.Compress(pipeline.CompressConfig{Algorithm: "zstd"})),
		"level":       second(pipeline.Compress(pipeline.CompressConfig{Algorithm: "gzip", Level: 10})),
		"batch count": second(pipeline.Batch(pipeline.BatchConfig{Count: -1})),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "pipeline: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func hop(t testing.TB, trusted bool) *pipeline.Pipeline {
	id := func() string { return newID }
	keep, err := pipeline.FilterByDeviceName(pipeline.Filter{Values: []string{"pump-1"}})
	check(t, err)
	return pipeline.New(&pipeline.Config{Trusted: trusted}, keep, pipeline.SetID(id), pipeline.SetCorrelationID(id))
}

func TestHopAllocatesNothing(t *testing.T) {
	data := inEnvelope(t, event(t, "pump-1", "a", "b"))
	for _, trusted := range []bool{false, true} {
		p := hop(t, trusted)
		n := testing.AllocsPerRun(100, func() {
			out, ok, err := p.Run(data)
			if err != nil || !ok || &out[0] != &data[0] {
				t.Fatal(ok, err)
			}
		})
		if n != 0 {
			t.Errorf("trusted %v: %v allocations", trusted, n)
		}
	}
}

// BenchmarkHop filters by device and sets both IDs. The message is a JSON envelope with base64 of CBOR.
func BenchmarkHop(b *testing.B) {
	e := event(b, "pump-1", "a")
	e.AddBinary("image", make([]byte, 1<<20), "image/png")
	data := inEnvelope(b, e)
	for _, trusted := range []bool{true, false} {
		b.Run(fmt.Sprintf("trusted=%v", trusted), func(b *testing.B) {
			b.ReportAllocs()
			p := hop(b, trusted)
			for b.Loop() {
				if _, ok, err := p.Run(data); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}
