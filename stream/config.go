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

// Config says how a Client presents itself. A nil *Config and zero values mean the defaults named.
type Config struct {
	// Token is the secret that the node knows the client's identity by. It may be empty where a certificate or the
	// node's configuration speaks for the client. It is never logged.
	Token []byte

	// Name is shown in the node's logs and metrics. It carries no authority.
	Name string

	// MinBackoff and MaxBackoff bound the pause before a lost connection is dialled again; it doubles with each failure
	// and varies by half. Zero means 100 ms and 5 s.
	MinBackoff, MaxBackoff time.Duration

	// DialTimeout bounds one attempt to connect, handshake included. Zero means 10 s.
	DialTimeout time.Duration

	// Log takes lost connections and handlers' errors. Nil means slog.Default.
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

// Policy says what the node does with messages a function has no room for.
type Policy = native.Policy

// The policies. The node counts what it drops.
const (
	Block      = native.Block      // withhold credit of that tag from its sources
	DropOldest = native.DropOldest // keep the newest
	DropNewest = native.DropNewest // keep what is queued
)

// ParsePolicy reads block, drop-oldest or drop-newest.
func ParsePolicy(s string) (Policy, error) {
	p, err := native.ParsePolicy(s)
	if err != nil {
		return p, fmt.Errorf("stream: %w", err)
	}
	return p, nil
}

// Function observes tags and answers with new messages.
type Function struct {
	// Observe are the tag filters: '/' separates levels, + stands for one level, # for the rest.
	Observe []string

	// Where is a predicate over the payload, evaluated at the node. Empty means every message.
	Where string

	// Group names a set of functions of which one gets each message. Empty means this function gets them all.
	Group string

	// Back, instead of what is published on the tags, observes what others answer to this client (Message.To).
	Back bool

	// Policy says what happens when the function is too slow. The zero value is Block.
	Policy Policy

	// Window is how many bytes of each tag may be on their way to the function or waiting in it. Zero means 1 MiB.
	Window int

	// Queue is how many bytes of each tag the node may hold on top. Zero means the node's own bound.
	Queue int

	// Concurrency is how many calls of Handler may run at once. Messages of one source on one tag are handled in order
	// whatever it is. Zero means one for each CPU.
	Concurrency int

	// Handler is called for each message; a ferry.BatchHandler gets those that wait together.
	Handler ferry.Handler
}

// Sink makes a Handler of a function that only observes.
func Sink(f func(ctx context.Context, in *ferry.Message) error) ferry.Handler {
	return ferry.HandlerFunc(func(ctx context.Context, in *ferry.Message, _ ferry.Sender) error { return f(ctx, in) })
}

// ErrClosed says that the Client was closed.
var ErrClosed = errors.New("stream: client closed")
