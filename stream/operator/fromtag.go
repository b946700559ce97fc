package operator

import (
	"context"
	"errors"

	"example.com/ferry"
	"example.com/ferry/stream"
)

// FromTag has the messages that a function observes, decoded. f has no Handler. What decode returns must not refer to the payload of the
// message; a message that it cannot decode is dropped and counted. The stream has no end. EventTime with nil takes the times of the
// messages.
//
// With a Config.Store, f.From must be set: the run reads a stored stream, with one filter of tags. Started again, it goes on behind the
// last message that is in its state.
func FromTag[T any](client *stream.Client, f stream.Function, decode func(*ferry.Message) (T, error)) Stream[T] {
	return Stream[T]{func(s *scope, to output[T]) upstream {
		r := s.run
		replays := f.From != stream.From{} && f.Durable == ""
		check(f.Handler == nil, func() error {
			return errors.New("FromTag of a function with a Handler: the operators handle the messages")
		})
		check(r.state.store == nil || replays && len(f.Observe) == 1, func() error {
			return errors.New("the state cannot be stored together with its position: FromTag needs From, one filter of tags, and no Durable")
		})
		o := &tagSource[T]{in: NewInput[T](), run: r, decode: decode, replays: replays}
		return o.in.attach(s, to, func(src *source) error {
			observe := f
			observe.Handler = o
			if replays {
				observe.Concurrency = 1 // the order of the sequence numbers
				if last := o.in.Last(); last > 0 {
					observe.From = stream.FromSequence(last + 1)
				}
			}
			return client.Run(src.ctx, observe)
		})
	}}
}

// tagSource handles the messages of a function.
type tagSource[T any] struct {
	in      *Input[T]
	run     *Running
	decode  func(*ferry.Message) (T, error)
	replays bool
	began   bool // a message has come
}

var _ ferry.BatchHandler = (*tagSource[int])(nil)

// Handle passes one message to the operators.
func (o *tagSource[T]) Handle(_ context.Context, in *ferry.Message, _ ferry.Sender) error {
	return o.run.enter(o.in.src, func() { o.pass(in, o.in.push) })
}

// HandleBatch passes messages to the operators in one turn.
func (o *tagSource[T]) HandleBatch(_ context.Context, in []ferry.Message, _ ferry.Sender) error {
	return o.run.enter(o.in.src, func() {
		for i := range in {
			o.pass(&in[i], o.in.gather)
		}
		o.in.passGathered()
	})
}

// pass decodes a message, and passes it on by push or gather of the Input.
func (o *tagSource[T]) pass(m *ferry.Message, push func(v T, at int64, sequence uint64)) {
	if o.replays && !o.began {
		o.began = true
		o.in.last = min(o.in.last, m.Sequence-1) // a restored stream may end before the messages that the state has
	}
	v, err := o.decode(m)
	if err != nil {
		o.run.malformed(m.Tag, err)
		return
	}
	sequence := m.Sequence
	if !o.replays {
		sequence = 0
	}
	push(v, m.Time, sequence)
}
