package pipeline

import (
	"errors"
	"fmt"
	"time"

	"example.com/ferry/internal/cborhead"
)

// BatchConfig bounds a batch. A batch is complete when it reaches one of the bounds.
type BatchConfig struct {
	// Count is the number of events in a batch. Zero means any number.
	Count int `yaml:"count,omitempty"`

	// Bytes bounds the total size of a batch's events; a larger event is a batch by itself. Zero means 1 MiB.
	Bytes int `yaml:"bytes,omitempty"`

	// Interval bounds how long the first event of a batch waits. Zero means until the batch is full. The Pipeline has no
	// clock: its owner calls Flush at the time that Due returns.
	Interval time.Duration `yaml:"interval,omitempty"`
}

// Batch collects events in a batch. When the batch is complete, it replaces the message: an array in the format of the events.
// Batch copies each event without its envelope and does not decode it.
func Batch(c BatchConfig) (Flusher, error) {
	if c.Count < 0 || c.Bytes < 0 || c.Interval < 0 {
		return nil, fmt.Errorf("pipeline: batch of %d events, %d bytes, %v: none may be negative", c.Count, c.Bytes, c.Interval)
	}
	if c.Bytes == 0 {
		c.Bytes = 1 << 20
	}
	return &batch{config: c}, nil
}

type batch struct {
	config BatchConfig
	events []byte // the encoded events, one after the other; JSON has a comma before each
	count  int
	json   bool
	since  time.Time
}

// Run adds m to the batch. If the batch is then complete, or if m does not fit, m becomes the complete batch.
func (b *batch) Run(m *Message) (bool, error) {
	v, err := m.Event()
	if err != nil {
		return false, err
	}
	event, err := m.rewrite(v.AppendEvent)
	if err != nil {
		return false, err
	}
	json := event[0] == '{'
	if b.count > 0 && json != b.json {
		return false, errors.New("events in CBOR and JSON in one batch: put a Transform before it")
	}
	full := b.count > 0 && len(b.events)+len(event) > b.config.Bytes
	if full {
		m.SetBytes(b.encode(m))
	}
	b.add(event, json)
	if !full && (b.count == b.config.Count || len(b.events) >= b.config.Bytes) {
		m.SetBytes(b.encode(m))
		full = true
	}
	return full, nil
}

func (b *batch) add(event []byte, json bool) {
	if b.json = json; b.count == 0 {
		b.since = time.Now()
	} else if json {
		b.events = append(b.events, ',')
	}
	b.events = append(b.events, event...)
	b.count++
}

// Flush makes m the batch that is still incomplete.
func (b *batch) Flush(m *Message) (bool, error) {
	if b.count == 0 {
		return false, nil
	}
	m.SetBytes(b.encode(m))
	return true, nil
}

// Due returns the time at which the Interval of the first event in the batch ends.
func (b *batch) Due() (time.Time, bool) {
	return b.since.Add(b.config.Interval), b.count > 0 && b.config.Interval > 0
}

// encode returns the batch as an array. It then empties the batch.
func (b *batch) encode(m *Message) []byte {
	out := m.buffers[m.next][:0]
	if b.json {
		out = append(append(append(out, '['), b.events...), ']')
	} else {
		out = append(cborhead.Append(out, cborhead.Array, uint64(b.count)), b.events...)
	}
	m.buffers[m.next] = out
	m.next = 1 - m.next
	b.events, b.count = b.events[:0], 0
	return out
}
