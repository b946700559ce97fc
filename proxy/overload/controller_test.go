package overload

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

const tick = 100 * time.Millisecond

func newController() *controller {
	return &controller{limits: limits{memory: 1000, lag: time.Second, connections: 1000}}
}

// TestLevels takes samples one after another. A row is one sample, repeated, and the level after the last repetition.
func TestLevels(t *testing.T) {
	type row struct {
		memory int64
		lag    time.Duration
		conns  int64
		times  int
		want   Level
		share  float64
	}
	for name, rows := range map[string][]row{
		"idle": {{0, 0, 0, 1, Normal, 0}, {849, 499 * time.Millisecond, 899, 100, Normal, 0}},
		"memory up and down": {
			{899, 0, 0, 1, Normal, 0},
			{900, 0, 0, 1, Shrinking, 0},
			{851, 0, 0, 100, Shrinking, 0},
			{930, 0, 0, 1, RefusingRequests, leastShare},
			{950, 0, 0, 1, RefusingRequests, 0.5},
			{970, 0, 0, 1, RefusingConnections, 1},
			{941, 0, 0, 100, RefusingConnections, 0.275},
			{939, 0, 0, 1, RefusingRequests, 0.235},
			{929, 0, 0, 5, RefusingRequests, 0.035},
			{929, 0, 0, 1, Shrinking, 0},
			{849, 0, 0, 1, Normal, 0},
		},
		"memory at once":    {{2000, 0, 0, 1, RefusingConnections, 1}, {0, 0, 0, 1, RefusingRequests, 0.96}, {0, 0, 0, 24, Normal, 0}},
		"connections":       {{0, 0, 949, 1, Normal, 0}, {0, 0, 950, 1, Shrinking, 0}, {0, 0, 901, 9, Shrinking, 0}, {0, 0, 899, 1, Normal, 0}, {0, 0, 5000, 1, Shrinking, 0}},
		"memory keeps conn": {{900, 0, 950, 1, Shrinking, 0}, {0, 0, 920, 1, Shrinking, 0}, {0, 0, 0, 1, Normal, 0}},
		"late loops": {
			{0, time.Second, 0, 1, RefusingRequests, 0.04},
			{0, time.Second, 0, 14, RefusingRequests, 0.6},
			{0, time.Hour, 0, 2, RefusingRequests, 0.92},
			{0, time.Second, 0, 2, RefusingConnections, 1},
			{0, 600 * time.Millisecond, 0, 50, RefusingConnections, 1},
			{0, 499 * time.Millisecond, 0, 1, RefusingRequests, 0.99},
			{0, 0, 0, 98, RefusingRequests, 0.01},
			{0, 0, 0, 1, Normal, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newController()
			for i, r := range rows {
				var level Level
				var share float64
				for range r.times {
					level, share = c.step(Sample{r.memory, r.lag, r.conns}, tick)
				}
				if level != r.want || math.Abs(share-r.share) > 1e-9 {
					t.Fatalf("row %d: %v, share %v, want %v, share %v", i, level, share, r.want, r.share)
				}
			}
		})
	}
}

// TestUnwatched: a limit of 0 means that the value does not matter.
func TestUnwatched(t *testing.T) {
	var c controller
	for range 20 {
		if level, share := c.step(Sample{1 << 50, time.Hour, 1 << 40}, tick); level != Normal || share != 0 {
			t.Fatalf("%v, share %v", level, share)
		}
	}
}

// TestRandomSamples: whatever the samples, a level comes with what belongs to it, and calm samples lead back to Normal.
func TestRandomSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		c := newController()
		for range 200 {
			s := Sample{rng.Int64N(1100), time.Duration(rng.Int64N(int64(2 * time.Second))), rng.Int64N(1100)}
			level, share := c.step(s, time.Duration(rng.Int64N(int64(3*time.Second))))
			if share < 0 || share > 1 || (level < RefusingRequests) != (share == 0 && !c.closing) || s.Memory >= 970 && level != RefusingConnections || s.Memory >= 900 && !c.shrinking {
				t.Fatalf("%+v: %v, share %v", s, level, share)
			}
		}
		level, share := Normal, 0.0
		for range 101 {
			level, share = c.step(Sample{}, tick)
		}
		if level != Normal || share != 0 {
			t.Fatalf("after calm: %v, share %v", level, share)
		}
	}
}

// TestLoadDoesNotSwing simulates a process in which memory follows the admitted load, of which twice as much is offered as it
// can take. The share settles: the admitted load does not swing between all and nothing.
func TestLoadDoesNotSwing(t *testing.T) {
	for _, resource := range []string{"memory", "lag"} {
		c := newController()
		var held [20]float64 // requests last for 20 ticks
		share, least, most := 0.0, math.Inf(1), 0.0
		for i := range 600 {
			admitted := 2.0 * (1 - share)
			held[i%len(held)] = admitted
			sum := 0.0
			for _, h := range held {
				sum += h
			}
			load := sum / float64(len(held)) // 1 is what the process can take
			s := Sample{Memory: int64(950 * load)}
			if resource == "lag" {
				s = Sample{Lag: time.Duration(load * 0.9 * float64(time.Second))}
			}
			_, share = c.step(s, tick)
			if i >= 300 {
				least, most = min(least, load), max(most, load)
			}
		}
		if least < 0.3 || most > 1.25 {
			t.Errorf("%s: the load is between %.2f and %.2f of what the process can take", resource, least, most)
		}
		t.Logf("%s: load between %.2f and %.2f", resource, least, most)
	}
}
