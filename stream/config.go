package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"example.com/ferry"
	"example.com/ferry/protocol/native"
)

// Config is how a Client connects. A nil *Config and zero values mean the defaults named.
type Config struct {
	// Token is the secret of the client's identity. It may be empty if a certificate or the node's configuration
	// identifies the client. It is never logged.
	Token []byte

	// Name appears in the node's logs and metrics. It grants nothing.
	Name string

	// MinBackoff and MaxBackoff bound the pause before a lost connection is dialled again; it doubles with each failure
	// and varies by half. Zero means 100 ms and 5 s.
	MinBackoff, MaxBackoff time.Duration

	// DialTimeout bounds one attempt to connect, handshake included. Zero means 10 s.
	DialTimeout time.Duration

	// Log gets lost connections and handlers' errors. Nil means slog.Default.
	Log *slog.Logger
}

func (c *Config) filled() Config {
	var f Config
	if c != nil {
		f = *c
	}
	for _, d := range [...]struct {
		v   *time.Duration
		def time.Duration
	}{{&f.MinBackoff, 100 * time.Millisecond}, {&f.MaxBackoff, 5 * time.Second}, {&f.DialTimeout, 10 * time.Second}} {
		if *d.v <= 0 {
			*d.v = d.def
		}
	}
	if f.Log == nil {
		f.Log = slog.Default()
	}
	return f
}

// Policy is what the node does with messages that a function has no room for.
type Policy = native.Policy

// The policies. The node counts what it drops.
const (
	Block      = native.Block      // withhold credit of that tag from its sources
	DropOldest = native.DropOldest // keep the newest
	DropNewest = native.DropNewest // keep what is queued
)

// ParsePolicy parses block, drop-oldest or drop-newest.
func ParsePolicy(s string) (Policy, error) {
	p, err := native.ParsePolicy(s)
	if err != nil {
		return p, fmt.Errorf("stream: %w", err)
	}
	return p, nil
}

// Function observes tags and may publish new messages.
type Function struct {
	// Observe are the tag filters: '/' separates levels, + matches one level, # matches the rest.
	Observe []string

	// Where is a predicate on the payload. The node evaluates it, and sends only messages for which it holds. Empty means every
	// message.
	Where string

	// Group names a consumer group: one of its functions gets each message. Empty means that this function gets every message.
	Group string

	// Addressed observes messages that are addressed to this client (Message.To), instead of those that are published to
	// everyone.
	Addressed bool

	// Policy is what the node does when the function is too slow. The zero value is Block.
	Policy Policy

	// Window bounds the bytes of each tag that are sent to the function and not handled yet. Zero means 1 MiB.
	Window int

	// Queue bounds the bytes of each tag that wait in the node. Zero means the node's own bound.
	Queue int

	// Concurrency bounds the calls of Handler that run at once. Messages of one source on one tag are handled in order in
	// any case. Zero means one call for each CPU.
	Concurrency int

	// Handler is called for each message. A ferry.BatchHandler is called once for all messages that wait together.
	Handler ferry.Handler
}

// Sink returns a Handler that calls f, which only observes.
func Sink(f func(ctx context.Context, in *ferry.Message) error) ferry.Handler {
	return ferry.HandlerFunc(func(ctx context.Context, in *ferry.Message, _ ferry.Sender) error { return f(ctx, in) })
}

// ErrClosed is the error of operations on a closed Client.
var ErrClosed = errors.New("stream: client closed")
