package http2

import (
	"example.com/ferry/internal/invalid"
)

// The defaults of Config.
const (
	DefaultMaxStreams     = 100
	DefaultStreamWindow   = 64 << 10
	DefaultConnWindow     = 1 << 20
	DefaultMaxFrame       = minMaxFrame
	DefaultMaxHeader      = 32 << 10
	DefaultMaxFields      = 128
	DefaultHeaderTable    = 4096
	DefaultQueuePerStream = 64 << 10
	DefaultAbuseBudget    = 500
)

// Config configures one side of connections. The zero value works, and a nil *Config means the zero value. NewServer and
// NewClient use the default in place of a value that Check refuses.
type Config struct {
	// MaxStreams is the number of streams that the peer may have open at once. Zero means 100.
	MaxStreams int `yaml:"max_streams,omitempty" schema:"min=0"`

	// StreamWindow is the number of body bytes that the peer may send on a stream before they are consumed. Zero means 64 KiB.
	StreamWindow int `yaml:"stream_window,omitempty" schema:"min=0"`

	// ConnWindow is the flow-control window of the connection in bytes, at least 65535. Zero means 1 MiB.
	ConnWindow int `yaml:"connection_window,omitempty" schema:"min=0"`

	// BoundHeld makes ConnWindow bound the body bytes of all streams that Data has passed on and that are not consumed. Without it, the
	// window is given back when a frame arrives, so that a stream that is not consumed delays no other stream.
	BoundHeld bool `yaml:"-"`

	// MaxFrame is the largest payload of a frame that the peer may send, in bytes: 16 KiB to 16 MiB - 1. Zero means 16 KiB.
	MaxFrame int `yaml:"max_frame,omitempty" schema:"min=0"`

	// MaxHeader bounds the fields of a head or of trailers: the bytes of names and values, and 32 for each field (RFC 9113,
	// section 6.5.2). Zero means 32 KiB. A request beyond it gets 431.
	MaxHeader int `yaml:"max_header,omitempty" schema:"min=0"`

	// MaxFields is the largest number of fields in a head or in trailers. Zero means 128. A request beyond it gets 431.
	MaxFields int `yaml:"max_fields,omitempty" schema:"min=0"`

	// HeaderTable is the size of the HPACK table that the peer's fields are kept in, in bytes. Zero means 4096. Negative means
	// no table.
	HeaderTable int `yaml:"header_table,omitempty"`

	// QueuePerStream is the high watermark of a stream's send queue in bytes. The low watermark is half of it. Zero means 64 KiB.
	QueuePerStream int `yaml:"queue_per_stream,omitempty" schema:"min=0"`

	// StallTicks is the number of calls of Tick after which a released stream is reset, if nothing of its queue has left in them. Those do not
	// count in which its own window was open and other streams have sent. Zero means no bound.
	StallTicks int `yaml:"-"`

	// ExtendedConnect lets clients open WebSockets on streams. RFC 8441.
	ExtendedConnect bool `yaml:"extended_connect,omitempty"`

	// AbuseBudget is the number of events of each kind of Abuse that a peer may cause in a burst. Half of it is given back each
	// second, and useful work gives back one for one. Zero means 500.
	AbuseBudget int `yaml:"abuse_budget,omitempty" schema:"min=0"`
}

// configField is one number of a Config with its bounds.
type configField struct {
	name               string
	value              *int
	least, most, usual int
}

func (c *Config) fields() []configField {
	return []configField{
		{"max_streams", &c.MaxStreams, 1, 1 << 20, DefaultMaxStreams},
		{"stream_window", &c.StreamWindow, 1, maxWindow, DefaultStreamWindow},
		{"connection_window", &c.ConnWindow, initialWindow, maxWindow, DefaultConnWindow},
		{"max_frame", &c.MaxFrame, minMaxFrame, maxMaxFrame, DefaultMaxFrame},
		{"max_header", &c.MaxHeader, 1 << 10, 16 << 20, DefaultMaxHeader},
		{"max_fields", &c.MaxFields, 8, 1 << 16, DefaultMaxFields},
		{"header_table", &c.HeaderTable, -1, 1 << 20, DefaultHeaderTable},
		{"queue_per_stream", &c.QueuePerStream, 1 << 10, 1 << 30, DefaultQueuePerStream},
		{"abuse_budget", &c.AbuseBudget, 10, 1 << 30, DefaultAbuseBudget},
	}
}

// Check returns an error for every invalid field of c, or nil. The errors name the fields of a configuration file.
func (c *Config) Check() error {
	var es invalid.Errors
	for _, f := range c.fields() {
		if v := *f.value; v != 0 && (v < f.least || v > f.most) {
			es.Add("http2", f.name, "%d: write 0 for %d, or a number from %d to %d", v, f.usual, f.least, f.most)
		}
	}
	return es.Err()
}

// withDefaults returns a copy of c in which each number is set and valid.
func (c *Config) withDefaults() Config {
	var out Config
	if c != nil {
		out = *c
	}
	for _, f := range out.fields() {
		if v := *f.value; v == 0 || v < f.least || v > f.most {
			*f.value = f.usual
		}
	}
	out.HeaderTable = max(out.HeaderTable, 0)
	return out
}
