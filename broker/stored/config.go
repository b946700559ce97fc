package stored

import (
	"fmt"
	"slices"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/field"
	"example.com/ferry/internal/topic"
)

// Config is a stream whose tags the broker stores.
type Config struct {
	Stream engine.Stream
	Config engine.Config // with which Stream was opened

	// AtLeastOnce makes CREDIT and the response to PING wait until a message is stored, and allows durables. Otherwise the stream
	// keeps messages for replay: those that exceed Limits.Queue are dropped.
	AtLeastOnce bool

	// Key is the field of the payload whose messages keep their order, for messages that their publisher gave no key. A zero Path
	// means the tag.
	Key field.Path

	// ID is the field of the payload that is the idempotency key, for messages that their publisher gave none. A zero Path means
	// no such field.
	ID field.Path

	MaxDeliveries int             // a message that failed so often is a dead letter; 0 means no bound
	Backoff       []time.Duration // wait before the second, third... delivery; the last one holds for all further. Empty means no wait
	AckWait       time.Duration   // a message that a member neither acks nor has in progress for this long has failed; 0 means 30 s
	KeepWindow    time.Duration   // how long a durable without members keeps what it has read, for its next member; 0 means not at all
	DeadLetter    string          // tag of the dead letters, in another stream; "" means that they are dropped
}

// check returns an error if c is not usable together with the other streams.
func (c *Config) check(all []Config) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("broker: stream %q: "+format, append([]any{c.Config.Name}, args...)...)
	}
	switch {
	case c.Stream == nil:
		return fail("Stored.Stream is missing")
	case len(c.Config.Tags) == 0:
		return fail("it has no tags")
	case c.MaxDeliveries < 0 || c.AckWait < 0:
		return fail("MaxDeliveries is %d and AckWait %v: both must not be negative", c.MaxDeliveries, c.AckWait)
	case c.DeadLetter == "":
		return nil
	}
	to := slices.IndexFunc(all, func(other Config) bool { return other.stores(c.DeadLetter) })
	switch {
	case to < 0:
		return fail("no stream stores the tag %q of its dead letters", c.DeadLetter)
	case all[to].Config.Name == c.Config.Name:
		return fail("the tag %q of its dead letters is its own", c.DeadLetter)
	case !all[to].AtLeastOnce:
		return fail("stream %q, which stores the tag %q of its dead letters, is not at-least-once", all[to].Config.Name, c.DeadLetter)
	}
	return nil
}

// stores reports whether a tag is the stream's.
func (c *Config) stores(tag string) bool {
	return tag != "" && slices.ContainsFunc(c.Config.Tags, func(filter string) bool { return topic.Match(filter, tag) })
}

// covers reports whether all tags that filter matches are the stream's.
func (c *Config) covers(filter string) bool {
	return slices.ContainsFunc(c.Config.Tags, func(tags string) bool { return topic.Covers(tags, filter) })
}

// changeable returns an error if a stream cannot change to next while the broker runs.
func (c *Config) changeable(next *Config) error {
	switch {
	case c.AtLeastOnce != next.AtLeastOnce:
		return fmt.Errorf("broker: stream %q: its delivery cannot change while the broker runs: clients were told which one it is", c.Config.Name)
	case c.Key.String() != next.Key.String():
		return fmt.Errorf("broker: stream %q: its key cannot change from %q to %q while the broker runs: messages in flight are ordered by it", c.Config.Name, c.Key, next.Key)
	}
	return nil
}
