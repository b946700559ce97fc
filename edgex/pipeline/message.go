package pipeline

import (
	"errors"

	"example.com/ferry/edgex"
)

// Message is the message that a Step reads and changes.
type Message struct {
	config   Config
	data     []byte
	view     edgex.View
	opened   bool
	notEvent bool      // data is a batch or compressed bytes, not an event
	buffers  [2][]byte // memory for changed messages, used alternately because data may be in one of them
	next     int
}

func (m *Message) reset(data []byte) {
	m.data, m.opened, m.notEvent = data, false, false
}

// Bytes returns the encoded message.
func (m *Message) Bytes() []byte { return m.data }

// Event returns a view of the message. A step plans changes in the view, and the pipeline applies them when the step returns.
// If the message is a batch or compressed, Event returns an error.
func (m *Message) Event() (*edgex.View, error) {
	switch {
	case m.notEvent:
		return nil, errors.New("the message is no single event but a batch, or compressed: put this step before those that batch and compress")
	case m.opened:
		return &m.view, nil
	}
	if err := m.view.Open(m.data, m.config.MaxEvent); err != nil {
		return nil, err
	}
	m.opened = true
	return &m.view, nil
}

// SetEvent replaces the message with data, an event in any form. The pipeline uses data until its next Run or Flush.
func (m *Message) SetEvent(data []byte) { m.reset(data) }

// SetBytes replaces the message with data, which need not be an event. The pipeline uses data until its next Run or Flush.
func (m *Message) SetBytes(data []byte) {
	m.reset(data)
	m.notEvent = true
}

// rewrite calls write, which appends a message to the free one of the two buffers, and returns that message.
func (m *Message) rewrite(write func(dst []byte) ([]byte, error)) ([]byte, error) {
	out, err := write(m.buffers[m.next][:0])
	if err != nil {
		return nil, err
	}
	m.buffers[m.next] = out
	m.next = 1 - m.next
	return out, nil
}

// commit applies the changes that a step planned.
func (m *Message) commit() error {
	if !m.opened || m.notEvent || !m.view.Changed() {
		return nil
	}
	if done, err := m.view.InPlace(); done || err != nil {
		return err
	}
	out, err := m.rewrite(m.view.AppendTo)
	if err == nil {
		m.SetEvent(out)
	}
	return err
}
