package forward

import (
	"context"
	"errors"
	"fmt"

	"example.com/ferry/internal/topic"
	"example.com/ferry/link"
	"example.com/ferry/protocol/native"
	"example.com/ferry/transport"
)

// Dialer connects to another node. A transport.Transport is one.
type Dialer interface {
	Dial(ctx context.Context, addr string) (transport.Conn, error)
}

// Config configures a Link. New copies it.
type Config struct {
	link.Config

	// Node is the id of this node in the paths of messages. It must differ from those of all other nodes. See native.CheckNodeID.
	Node string

	// Target is what Update replaces.
	Target Target

	// MaxTags bounds the tags that the link has requested of the other node at a time. The ones unused for longest are given back.
	// Zero means 8192.
	MaxTags int
}

// Target has the address of the other node, and the filters of the tags that a Link forwards.
type Target struct {
	// Tags are the filters of the tags that are forwarded.
	Tags []string

	// Dialer and Addr reach the other node.
	Dialer Dialer
	Addr   string

	// Token identifies this node at the other one. Empty if a certificate does.
	Token []byte
}

// fill sets the defaults and checks the fields.
func (c *Config) fill() error {
	if err := native.CheckNodeID(c.Node); err != nil {
		return fmt.Errorf("forward: Config.Node: %w", err)
	}
	if c.Target.Dialer == nil {
		return errors.New("forward: Target.Dialer is missing")
	}
	if len(c.Target.Tags) == 0 {
		return errors.New("forward: Target.Tags is empty: # forwards all tags")
	}
	for _, filter := range c.Target.Tags {
		if err := topic.CheckFilter(filter); err != nil {
			return fmt.Errorf("forward: Target.Tags: %w", err)
		}
	}
	if c.MaxTags <= 0 {
		c.MaxTags = 8192
	}
	return nil
}
