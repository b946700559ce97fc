package node

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// vitalsRig has the clocks and descriptors of a vitals in the test's hand.
type vitalsRig struct {
	*vitals
	log           bytes.Buffer
	elapsed, wall time.Duration
	short         bool
}

func newVitalsRig() *vitalsRig {
	r := &vitalsRig{elapsed: time.Hour, wall: 400_000 * time.Hour}
	r.vitals = &vitals{
		log:     slog.New(slog.NewTextHandler(&r.log, nil)),
		elapsed: func() int64 { return int64(r.elapsed) }, wall: func() int64 { return int64(r.wall) }, short: func() bool { return r.short },
	}
	r.lastElapsed, r.lastWall = int64(r.elapsed), int64(r.wall)
	return r
}

// pass lets time pass until the next look, in which the wall clock makes a step, too. It returns what was logged.
func (r *vitalsRig) pass(d, step time.Duration) string {
	r.elapsed += d
	r.wall += d + step
	r.look()
	text := r.log.String()
	r.log.Reset()
	return text
}

func TestVitals(t *testing.T) {
	r := newVitalsRig()
	for _, row := range []struct {
		name    string
		passed  time.Duration
		step    time.Duration
		want    string // in the log; empty means no line
		stalls  uint64
		stalled time.Duration
		jumps   uint64
	}{
		{"a second", time.Second, 0, "", 0, 0, 0},
		{"a late look", 3 * time.Second, 0, "", 0, 0, 0},
		{"stopped", 31 * time.Second, 0, "stood still", 1, 30 * time.Second, 0},
		{"the clock is corrected", time.Second, -time.Second, "", 1, 30 * time.Second, 0},
		{"an hour ahead", time.Second, time.Hour, "direction=forwards by=1h0m0s", 1, 30 * time.Second, 1},
		{"days back", time.Second, -72 * time.Hour, "direction=back by=72h0m0s", 1, 30 * time.Second, 2},
		{"both", 11 * time.Second, 24 * time.Hour, "stood still", 2, 40 * time.Second, 3},
		{"after that", time.Second, 0, "", 2, 40 * time.Second, 3},
	} {
		got := r.pass(row.passed, row.step)
		if (got == "") != (row.want == "") || !strings.Contains(got, row.want) {
			t.Errorf("%s: logged %q, want %q", row.name, got, row.want)
		}
		if v := r.load(); v.Stalls != row.stalls || v.Stalled != row.stalled || v.ClockJumps != row.jumps {
			t.Errorf("%s: %+v, want %d stalls of %v, %d jumps", row.name, v, row.stalls, row.stalled, row.jumps)
		}
	}
}

// TestVitalsDescriptors: a shortage is named when it begins and when it has been over for a while, not in between.
func TestVitalsDescriptors(t *testing.T) {
	r := newVitalsRig()
	for i := range 100 {
		r.short = i%3 != 0 // clients leave now and then, and others take their place
		text := r.pass(time.Second, 0)
		if want := i == 1; strings.Contains(text, "few descriptors are left") != want {
			t.Errorf("after %d s: logged %q", i, text)
		}
	}
	r.short = false
	for i := range 20 {
		text := r.pass(time.Second, 0)
		if ended := strings.Contains(text, "descriptors are free again"); ended != (i == 1) {
			t.Errorf("%d s after the last shortage: logged %q", i+2, text)
		}
	}
	if v := r.load(); v.Shortages != 1 || v.DescriptorsShort {
		t.Errorf("%+v, want one shortage, which has ended", v)
	}
}
