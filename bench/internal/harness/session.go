package harness

import (
	"context"
	"fmt"
	"time"
)

// Session is a contender that was started for one case and stays ready between its slices, for example a proxy with its
// client and its backend. The harness starts all contenders of a case that have sessions, and measures them in turn for a
// short slice each: A B C, A B C. So what disturbs the machine for a second disturbs all of them.
type Session interface {
	// Run measures a slice of about d. A session does not use the CPU between its slices.
	Run(d time.Duration) error
	// Figures returns the figures of all slices so far.
	Figures() (Figures, error)
	Close()
}

// opened is the session of one contender.
type opened struct {
	contender Contender
	session   Session
}

// runSessions measures the contenders that have sessions in a case.
func (t *turns) runSessions(ctx context.Context, name string, order []Contender) (err error) {
	var all []opened
	defer func() {
		for _, o := range all {
			o.session.Close()
		}
	}()
	failed := func(c Contender, err error) error { return fmt.Errorf("%s: %s, %s: %w", t.q.Name, c.Name, name, err) }
	for _, c := range order {
		if c.Open == nil {
			continue
		}
		s, err := c.Open(name)
		if err != nil {
			return failed(c, err)
		}
		if s != nil {
			all = append(all, opened{c, s})
		}
	}
	foreign := make([]float64, len(all))
	wall := make([]time.Duration, len(all))
	for slice := range slicesPerRound {
		for i := range all {
			if slice%2 == 1 {
				i = len(all) - 1 - i
			}
			if ctx.Err() != nil {
				return errInterrupted
			}
			took, err := t.watch(func() error { return all[i].session.Run(sliceTime(t.budget)) })
			if err != nil {
				return failed(all[i].contender, err)
			}
			foreign[i] += took.foreign * took.wall.Seconds()
			wall[i] += took.wall
		}
	}
	for i, o := range all {
		f, err := o.session.Figures()
		if err != nil {
			return failed(o.contender, err)
		}
		f[Foreign] = foreign[i] / wall[i].Seconds()
		t.round.measured++
		if t.q.disturbed(f, wall[i]/slicesPerRound) {
			t.round.disturbed++
		}
		t.round.set(o.contender.Name, name, f)
	}
	return nil
}

// sliceTime is the duration of one slice.
func sliceTime(budget time.Duration) time.Duration { return budgetsPerSlice * budget }

// measureOnce measures a contender in a case, without the other contenders. Nil Figures mean that it does not take part.
func (c Contender) measureOnce(name string, budget time.Duration) (Figures, error) {
	if c.Measure != nil {
		return c.Measure(name, budget)
	}
	s, err := c.Open(name)
	if err != nil || s == nil {
		return nil, err
	}
	defer s.Close()
	for range slicesPerRound {
		if err := s.Run(sliceTime(budget)); err != nil {
			return nil, err
		}
	}
	return s.Figures()
}
