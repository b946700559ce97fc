// Package stats counts what passes through a broker: messages, their bytes, and how long they took.
package stats

import "sync/atomic"

// Traffic counts messages, and the bytes of their frames.
type Traffic struct{ Messages, Bytes uint64 }

// Add adds more.
func (t *Traffic) Add(more Traffic) {
	t.Messages += more.Messages
	t.Bytes += more.Bytes
}

// Counter counts Traffic. All methods may overlap.
type Counter struct{ messages, bytes atomic.Uint64 }

// Add counts messages that have so many bytes together.
func (c *Counter) Add(messages, bytes int) {
	c.messages.Add(uint64(messages))
	c.bytes.Add(uint64(bytes))
}

// Load returns what was counted.
func (c *Counter) Load() Traffic { return Traffic{c.messages.Load(), c.bytes.Load()} }
