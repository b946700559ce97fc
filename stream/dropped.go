package stream

import (
	"errors"
	"fmt"
)

// DroppedError says that messages which Send has accepted are lost: the node has dropped them, or does not grant their tag any more.
type DroppedError struct {
	Tag      string // "several tags" if the node does not say which
	Messages uint64
	Err      error // wraps a *native.Error with the node's reason
}

func (e *DroppedError) Error() string {
	return fmt.Sprintf("stream: %d messages on tag %s were dropped: %v", e.Messages, e.Tag, e.Err)
}

func (e *DroppedError) Unwrap() error { return e.Err }

// maxNotices bounds the errors about dropped messages that wait for the next Flush.
const maxNotices = 16

// dropped tells the user that messages were dropped, at once and with the next Flush. No lock is held.
func (c *Client) dropped(tag string, count uint32, why error) {
	err := &DroppedError{tag, uint64(count), why}
	c.stats.dropped.Add(err.Messages)
	c.cfg.Log.Warn("stream: messages were dropped", "err", err)
	c.mu.Lock()
	if len(c.notices) < maxNotices {
		c.notices = append(c.notices, err)
	} else {
		c.unnamed += err.Messages
	}
	c.mu.Unlock()
	if c.cfg.OnDropped != nil {
		c.cfg.OnDropped(err)
	}
}

// takeDropped returns an error that names the messages that were dropped since the last call, or nil.
func (c *Client) takeDropped() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.notices
	if c.unnamed > 0 {
		all = append(all, fmt.Errorf("stream: %d more messages were dropped", c.unnamed))
	}
	c.notices, c.unnamed = nil, 0
	return errors.Join(all...)
}
