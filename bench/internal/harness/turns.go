package harness

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Foreign is the figure that holds how many cores were taken from a measurement: by other programs, and by the hypervisor
// (steal). The harness adds it to each measurement, unless the contender has measured it itself, within its window.
const Foreign = "cores used by others"

// ForeignLimit is a number of cores. A measurement is disturbed if more were taken from it.
const ForeignLimit = 0.15

const (
	foreignResolution = 20 * time.Millisecond // of CPU times in /proc, for a difference of two
	tries             = 3                     // maximum number of attempts if a measurement is disturbed
	slicesPerRound    = 10                    // of each session
	budgetsPerSlice   = 4                     // 200 ms with the default budget
)

// round holds one measurement of each contender in each case.
type round struct {
	figures   map[string]map[string]Figures
	measured  int     // number of measurements
	disturbed int     // number of measurements that stayed disturbed
	wall      float64 // seconds of all attempts
	foreign   float64 // cores that were taken, times seconds
	steal     float64 // the part of foreign that the hypervisor took
}

func (r *round) set(row, name string, f Figures) {
	if r.figures[row] == nil {
		r.figures[row] = make(map[string]Figures)
	}
	r.figures[row][name] = f
}

// turns measures all contenders in turn.
type turns struct {
	q      Question
	budget time.Duration
	once   bool                  // no measurement is repeated
	usage  func() (Usage, error) // reads what the run and the others have used
	round  round                 // the current round
}

// measureRound measures each contender in each case once. The contenders of one case take turns. Every second round begins
// with the last contender, so that no row always has the same predecessor.
func (t *turns) measureRound(ctx context.Context, backwards bool) (round, error) {
	t.round = round{figures: make(map[string]map[string]Figures)}
	for _, name := range t.q.Cases {
		order := t.q.measuredIn(backwards)
		if err := t.runSessions(ctx, name, order); err != nil {
			return t.round, err
		}
		for _, c := range order {
			if c.Measure == nil {
				continue
			}
			if ctx.Err() != nil {
				return t.round, errInterrupted
			}
			f, err := t.measure(ctx, c, name)
			if err != nil {
				return t.round, fmt.Errorf("%s: %s, %s: %w", t.q.Name, c.Name, name, err)
			}
			if f != nil {
				t.round.set(c.Name, name, f)
			}
		}
	}
	return t.round, nil
}

var errInterrupted = errors.New("interrupted: nothing was written")

// measuredIn returns the contenders that are not recorded.
func (q *Question) measuredIn(backwards bool) []Contender {
	var all []Contender
	for _, c := range q.Contenders {
		switch {
		case c.Recorded != nil:
		case backwards:
			all = append([]Contender{c}, all...)
		default:
			all = append(all, c)
		}
	}
	return all
}

// measure measures a contender in a case. It repeats a disturbed measurement, and returns the attempt from which least was
// taken.
func (t *turns) measure(ctx context.Context, c Contender, name string) (best Figures, err error) {
	disturbed := false
	for range tries {
		var f Figures
		took, err := t.watch(func() (err error) {
			f, err = c.Measure(name, t.budget)
			return err
		})
		if err != nil || f == nil {
			return nil, err
		}
		if _, ok := f[Foreign]; !ok && took.known {
			f[Foreign] = took.foreign
		}
		disturbed = t.q.disturbed(f, took.wall)
		if best == nil || !disturbed || f[Foreign] < best[Foreign] {
			best = f
		}
		if !disturbed || t.once || ctx.Err() != nil {
			break
		}
	}
	t.round.measured++
	if disturbed {
		t.round.disturbed++
	}
	return best, nil
}

// disturbed reports whether too much was taken from a measurement that took a time, or whether the question's own rule says so.
func (q *Question) disturbed(f Figures, wall time.Duration) bool {
	allowed := ForeignLimit + foreignResolution.Seconds()/max(wall, time.Millisecond).Seconds()
	return f[Foreign] > allowed || q.Disturbed != nil && q.Disturbed(f)
}

// taken is what was taken from the run during a time.
type taken struct {
	wall    time.Duration
	known   bool
	foreign float64 // cores
}

// watch calls work, and adds what was taken meanwhile to the round.
func (t *turns) watch(work func() error) (taken, error) {
	start := time.Now()
	before, errBefore := t.usage()
	err := work()
	after, errAfter := t.usage()
	took := taken{wall: time.Since(start), known: errors.Join(errBefore, errAfter) == nil}
	t.round.wall += took.wall.Seconds()
	if took.known {
		_, took.foreign = before.Until(after)
		t.round.foreign += took.foreign * took.wall.Seconds()
		t.round.steal += before.StealUntil(after) * took.wall.Seconds()
	}
	return took, err
}
