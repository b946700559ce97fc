package link

import (
	"log/slog"
	"time"

	"example.com/ferry/link/spool"
)

// Config configures a Line and its Outbox.
type Config struct {
	// Name names the link in logs and metrics.
	Name string

	// Spool is where messages wait on disk. Its Dir is required.
	Spool spool.Config

	// BlockWhenFull makes publishers wait while messages cannot be made safe. Otherwise new messages are refused then, and counted.
	BlockWhenFull bool

	// Memory bounds the bytes of messages in memory: half of it for those that are sent and not confirmed, and half for those that are
	// held. What exceeds a half goes to the spool. If the spool takes nothing, up to Memory are held. Zero means 8 MiB.
	Memory int

	// SafeWithin is how long a call of Await, which delays the response to a publisher's PING, waits for the other side. Then the
	// messages before it go to the spool. Zero means 200 ms.
	SafeWithin time.Duration

	// MinBackoff and MaxBackoff bound the pause before a Line dials again. The pause doubles with each failure and varies randomly by
	// half. It begins again with MinBackoff after a connection that was longer than the pause. Zero means 100 ms and 5 s.
	MinBackoff, MaxBackoff time.Duration

	// DialTimeout limits one attempt to connect. Zero means 10 s.
	DialTimeout time.Duration

	// Log receives the begin and the end of each outage, and failures of the spool. Nil means slog.Default.
	Log *slog.Logger
}

// fill sets the defaults.
func (c *Config) fill() {
	for _, d := range [...]struct {
		v   *time.Duration
		def time.Duration
	}{{&c.SafeWithin, 200 * time.Millisecond}, {&c.MinBackoff, 100 * time.Millisecond}, {&c.MaxBackoff, 5 * time.Second}, {&c.DialTimeout, 10 * time.Second}} {
		if *d.v <= 0 {
			*d.v = d.def
		}
	}
	if c.Memory <= 0 {
		c.Memory = 8 << 20
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	c.Log = c.Log.With("link", c.Name)
}
