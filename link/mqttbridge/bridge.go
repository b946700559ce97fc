package mqttbridge

import (
	"sync"

	"example.com/ferry/broker"
	"example.com/ferry/internal/peer"
	"example.com/ferry/internal/topic"
	"example.com/ferry/link"
	"example.com/ferry/protocol/native"
)

// Bridge passes messages on between a node and another broker. All methods may overlap. A link.Line has the messages to the broker, and
// the connections.
type Bridge struct {
	*link.Line
	cfg Config

	subscribed []string // the filters that SUBACK has granted; for the goroutine that dials

	// The lock of Line.Box guards what follows.
	target Target
	ended  bool // the broker has ended the last connection, of MQTT 5, before CONNACK

	mu       sync.Mutex // guards the counters of inlets, which count with locks of the broker held
	received uint64
	returned uint64
	dropped  map[string]uint64
}

var _ broker.Forwarder = (*Bridge)(nil)

// New returns a Bridge that connects in the background. It opens the spool, whose messages of an earlier process come first. Close
// ends it.
func New(cfg Config) (*Bridge, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	line, err := link.Open(cfg.Config)
	if err != nil {
		return nil, err
	}
	cfg.Config = line.Config
	b := &Bridge{Line: line, cfg: cfg, target: cfg.Target, dropped: map[string]uint64{}}
	b.Start(b.dial)
	return b, nil
}

// Tag returns the tag with a name, or nil if the bridge does not pass it on.
func (b *Bridge) Tag(name string) broker.ForwardedTag {
	b.Box.Lock()
	defer b.Box.Unlock()
	for _, filter := range b.target.Out {
		if topic.Match(filter, name) {
			return tag{b, name}
		}
	}
	return nil
}

// tag is a tag whose messages go to the other broker.
type tag struct {
	bridge *Bridge
	name   string
}

// Forward takes a run of n frames, which one client has sent. What the bridge itself has published does not go back. See
// broker.ForwardedTag.
func (t tag) Forward(run []byte, n int, path *native.Path, from broker.Origin, u *peer.Unflushed) (position uint64, full bool) {
	b := t.bridge
	b.Box.Lock()
	if c, ok := b.Conn().(*conn); ok && path == nil && n > 0 && native.Frame(run).Source() == c.in.local.ID() {
		b.Box.Return(n)
		run, n = nil, 0
	}
	return b.Box.Push(t.name, path, from, run, n, u)
}

// Update replaces the target. The caller then calls broker.Broker.SetForwarders, so that the tags count. The bridge ends its connection
// and dials again; meanwhile messages go to the spool.
func (b *Bridge) Update(next Target) error {
	if err := next.fill(&b.cfg); err != nil {
		return err
	}
	b.Box.Lock()
	b.target, b.ended = next, false
	b.Box.Unlock()
	b.Redial()
	return nil
}

// Stats is the state of a Bridge at one moment. Beside the reasons of package link, Dropped has those below.
type Stats struct {
	link.Stats
	Received uint64 // messages that were published on this node
}

// The reasons for dropping a message beside those of an outbox.
const (
	dropTooLong      = "too_long"     // the other broker takes no packet of this length
	dropUnsubscribed = "unsubscribed" // no filter of Target.In matches the topic: the session has a subscription of an earlier process
	dropTopic        = "topic"        // the topic cannot be a tag
	dropForbidden    = "forbidden"    // the node takes no messages on the tag, or has too many tags
	dropInvalid      = "invalid"      // the node has refused the payload
	dropRefused      = "refused"      // the stream of the tag has not stored the message, and never will
	dropProperties   = "properties"   // the properties of the message are longer than a node keeps
	dropQueue        = "queue"        // a message of QoS 0 has come while the node was slow
)

// Stats returns a copy of the counters.
func (b *Bridge) Stats() Stats {
	s := Stats{Stats: b.Line.Stats()}
	b.mu.Lock()
	defer b.mu.Unlock()
	s.Received = b.received
	s.Returned += b.returned
	for reason, n := range b.dropped {
		s.Dropped[reason] += n
	}
	return s
}
