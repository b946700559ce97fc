package pipeline

import (
	"errors"

	"example.com/ferry/edgex"
)

// Message is what a Step works on.
type Message struct {
	config Config
	data   []byte
	view   edgex.View
	opened bool
	other  bool      // data is no event any more
	spare  [2][]byte // where changed messages are written, in turn: data may lie in the one of them that is not next
	next   int
}

func (m *Message) reset(data []byte) {
	m.data, m.opened, m.other = data, false, false
}

// Bytes returns the message as it is.
func (m *Message) Bytes() []byte { return m.data }

// Event returns a view of the message. Changes planned there are carried out when the step returns. A message that is a
// batch, or compressed, is an error.
func (m *Message) Event() (*edgex.View, error) {
	switch {
	case m.other:
		return nil, errors.New("the message is no single event in plain any more: put this step before those that batch and compress")
	case m.opened:
		return &m.view, nil
	}
	if err := m.view.Open(m.data, m.config.MaxEvent); err != nil {
		return nil, err
	}
	m.opened = true
	return &m.view, nil
}

// SetEvent makes data, an event in any form, the message. data is kept until the pipeline's next Run or Flush.
func (m *Message) SetEvent(data []byte) { m.reset(data) }

// SetBytes makes data, which is no event, the message. data is kept until the pipeline's next Run or Flush.
func (m *Message) SetBytes(data []byte) {
	m.reset(data)
	m.other = true
}

// rewrite has write append a new message to a buffer that is used again.
func (m *Message) rewrite(write func(dst []byte) ([]byte, error)) ([]byte, error) {
	out, err := write(m.spare[m.next][:0])
	if err != nil {
		return nil, err
	}
	m.spare[m.next] = out
	m.next = 1 - m.next
	return out, nil
}

// commit carries out what a step planned.
func (m *Message) commit() error {
	if !m.opened || m.other || !m.view.Changed() {
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
