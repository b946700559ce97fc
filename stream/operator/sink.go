package operator

import (
	"context"
	"errors"
	"sync"

	"example.com/ferry"
)

// Sink is the end of a chain of operators. Run and Start take sinks.
type Sink struct {
	attach func(s *scope)
}

// Each calls f with each value and its time, in Unix nanoseconds. An error of f ends the run, but ErrDone ends only the stream: f wants no
// further values. ctx ends with the run.
func Each[T any](in Stream[T], f func(ctx context.Context, v T, at int64) error) Sink {
	return Sink{func(s *scope) {
		ctx, done := s.run.ctx, false
		var up upstream
		up = singly(s, in, func(v T, at int64) {
			if done { // an operator may still have values of this turn
				return
			}
			switch err := f(ctx, v, at); {
			case err == nil:
			case errors.Is(err, ErrDone):
				done = true
				up.stop()
			default:
				panic(failure{err})
			}
		}, func() {})
	}}
}

// ToChan sends each value to a channel, and closes it when the stream or the run has ended. While the channel is full, the run waits.
func ToChan[T any](in Stream[T], out chan<- T) Sink {
	return Sink{func(s *scope) {
		r := s.run
		end := sync.OnceFunc(func() { close(out) })
		r.closes = append(r.closes, end)
		in.connect(s, output[T]{
			next: func(v T, _ int64) {
				select {
				case out <- v:
				case <-r.ctx.Done():
					panic(failure{r.ctx.Err()})
				}
			},
			end: end,
		})
	}}
}

// Publish sends a message for each value. A message without a time gets that of the value. An error of message or of Send ends the run.
//
// With a Config.Store the state is stored after what was published: if out has a method Flush, as stream.Client has, its result is
// awaited first. After a crash the last messages may be published again.
func Publish[T any](in Stream[T], out ferry.Sender, message func(T) (ferry.Message, error)) Sink {
	each := Each(in, func(ctx context.Context, v T, at int64) error {
		m, err := message(v)
		if err != nil {
			return err
		}
		if m.Time == 0 {
			m.Time = at
		}
		return out.Send(ctx, m)
	})
	return Sink{func(s *scope) {
		if f, ok := out.(interface{ Flush(context.Context) error }); ok {
			s.run.flushes = append(s.run.flushes, f.Flush)
		}
		each.attach(s)
	}}
}
