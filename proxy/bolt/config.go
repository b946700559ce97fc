package bolt

import (
	"cmp"
	"time"

	"example.com/ferry/internal/invalid"
	wire "example.com/ferry/protocol/bolt"
)

// Config configures a listener for Bolt.
type Config struct {
	// IdleTimeout closes a client's connection that has had no request in flight for this long. Zero means 90 s; negative means
	// never.
	IdleTimeout time.Duration `yaml:"idle_timeout,omitempty"`

	// MaxFrame bounds the frame of a request, in bytes. Zero means 64 MiB.
	MaxFrame int `yaml:"max_frame,omitempty" schema:"min=0"`

	// Requests is the largest number of requests in flight on a connection. At the limit, the proxy pauses reading
	// until a request has its response. Zero means 1024.
	Requests int `yaml:"requests,omitempty" schema:"min=0"`

	// FrameTimeout bounds the time from a frame's first byte to its last. It also bounds the time in which a client,
	// or a server, reads nothing of what is queued for it. Zero means 30 s.
	FrameTimeout time.Duration `yaml:"frame_timeout,omitempty"`

	// MaxQueued bounds the bytes of responses that a client leaves unread. Above it, the connection is aborted. Zero
	// means 64 MiB and a byte.
	MaxQueued int `yaml:"max_queued,omitempty" schema:"min=0"`

	// CheckCRC verifies the CRC-32 of responses up to 64 KiB here, not only at the client. The CRC of requests up to 64 KiB is always
	// verified, because servers close a connection with a wrong one, and it carries requests of other clients.
	CheckCRC bool `yaml:"check_crc,omitempty"`
}

// Check returns an error for every invalid field of c as invalid.Errors, or nil.
func (c *Config) Check() error {
	var errs invalid.Errors
	for _, f := range []struct {
		name  string
		value int
		least int
	}{{"max_frame", c.MaxFrame, wire.MaxFixed}, {"requests", c.Requests, 1}, {"max_queued", c.MaxQueued, wire.MaxFixed}} {
		if f.value != 0 && f.value < f.least {
			errs.Add("bolt", f.name, "%d: write at least %d, or 0 for the default", f.value, f.least)
		}
	}
	if c.FrameTimeout < 0 {
		errs.Add("bolt", "frame_timeout", "%v: write a time, or 0 for the default", c.FrameTimeout)
	}
	errs.AddDuration("bolt", "frame_timeout", c.FrameTimeout)
	errs.AddDuration("bolt", "idle_timeout", c.IdleTimeout)
	return errs.Err()
}

// withDefaults returns a copy of c with all defaults set.
func (c *Config) withDefaults() Config {
	var out Config
	if c != nil {
		out = *c
	}
	out.IdleTimeout = cmp.Or(out.IdleTimeout, 90*time.Second)
	out.MaxFrame = cmp.Or(out.MaxFrame, wire.DefaultMaxFrame)
	out.Requests = cmp.Or(out.Requests, 1024)
	out.FrameTimeout = cmp.Or(out.FrameTimeout, 30*time.Second)
	out.MaxQueued = cmp.Or(out.MaxQueued, 64<<20+1)
	return out
}
