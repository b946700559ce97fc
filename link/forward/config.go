package forward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"example.com/ferry/internal/topic"
	"example.com/ferry/link/spool"
	"example.com/ferry/protocol/native"
	"example.com/ferry/transport"
)

// Dialer connects to another node. A transport.Transport is one.
type Dialer interface {
	Dial(ctx context.Context, addr string) (transport.Conn, error)
}

// Config configures a Link. New copies it.
type Config struct {
	// Name names the link in logs and metrics.
	Name string

	// Node is the id of this node in the paths of messages. It must differ from those of all other nodes. See native.CheckNodeID.
	Node string

	// Tags are the filters of the tags that are forwarded.
	Tags []string

	// Dialer and Addr reach the other node.
	Dialer Dialer
	Addr   string

	// Token identifies this node at the other one. Empty if a certificate does.
	Token []byte

	// Spool is where messages wait on disk. Its Dir is required.
	Spool spool.Config

	// BlockWhenFull makes the publishers of this node wait while the spool is full. Otherwise new messages are dropped, and counted.
	BlockWhenFull bool

	// Memory bounds the bytes of messages that wait in memory: half of it for those that the other node has not confirmed yet, and
	// half for those that could not be sent. What exceeds a half goes to the spool. Zero means 8 MiB.
	Memory int

	// MaxTags bounds the tags that the link has requested of the other node at a time. The ones unused for longest are given back.
	// Zero means 8192.
	MaxTags int

	// SafeWithin is how long the response to a publisher's PING may wait for the other node. Then the messages before it go to the
	// spool. Zero means 200 ms.
	SafeWithin time.Duration

	// MinBackoff and MaxBackoff bound the pause before the link dials again. The pause doubles with each failure and varies randomly by
	// half. It begins again with MinBackoff after a connection that was longer than the pause. Zero means 100 ms and 5 s.
	MinBackoff, MaxBackoff time.Duration

	// DialTimeout limits one attempt to connect. Zero means 10 s.
	DialTimeout time.Duration

	// Log receives the begin and the end of each outage. Nil means slog.Default.
	Log *slog.Logger
}

// fill sets the defaults and checks the fields.
func (c *Config) fill() error {
	if err := native.CheckNodeID(c.Node); err != nil {
		return fmt.Errorf("forward: Config.Node: %w", err)
	}
	if c.Dialer == nil {
		return errors.New("forward: Config.Dialer is missing")
	}
	if len(c.Tags) == 0 {
		return errors.New("forward: Config.Tags is empty: # forwards all tags")
	}
	for _, filter := range c.Tags {
		if err := topic.CheckFilter(filter); err != nil {
			return fmt.Errorf("forward: Config.Tags: %w", err)
		}
	}
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
	if c.MaxTags <= 0 {
		c.MaxTags = 8192
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return nil
}
