package live

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/codec/cbor"
	"example.com/ferry/codec/json"
	"example.com/ferry/edgex"
	"example.com/ferry/field"
	"example.com/ferry/format"
	formatcbor "example.com/ferry/format/cbor"
)

// recorder is a ferry.Sender that records the messages it sends.
type recorder struct {
	mu   sync.Mutex
	sent []ferry.Message
	more chan struct{}
}

func newRecorder() *recorder { return &recorder{more: make(chan struct{}, 1000)} }

func (r *recorder) Send(_ context.Context, m ferry.Message) error {
	r.mu.Lock()
	r.sent = append(r.sent, m.Clone())
	r.mu.Unlock()
	select {
	case r.more <- struct{}{}:
	default:
	}
	return nil
}

func (r *recorder) all() []ferry.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]ferry.Message(nil), r.sent...)
}

func event(t *testing.T, m ferry.Message) edgex.Event {
	t.Helper()
	c, err := codecOf(m.Type)
	if err != nil {
		t.Fatal(err)
	}
	var e edgex.Event
	if err := edgex.Unmarshal(c, m.Payload, &e, maxEvent); err != nil {
		t.Fatalf("%s: %v\n%s", m.Tag, err, hex.Dump(m.Payload))
	}
	return e
}

func TestSensorsPublishThisMachine(t *testing.T) {
	out := newRecorder()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- Sensors{Host: "here", Interval: 20 * time.Millisecond}.Run(ctx, out) }()
	seen := map[string]edgex.Event{}
	for len(seen["cpu"].Readings) == 0 || len(seen["memory"].Readings) == 0 {
		select {
		case <-out.more:
		case <-ctx.Done():
			t.Fatalf("after a minute only %v", seen)
		}
		for _, m := range out.all() {
			name := strings.TrimPrefix(m.Tag, "sensors/here/")
			seen[name] = event(t, m)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
	for name, e := range seen {
		if e.DeviceName != "here" || e.ProfileName != "machine" || e.SourceName != name {
			t.Errorf("%s: device %q, profile %q, source %q", name, e.DeviceName, e.ProfileName, e.SourceName)
		}
		for i := range e.Readings {
			r := &e.Readings[i]
			v, ok := number(r)
			if !ok || r.ValueType != edgex.Float64 || r.Units == "" || r.Origin != e.Origin {
				t.Errorf("%s: reading %+v", name, *r)
			}
			if r.Units == "%" && (v < 0 || v > 100) {
				t.Errorf("%s: %s is %v %%", name, r.ResourceName, v)
			}
		}
	}
	if r := seen["cpu"].Readings; r[0].ResourceName != "cpu" || len(r) < 2 || r[1].ResourceName != "cpu0" {
		t.Errorf("cpu: %v", r)
	}
}

func TestFailedSensorIsRetried(t *testing.T) {
	calls := 0
	ctx, cancel := context.WithCancel(t.Context())
	out := newRecorder()
	flaky := sensor{name: "flaky", read: func(context.Context) ([]reading, error) {
		if calls++; calls == 1 {
			return nil, fmt.Errorf("not now")
		}
		if calls == 3 {
			cancel()
		}
		return []reading{{"r", "%", 1}}, nil
	}}
	Sensors{Host: "h", Interval: time.Millisecond, Log: slog.New(slog.DiscardHandler)}.follow(ctx, flaky, out)
	if n := len(out.all()); n == 0 {
		t.Error("nothing was published after the first failure")
	}
}

func TestMeter(t *testing.T) {
	var m meter
	at := time.Unix(100, 0)
	for _, c := range []struct {
		count uint64
		after time.Duration
		want  float64
		ok    bool
	}{{1000, 0, 0, false}, {1500, time.Second, 500, true}, {1500, time.Second, 0, true}, {10, time.Second, 0, false}, {30, 2 * time.Second, 10, true}} {
		at = at.Add(c.after)
		if got, ok := m.rate(c.count, at); got != c.want || ok != c.ok {
			t.Errorf("%d: got %v %v, want %v %v", c.count, got, ok, c.want, c.ok)
		}
	}
}

func TestWindow(t *testing.T) {
	var w window
	second := int64(time.Second)
	for i, c := range []struct {
		t    int64
		v    float64
		want float64
	}{{0, 10, 10}, {second, 20, 15}, {9 * second, 30, 20}, {10 * second, 40, 30}, {30 * second, 5, 5}, {29 * second, 7, 6}} {
		if got := w.add(c.t, c.v, 10*time.Second); got != c.want {
			t.Errorf("step %d: got %v, want %v", i, got, c.want)
		}
	}
	for i := range 3 * maxSamples {
		w.add(31*second+int64(i), 1, 10*time.Second)
	}
	if len(w.values) != maxSamples {
		t.Errorf("%d samples are kept, want %d", len(w.values), maxSamples)
	}
}

func simple(t *testing.T, source string, values ...string) edgex.Event {
	t.Helper()
	e := edgex.NewEvent("machine", "pump-1", source)
	for i, v := range values {
		if err := e.AddSimple("r"+strconv.Itoa(i), edgex.String, v); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

func TestAverages(t *testing.T) {
	for _, typ := range []ferry.Type{ferry.CBOR, ferry.JSON} {
		t.Run(typ.String(), func(t *testing.T) {
			a, out := new(Averages), newRecorder()
			c, err := codecOf(typ)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range []string{"1", "2.0e+00", "6"} {
				payload, err := c.Marshal(simple(t, "cpu", v, "no number", "NaN"))
				if err != nil {
					t.Fatal(err)
				}
				in := ferry.Message{Tag: "sensors/pump-1/cpu", Type: typ, Time: int64(i), Payload: payload}
				if err := a.Handle(t.Context(), &in, out); err != nil {
					t.Fatal(err)
				}
			}
			last := out.all()[2]
			e := event(t, last)
			if last.Tag != "averages/pump-1/cpu" || last.Type != typ || e.DeviceName != "pump-1" || e.SourceName != "cpu" {
				t.Errorf("got tag %s, type %v, event %+v", last.Tag, last.Type, e)
			}
			if len(e.Readings) != 1 || e.Readings[0].Value != "3e+00" || e.Readings[0].ResourceName != "r0" {
				t.Errorf("got readings %+v, want one of 3e+00", e.Readings)
			}
		})
	}
}

func TestAveragesRefuse(t *testing.T) {
	for _, c := range []struct {
		in   ferry.Message
		want string
	}{
		{ferry.Message{Tag: "other/cpu", Type: ferry.CBOR}, "want one below sensors/"},
		{ferry.Message{Tag: "sensors/a/cpu", Type: ferry.Raw, Payload: []byte("x")}, "want cbor or json"},
		{ferry.Message{Tag: "sensors/a/cpu", Type: ferry.CBOR, Payload: []byte{0xa1}}, "event on sensors/a/cpu"},
	} {
		if err := new(Averages).Handle(t.Context(), &c.in, newRecorder()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.in.Tag, err, c.want)
		}
	}
}

func TestAveragesAreBounded(t *testing.T) {
	var a Averages
	old := int64(time.Hour)
	for i := range maxWindows {
		if _, err := a.add("t", strconv.Itoa(i), old, 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.add("t", "more", old, 1); err == nil {
		t.Error("one more resource was accepted")
	}
	if _, err := a.add("t", "more", old+int64(time.Minute), 1); err != nil {
		t.Errorf("idle resources were not forgotten: %v", err)
	}
	if len(a.windows) != 1 {
		t.Errorf("%d windows, want 1", len(a.windows))
	}
}

func TestAlerts(t *testing.T) {
	a, out := new(Alerts), newRecorder()
	second := int64(time.Second)
	for _, c := range []struct {
		tag    string
		source ferry.SourceID
		time   int64
		want   int
	}{
		{"averages/a/cpu", 1, 100 * second, 1},
		{"averages/a/cpu", 1, 105 * second, 1}, // within the pause
		{"averages/a/memory", 1, 105 * second, 2},
		{"averages/a/cpu", 2, 105 * second, 3}, // of another source
		{"averages/a/cpu", 1, 110 * second, 4},
		{"averages/a/cpu", 1, 50 * second, 5}, // the clock was set back
	} {
		in := ferry.Message{Tag: c.tag, Source: c.source, Type: ferry.JSON, Time: c.time, Payload: []byte(`{"hot":1}`)}
		if err := a.Handle(t.Context(), &in, out); err != nil {
			t.Fatal(err)
		}
		if n := len(out.all()); n != c.want {
			t.Errorf("%s from %d at %v: %d alerts, want %d", c.tag, c.source, time.Duration(c.time), n, c.want)
		}
	}
	first := out.all()[0]
	if first.Tag != "alerts/a/cpu" || string(first.Payload) != `{"hot":1}` || first.Type != ferry.JSON {
		t.Errorf("got %+v", first)
	}
	bad := ferry.Message{Tag: "alerts/a/cpu"}
	if err := a.Handle(t.Context(), &bad, out); err == nil {
		t.Error("an alert was raised for an alert")
	}
}

func TestAlertsWhere(t *testing.T) {
	m := format.NewMatcher(formatcbor.Format{}, field.MustParsePredicate(AlertsWhere))
	holds := func(v any) bool {
		data, err := cbor.Codec{}.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		ok, _, err := m.Match(data)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	for _, c := range []struct {
		source string
		value  float64
		want   bool
	}{{"cpu", 80.1, true}, {"cpu", 80, false}, {"memory", 85, false}, {"memory", 95, true}, {"disk", 99, false}} {
		e := edgex.NewEvent("machine", "h", c.source)
		if err := addFloat(&e, "r", "%", c.value); err != nil {
			t.Fatal(err)
		}
		if got := holds(e); got != c.want {
			t.Errorf("%s %v: got %v, want %v", c.source, c.value, got, c.want)
		}
	}
	var documented any // the event in doc.go
	if err := (json.Codec{}).Unmarshal([]byte(`{"deviceName":"demo","sourceName":"cpu","readings":[{"resourceName":"cpu","value":"99"}]}`), &documented); err != nil {
		t.Fatal(err)
	}
	if !holds(documented) {
		t.Error("the event in doc.go raises no alert")
	}
}

func TestPercent(t *testing.T) {
	for _, c := range []struct{ part, whole, want float64 }{{1, 4, 25}, {0, 0, 0}, {5, 4, 100}, {-1, 4, 0}} {
		if got := percent(c.part, c.whole); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v of %v: got %v, want %v", c.part, c.whole, got, c.want)
		}
	}
}
