package h2conn

import (
	"cmp"
	"time"

	"example.com/ferry/protocol/http2"
)

// Config configures one side of connections. The zero value works, and a nil *Config means the zero value.
type Config struct {
	// HTTP2 has the limits and windows of the protocol.
	HTTP2 http2.Config

	// WriteBuffer is the number of bytes that may wait for a write. As many may be in the write itself. DATA above it waits in its
	// stream. Zero means 64 KiB, and 32 KiB is the least.
	WriteBuffer int

	// HeaderTimeout bounds the time until the peer's preface and SETTINGS have arrived, and the time from the first frame of a head
	// to its last. Zero means 10 s. Negative means no bound.
	HeaderTimeout time.Duration

	// WriteTimeout bounds one write, of WriteBuffer and the heads that came on top. Zero means 1 min. Negative means no bound.
	WriteTimeout time.Duration

	// StallTimeout bounds the time in which the peer takes nothing of the queue of a released stream, to a second. The stream is then reset. Zero
	// or negative means no bound.
	StallTimeout time.Duration

	// KeepAlive is the time without a byte from the peer after which PING is sent, while a stream is open. As long as only
	// acknowledgements arrive, each pause is four times the one before, up to 6 minutes: gRPC servers close connections with more
	// PINGs. Zero means 30 s. Negative means no PING.
	KeepAlive time.Duration

	// KeepAliveTimeout is the time without a byte from the peer after PING that ends the connection. Zero means 20 s.
	KeepAliveTimeout time.Duration

	// IdleTimeout drains a connection that has had no stream for this long. Zero means never.
	IdleTimeout time.Duration

	// First are bytes of the peer that were read before, at most 4 KiB.
	First []byte

	// Linger is how long a closing connection writes what is queued, and waits for the peer to close its side. Zero means 2 s.
	Linger time.Duration
}

const minWriteBuffer = 32 << 10 // bytes

// withDefaults returns a copy of c in which 0 is replaced by the default. Package http2 completes the rest of HTTP2.
func (c *Config) withDefaults() Config {
	var out Config
	if c != nil {
		out = *c
	}
	out.WriteBuffer = max(cmp.Or(out.WriteBuffer, 64<<10), minWriteBuffer)
	out.HeaderTimeout = cmp.Or(out.HeaderTimeout, 10*time.Second)
	out.WriteTimeout = cmp.Or(out.WriteTimeout, time.Minute)
	out.KeepAlive = cmp.Or(out.KeepAlive, 30*time.Second)
	out.KeepAliveTimeout = cmp.Or(out.KeepAliveTimeout, 20*time.Second)
	out.Linger = cmp.Or(out.Linger, 2*time.Second)
	out.HTTP2.StallTicks = int((max(out.StallTimeout, 0) + checkInterval - 1) / checkInterval)
	if out.HTTP2.ConnWindow <= 0 {
		out.HTTP2.ConnWindow = http2.DefaultConnWindow
	}
	return out
}
