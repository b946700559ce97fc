package operator

import (
	"context"
	"errors"
	"time"
)

// source is where values enter a run. It ends when read returns, or when no operator wants further values.
type source struct {
	run    *Running
	ctx    context.Context // ends with the source
	cancel context.CancelFunc
	read   func(*source) error // passes values by calls of Running.enter, until its error
	end    func()              // ends the stream
	fail   failing
	again  repeats
	ended  bool
}

// repeats says whether a source whose read has returned is read again, and after which pause.
type repeats func(err error, ran time.Duration) (pause time.Duration, again bool)

// newRepeats makes the repeats of one source.
type newRepeats func() repeats

// newSource adds a source to the run.
func (s *scope) newSource(end func(), read func(*source) error) *source {
	r := s.run
	check(!r.started && !s.template, func() error { return errors.New("a source within a group of GroupBy: merge it before") })
	src := &source{run: r, read: read, end: end, fail: s.fail}
	src.ctx, src.cancel = context.WithCancel(r.ctx)
	if s.again != nil {
		src.again = s.again()
	}
	r.open++
	s.start(src.start)
	return src
}

// start calls f when the sources of the scope start: for a group that is made later, at once.
func (s *scope) start(f func()) {
	switch {
	case s.template:
	case s.run.started:
		f()
	case s.held != nil:
		*s.held = append(*s.held, f)
	default:
		s.run.starts = append(s.run.starts, f)
	}
}

func (src *source) upstream() upstream { return upstream{src.run.wallClock(), src.stop} }

// start reads the source in a goroutine of its own. The caller is in the run.
func (src *source) start() {
	if !src.ended {
		go src.readAll()
	}
}

// readAll reads the source until it has ended.
func (src *source) readAll() {
	for {
		began := src.run.now()
		panicked := true
		err := src.run.guard(func() error {
			err := src.read(src)
			panicked = false
			return err
		})
		if src.ctx.Err() != nil {
			return
		}
		again, pause := false, time.Duration(0)
		if src.again != nil {
			pause, again = src.again(err, time.Duration(src.run.now()-began))
		}
		if !again {
			src.finish(err, panicked)
			return
		}
		select {
		case <-time.After(pause):
		case <-src.ctx.Done():
			return
		}
	}
}

// finish ends the source when it has no further values, or has failed. A panic ends the run, whatever handles the errors.
func (src *source) finish(err error, panicked bool) {
	_ = src.run.enter(src, func() { // the error is the run's
		switch {
		case panicked:
			panic(failure{err})
		case err != nil:
			src.fail.handle(err, src.run.wall.now)
		}
		src.stop()
	})
}

// stop ends the source. Its stream ends behind the turn, because operators may be in the midst of its values.
func (src *source) stop() {
	if src.ended {
		return
	}
	src.ended = true
	src.cancel()
	src.run.behindTurn(func() {
		src.end()
		src.run.open--
	})
}
