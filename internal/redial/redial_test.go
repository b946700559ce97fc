package redial_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/internal/redial"
)

// TestPause follows the pause through failures and connections.
func TestPause(t *testing.T) {
	const unit = time.Second
	ended := func(lasted time.Duration) func(*redial.Pause) {
		return func(p *redial.Pause) { p.Ended(lasted) }
	}
	failed := func(*redial.Pause) {}
	for _, row := range []struct {
		name  string
		steps []func(*redial.Pause)
		want  []time.Duration // the middle of each pause
	}{
		{"failures", []func(*redial.Pause){failed, failed, failed, failed, failed}, []time.Duration{unit, 2 * unit, 4 * unit, 5 * unit, 5 * unit}},
		{"long connections", []func(*redial.Pause){failed, failed, ended(5 * unit), ended(5 * unit)}, []time.Duration{unit, 2 * unit, unit, unit}},
		{"as long as the pause", []func(*redial.Pause){failed, ended(2 * unit)}, []time.Duration{unit, 2 * unit}},
		{"longer than the pause, shorter than the longest", []func(*redial.Pause){failed, ended(2*unit + 1)}, []time.Duration{unit, unit}},
		{"short connections", []func(*redial.Pause){ended(0), ended(0), ended(0)}, []time.Duration{unit, 2 * unit, 4 * unit}},
		{"reset", []func(*redial.Pause){failed, failed, (*redial.Pause).Reset}, []time.Duration{unit, 2 * unit, unit}},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := redial.Pause{Min: unit, Max: 5 * unit}
			for i, step := range row.steps {
				step(&p)
				began := time.Now()
				p.Wait(t.Context(), nil)
				if waited, want := time.Since(began), row.want[i]; waited < want/2 || waited > want*3/2 {
					t.Errorf("%s: pause %d was %v, want %v to %v", row.name, i+1, waited, want/2, want*3/2)
				}
			}
		})
	}
}

// TestWaitEndsEarly ends the pause by what the caller waits for beside it, and by the context.
func TestWaitEndsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := redial.Pause{Min: time.Hour, Max: time.Hour}
		early := make(chan struct{}, 1)
		early <- struct{}{}
		began := time.Now()
		p.Wait(t.Context(), early)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		p.Wait(ctx, nil)
		redial.Wait(t.Context(), 0, nil)
		if waited := time.Since(began); waited != 0 {
			t.Errorf("waited %v, want no time", waited)
		}
	})
}
