package pipeline

import (
	"fmt"
	"time"
)

// Step is one thing that is done to a message. It returns false if the message ends here: it was filtered out, or waits
// in a batch.
type Step interface {
	Run(m *Message) (more bool, err error)
}

// Flusher is a Step that keeps messages for later.
type Flusher interface {
	Step

	// Flush makes m what was kept so far; false if nothing was.
	Flush(m *Message) (more bool, err error)

	// Due returns when it wants to be flushed; false if it does not.
	Due() (time.Time, bool)
}

// StepFunc is a function as a Step.
type StepFunc func(m *Message) (bool, error)

// Run calls f.
func (f StepFunc) Run(m *Message) (bool, error) { return f(m) }

// Config bounds what a Pipeline takes. The zero value is safe for bytes from outside.
type Config struct {
	// MaxEvent is the size of the largest message that is read, in bytes. Zero means edgex.MaxEvent.
	MaxEvent int `yaml:"max_event,omitempty"`

	// Trusted has messages taken as they come, where they were validated before: a filter reads the beginning of a message
	// only, and consumers may read the rest in another way.
	Trusted bool `yaml:"trusted,omitempty"`
}

// Pipeline runs messages through steps. It is not safe for use by several goroutines.
type Pipeline struct {
	steps   []Step
	message Message
}

// New makes a Pipeline of steps, in order. nil means the default Config.
func New(c *Config, steps ...Step) *Pipeline {
	p := &Pipeline{steps: steps}
	if c != nil {
		p.message.config = *c
	}
	return p
}

// Run runs data, an event in any form, through the steps, and returns what comes out; false if nothing does. data may be
// changed in place. The result is data itself, or is valid until the next Run or Flush. Nothing is allocated for a
// message that is filtered, or given an identity of the same length.
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

// run is Run from the step at first on.
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

// Flush runs what a step kept through the steps behind it, and returns what comes out; false once nothing is kept. It is
// called when Due says so, and until it returns false before the Pipeline is given up.
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

// Due returns when Flush should be called, the earliest that a step asks for; false if none does.
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
