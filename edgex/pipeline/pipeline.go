package pipeline

import (
	"fmt"
	"time"
)

// Step processes one message. Run returns false if the message goes no further: a filter discarded it, or it waits in a batch.
type Step interface {
	Run(m *Message) (more bool, err error)
}

// Flusher is a Step that buffers messages.
type Flusher interface {
	Step

	// Flush makes m the buffered messages; false if there are none.
	Flush(m *Message) (more bool, err error)

	// Due returns the time at which Flush should be called; false if there is none.
	Due() (time.Time, bool)
}

// StepFunc is a function as a Step.
type StepFunc func(m *Message) (bool, error)

// Run calls f.
func (f StepFunc) Run(m *Message) (bool, error) { return f(m) }

// Config configures a Pipeline. The zero value is safe for messages from outside.
type Config struct {
	// MaxEvent bounds a message, in bytes. Zero means edgex.MaxEvent.
	MaxEvent int `yaml:"max_event,omitempty"`

	// Trusted skips validation, for messages that were validated before. Without validation, consumers may read a message in
	// another way than a filter, which reads only its beginning.
	Trusted bool `yaml:"trusted,omitempty"`
}

// Pipeline runs messages through steps. It is not safe for use by several goroutines.
type Pipeline struct {
	steps   []Step
	message Message
}

// New returns a Pipeline of steps, in order. A nil c means defaults.
func New(c *Config, steps ...Step) *Pipeline {
	p := &Pipeline{steps: steps}
	if c != nil {
		p.message.config = *c
	}
	return p
}

// Run passes data, an event in any form, through the steps and returns the result; false if there is none. It may change data in
// place. The result is data itself, or is valid until the next Run or Flush. Filters, and IDs of the same length, allocate
// nothing.
func (p *Pipeline) Run(data []byte) (out []byte, ok bool, err error) {
	m := &p.message
	m.reset(data)
	if !m.config.Trusted {
		v, err := m.Event()
		if err == nil {
			err = v.Validate()
		}
		if err != nil {
			return nil, false, fmt.Errorf("pipeline: %w", err)
		}
	}
	return p.run(0)
}

// run passes the message through the steps from index first on.
func (p *Pipeline) run(first int) (out []byte, ok bool, err error) {
	for i, s := range p.steps[first:] {
		more, err := s.Run(&p.message)
		if err == nil && more {
			err = p.message.commit()
		}
		if err != nil {
			return nil, false, fmt.Errorf("pipeline: step %d: %w", first+i+1, err)
		}
		if !more {
			return nil, false, nil
		}
	}
	return p.message.data, true, nil
}

// Flush passes the messages that a step buffers through the steps behind it and returns the result; false if no step buffers
// any. Call it at the time that Due returns, and before the end until it returns false.
func (p *Pipeline) Flush() (out []byte, ok bool, err error) {
	for i, s := range p.steps {
		f, keeps := s.(Flusher)
		if !keeps {
			continue
		}
		p.message.reset(nil)
		more, err := f.Flush(&p.message)
		if err != nil {
			return nil, false, fmt.Errorf("pipeline: flush step %d: %w", i+1, err)
		}
		if !more {
			continue
		}
		if out, ok, err = p.run(i + 1); ok || err != nil {
			return out, ok, err
		}
	}
	return nil, false, nil
}

// Due returns the earliest time at which a step needs Flush; false if none does.
func (p *Pipeline) Due() (at time.Time, ok bool) {
	for _, s := range p.steps {
		if f, keeps := s.(Flusher); keeps {
			if t, due := f.Due(); due && (!ok || t.Before(at)) {
				at, ok = t, true
			}
		}
	}
	return at, ok
}
