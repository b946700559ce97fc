package mqttbridge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/internal/topic"
	"example.com/ferry/link"
	"example.com/ferry/protocol/mqtt"
	"example.com/ferry/protocol/native"
)

// Config configures a Bridge. New copies it.
type Config struct {
	link.Config

	// Node is the id of this node in PathProperty. See native.CheckNodeID.
	Node string

	// Broker is the node's own broker. Listener and Token make the client that publishes what comes from the other one.
	Broker   *broker.Broker
	Listener *broker.Listener
	Token    []byte

	// Target is what Update replaces.
	Target Target

	// MaxPacket is the length of the largest packet that the other broker may send, in bytes. Zero means 1 MiB.
	MaxPacket int

	// Inflight bounds the messages in each direction that are not confirmed, and those of QoS 0 that wait. Zero means 1000.
	Inflight int
}

// Target has the address and the credentials of the broker, and the filters of the messages that a Bridge passes on.
type Target struct {
	// Dial connects to the broker, with TLS if the broker needs it.
	Dial func(ctx context.Context) (net.Conn, error)

	// ClientID is the identifier of the session at the broker. Two clients with one identifier disconnect each other. Empty means
	// ferry-NODE-NAME.
	ClientID string

	// User and Password identify the bridge at the broker. An empty User sends neither.
	User     string
	Password []byte

	// In are filters of the broker's topics. The tag of a message is InPrefix and its topic.
	In       []string
	InPrefix string

	// Out are filters of tags. The topic of a message is OutPrefix and its tag.
	Out       []string
	OutPrefix string

	// KeepAlive is the longest time without a packet, of at most 65535 s. Zero means 30 s.
	KeepAlive time.Duration

	// SessionExpiry is how long the broker keeps messages for a bridge that is away. Zero means one hour.
	SessionExpiry time.Duration
}

// fill sets the defaults and checks the fields.
func (c *Config) fill() error {
	if err := native.CheckNodeID(c.Node); err != nil {
		return fmt.Errorf("bridge: Config.Node: %w", err)
	}
	if c.Broker == nil || c.Listener == nil {
		return errors.New("bridge: Config.Broker or Config.Listener is missing")
	}
	if c.MaxPacket <= 0 {
		c.MaxPacket = 1 << 20
	}
	if c.Inflight <= 0 {
		c.Inflight = 1000
	}
	c.Inflight = min(c.Inflight, maxInflight)
	return c.Target.fill(c)
}

// subscribes reports whether a filter of In matches a topic.
func (t *Target) subscribes(name string) bool {
	return slices.ContainsFunc(t.In, func(in string) bool { return topic.Match(topicsOf(in), name) })
}

// topicsOf returns the filter of the topics that a subscription to in delivers. It leaves out $share/GROUP/, and the prefixes of EMQX that mean
// a shared subscription without a group ($queue/) and one of a single client ($exclusive/).
func topicsOf(in string) string {
	if shared, ok := strings.CutPrefix(in, mqtt.SharePrefix); ok {
		_, filter, _ := strings.Cut(shared, "/")
		return filter
	}
	return strings.TrimPrefix(strings.TrimPrefix(in, "$queue/"), "$exclusive/")
}

// maxInflight is less than the number of packet identifiers, so that a new one is not in use.
const maxInflight = 16 << 10

// fill sets the defaults and checks the fields.
func (t *Target) fill(c *Config) error {
	if t.Dial == nil {
		return errors.New("bridge: Target.Dial is missing")
	}
	if len(t.In)+len(t.Out) == 0 {
		return errors.New("bridge: Target.In and Target.Out are empty: name the topics or the tags to pass on")
	}
	for _, filter := range t.In {
		if _, err := mqtt.ParseFilter(filter); err != nil {
			return fmt.Errorf("bridge: Target.In: %q: %w", filter, err)
		}
	}
	for _, filter := range t.Out {
		if err := topic.CheckFilter(filter); err != nil {
			return fmt.Errorf("bridge: Target.Out: %w", err)
		}
	}
	if t.ClientID == "" {
		t.ClientID = "ferry-" + c.Node + "-" + c.Name
	}
	if t.KeepAlive <= 0 {
		t.KeepAlive = 30 * time.Second
	}
	if t.SessionExpiry <= 0 {
		t.SessionExpiry = time.Hour
	}
	return nil
}
