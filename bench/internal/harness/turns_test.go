package harness

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// clock is a fake reader of the CPU use on a machine with two cores. Each pair of reads is one second apart, and in each second
// the next number of cores is taken.
type clock struct {
	taken []float64
	reads int
	now   Usage
}

func (c *clock) read() (Usage, error) {
	if c.reads%2 == 1 {
		c.now.at = c.now.at.Add(time.Second)
		taken := c.taken[min(c.reads/2, len(c.taken)-1)]
		c.now.idle += time.Duration((2 - taken) * float64(time.Second))
		c.now.steal += time.Duration(taken / 2 * float64(time.Second))
	}
	c.reads++
	return c.now, nil
}

func newClock(taken ...float64) *clock { return &clock{taken: taken, now: Usage{cores: 2}} }

func TestDisturbedMeasurements(t *testing.T) {
	late := func(f Figures) bool { return f["late"] > 0 }
	for _, row := range []struct {
		name      string
		taken     []float64 // cores that are taken from the measurements, in their order
		figures   []Figures
		measured  int
		disturbed int
		value     float64
	}{
		{"calm", []float64{0.1}, []Figures{{NsPerOp: 1}}, 1, 0, 1},
		{"disturbed once", []float64{0.9, 0.1}, []Figures{{NsPerOp: 9}, {NsPerOp: 1}}, 2, 0, 1},
		{"always: the calmest one counts", []float64{0.9, 0.5, 0.7}, []Figures{{NsPerOp: 9}, {NsPerOp: 5}, {NsPerOp: 7}}, 3, 1, 5},
		{"its own window was calm", []float64{0.9}, []Figures{{NsPerOp: 1, Foreign: 0.1}}, 1, 0, 1},
		{"a late generator", []float64{0}, []Figures{{NsPerOp: 9, "late": 1}, {NsPerOp: 1}}, 2, 0, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			measured := 0
			q := Question{Name: "ask", Unit: NsPerOp, Better: Lower, Cases: []string{"one"}, Disturbed: late, Contenders: []Contender{
				{Name: "ferry", Kind: Ferry, Measure: func(string, time.Duration) (Figures, error) {
					measured++
					time.Sleep(100 * time.Millisecond) // the resolution of CPU times in /proc is 20 ms
					return row.figures[min(measured, len(row.figures))-1], nil
				}},
			}}
			turns := &turns{q: q, budget: time.Microsecond, usage: newClock(row.taken...).read}
			r, err := turns.measureRound(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			if measured != row.measured || r.disturbed != row.disturbed || r.measured != 1 {
				t.Errorf("got %d attempts, %d of %d disturbed, want %d, %d of 1", measured, r.disturbed, r.measured, row.measured, row.disturbed)
			}
			if got := r.figures["ferry"]["one"][NsPerOp]; got != row.value {
				t.Errorf("got %v, want %v", got, row.value)
			}
		})
	}
}

func TestRoundsSayWhatWasTaken(t *testing.T) {
	turns := &turns{q: example(), budget: time.Microsecond, once: true, usage: newClock(0.1, 0.3).read}
	r, err := turns.measureRound(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.figures["peer"]["one"][Foreign]; math.Abs(got-0.3) > 1e-6 {
		t.Errorf("the peer: got %v cores taken, want 0.3", got)
	}
	r.wall, r.foreign, r.steal = 2, 0.4, 0.2
	got := summarize([]round{r, r})
	if want := (Rounds{Counted: 2, Run: 2, Measurements: 4, Foreign: 0.2, Steal: 0.1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if text := got.String(); !strings.Contains(text, "took 0.20 cores on average, of which the hypervisor took 0.10; 0 of 4") {
		t.Errorf("got %q", text)
	}
}

// fakeSession counts its slices.
type fakeSession struct {
	name   string
	slices int
	log    *[]string
}

func (s *fakeSession) Run(time.Duration) error {
	s.slices++
	*s.log = append(*s.log, s.name)
	return nil
}

func (s *fakeSession) Figures() (Figures, error) { return Figures{NsPerOp: float64(s.slices)}, nil }

func (s *fakeSession) Close() { *s.log = append(*s.log, "end of "+s.name) }

func TestSessionsTakeTurns(t *testing.T) {
	var log []string
	open := func(name string) Contender {
		return Contender{Name: name, Kind: Ferry, Open: func(c string) (Session, error) {
			if c == "none" {
				return nil, nil
			}
			log = append(log, "start of "+name)
			return &fakeSession{name: name, log: &log}, nil
		}}
	}
	q := Question{Name: "ask", Unit: NsPerOp, Better: Lower, Cases: []string{"one", "none"}, Contenders: []Contender{open("a"), open("b")}}
	turns := &turns{q: q, budget: time.Microsecond, usage: idle}
	r, err := turns.measureRound(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	want := "start of a, start of b" + strings.Repeat(", a, b, b, a", slicesPerRound/2) + ", end of a, end of b"
	if got := strings.Join(log, ", "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(r.figures) != 2 || r.figures["b"]["one"][NsPerOp] != slicesPerRound || r.figures["b"]["none"] != nil {
		t.Errorf("got %v", r.figures)
	}
	log = nil
	if f, err := q.Contenders[0].measureOnce("one", time.Microsecond); err != nil || f[NsPerOp] != slicesPerRound || !slices.Contains(log, "end of a") {
		t.Errorf("alone: got %v, %v, log %v", f, err, log)
	}
}
