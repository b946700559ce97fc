package hop

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"example.com/ferry/format"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/native"
)

// Config is how a Broker identifies its clients, and how much it holds for them. Only Identify is required; zero values mean
// the defaults named. New validates and copies it.
type Config struct {
	// Identify returns a client's identity by its token (a view, not to be kept or logged) or its certificate; tls is nil
	// on a connection without TLS. An error refuses the connection; its text goes to the log, not to the client.
	Identify func(token []byte, tls *tls.ConnectionState) (*Identity, error)

	// Formats validate payloads and read the fields that predicates name. A payload of another type passes validation
	// unread, and matches no predicate.
	Formats []format.Format

	MaxFrame       int // bytes of a frame with its header; 0 means 1 MiB
	MaxConnections int // 0 means 1024
	MaxTags        int // tags in use at once; 0 means 65536
	MaxSubs        int // subscriptions per connection; 0 means 256
	Window         int // bytes a client may publish on each tag before it needs CREDIT; 0 means 1 MiB
	Queue          int // bytes queued per subscription and tag, unless SUB says less; 0 means 1 MiB
	Streams        int // data streams per direction on transports that have them; 0 means 8, at most 64

	HandshakeTimeout time.Duration // from accept to HELLO, and for a half frame; 0 means 10 s
	Heartbeat        time.Duration // interval of the clients' PINGs; three without a byte end the connection. 0 means 10 s
	WriteTimeout     time.Duration // a write that is blocked for this long ends the connection; 0 means 30 s

	Log *slog.Logger // nil means slog.Default
}

// Identity is the name of a client and its grants.
type Identity struct {
	Name      string
	Publish   []string // tag filters it may publish on
	Subscribe []string // tag filters it may subscribe to, and to any filter these cover
}

// Anyone lets every client do everything: for tests, and for streams within one process.
func Anyone([]byte, *tls.ConnectionState) (*Identity, error) {
	return &Identity{Name: "anyone", Publish: []string{"#"}, Subscribe: []string{"#"}}, nil
}

// covers reports whether one of the grants covers filter: every tag that filter matches.
func covers(grants []string, filter string) bool {
	for _, g := range grants {
		if topic.Covers(g, filter) {
			return true
		}
	}
	return false
}

// Validation is how thoroughly a payload is checked when it is published.
type Validation uint8

// The validations.
const (
	ValidateFull   Validation = iota // structure, bounds, depth, UTF-8, duplicate keys, trailing bytes
	ValidateBounds                   // structure and bounds
	ValidateOff                      // no check, for trusted publishers
)

// ParseValidation parses full, bounds or off.
func ParseValidation(s string) (Validation, error) {
	for v, name := range [...]string{"full", "bounds", "off"} {
		if s == name {
			return Validation(v), nil
		}
	}
	return 0, fmt.Errorf("hop: validate %q: want full, bounds or off", s)
}

// fill sets the defaults and checks the limits.
func (c *Config) fill() error {
	if c.Identify == nil {
		return errors.New("hop: Config.Identify is missing: hop.Anyone accepts every client")
	}
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&c.MaxFrame, native.DefaultMaxFrame)
	def(&c.MaxConnections, 1024)
	def(&c.MaxTags, 65536)
	def(&c.MaxSubs, 256)
	def(&c.Window, 1<<20)
	def(&c.Queue, 1<<20)
	def(&c.Streams, 8)
	defTime := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	defTime(&c.HandshakeTimeout, 10*time.Second)
	defTime(&c.Heartbeat, 10*time.Second)
	defTime(&c.WriteTimeout, 30*time.Second)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	for _, b := range [...]struct {
		name             string
		value, low, high int
	}{
		{"MaxFrame", c.MaxFrame, native.PubHeaderSize, 1 << 30},
		{"MaxConnections", c.MaxConnections, 1, 1 << 24},
		{"MaxTags", c.MaxTags, 1, 1 << 24},
		{"MaxSubs", c.MaxSubs, 1, 1 << 16},
		{"Window", c.Window, 1, 1 << 30},
		{"Queue", c.Queue, 1, 1 << 30},
		{"Streams", c.Streams, 1, 64},
	} {
		if b.value < b.low || b.value > b.high {
			return fmt.Errorf("hop: Config.%s is %d: want %d to %d", b.name, b.value, b.low, b.high)
		}
	}
	for _, b := range [...]struct {
		name             string
		value, low, high time.Duration
	}{
		{"HandshakeTimeout", c.HandshakeTimeout, 1, 1 << 62},
		{"Heartbeat", c.Heartbeat, time.Millisecond, 1 << 40},
		{"WriteTimeout", c.WriteTimeout, 1, 1 << 62},
	} {
		if b.value < b.low || b.value > b.high {
			return fmt.Errorf("hop: Config.%s is %v: want %v to %v", b.name, b.value, b.low, b.high)
		}
	}
	return nil
}
