package pipeline

import (
	"fmt"
	"time"
)

// Step processes one message. Run returns false if the next step must not run: a filter discarded the message, or a batch
// stores it.
type Step interface {
	Run(m *Message) (more bool, err error)
}

// Flusher is a Step that buffers messages.
type Flusher interface {
	Step

	// Flush replaces m with the buffered messages. It returns false if the step buffers none.
	Flush(m *Message) (more bool, err error)

	// Due returns the time at which Flush should be called. It returns false if the step buffers no message.
	Due() (time.Time, bool)
}

// StepFunc makes a function a Step.
type StepFunc func(m *Message) (bool, error)

// Run calls f.
func (f StepFunc) Run(m *Message) (bool, error) { return f(m) }

// Config configures a Pipeline. The zero value is safe for untrusted messages.
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

// New returns a Pipeline that runs steps in order. A nil c means defaults.
func New(c *Config, steps ...Step) *Pipeline {
	p := &Pipeline{steps: steps}
	if c != nil {
		p.message.config = *c
	}
	return p
}

// Run passes data, an event in any form, through the steps and returns the result. It returns false if a step discards or
// stores the message. It may change data in place. The result is data itself, or is valid until the next Run or Flush. Filters
// allocate nothing. A new ID of the same length allocates nothing either.
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

// run passes the message through the steps, starting at index first.
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

// Flush empties one step that buffers messages. It passes these messages through the steps after that one and returns the
// result. It returns false if no step buffers messages. Call Flush at the time that Due returns. Before the program ends, call
// it until it returns false.
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

// Due returns the earliest time at which a step needs Flush. It returns false if no step needs it.
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
