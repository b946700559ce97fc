package forward

import (
	"bytes"

	"example.com/ferry/broker"
	"example.com/ferry/internal/topic"
	"example.com/ferry/link"
	"example.com/ferry/protocol/native"
)

// Link passes messages on to another node. All methods may overlap. A link.Line has the messages and the connections; the Link has the
// tags that the other node grants.
type Link struct {
	*link.Line
	cfg         Config
	own         native.Path
	confirmSoon chan struct{} // of capacity 1: confirmations has something to do

	// The lock of Line.Box guards what follows.
	uses          uint64 // counts the uses of tags
	node          string // Stats.Node
	target        Target
	dropsReported bool // the log says that the other node drops messages
}

var _ broker.Forwarder = (*Link)(nil)

// New returns a Link that connects in the background. It opens the spool, whose messages of an earlier process come first. Close
// ends it.
func New(cfg Config) (*Link, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	line, err := link.Open(cfg.Config)
	if err != nil {
		return nil, err
	}
	cfg.Config = line.Config
	l := &Link{Line: line, cfg: cfg, own: native.Path{cfg.Node}, confirmSoon: make(chan struct{}, 1), target: cfg.Target}
	l.Start(l.dial)
	return l, nil
}

// Tag returns the tag with a name, or nil if the link does not forward it.
func (l *Link) Tag(name string) broker.ForwardedTag {
	l.Box.Lock()
	defer l.Box.Unlock()
	for _, filter := range l.target.Tags {
		if topic.Match(filter, name) {
			c, _ := l.Conn().(*conn)
			return l.tagOf(c, name)
		}
	}
	return nil
}

// Update replaces the target. The caller then calls broker.Broker.SetForwarders, so that the tags count. If more than the tags changes,
// the link finishes its connection and dials again; meanwhile messages go to the spool.
func (l *Link) Update(next Target) {
	l.Box.Lock()
	was := l.target
	l.target = next
	l.Box.Unlock()
	if was.Dialer != next.Dialer || was.Addr != next.Addr || !bytes.Equal(was.Token, next.Token) {
		l.Redial()
	}
}

// signal wakes the goroutine that reads ch, a channel of capacity 1.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Stats is the state of a Link at one moment. Beside the reasons of package link, Dropped has too_long and hops.
type Stats struct {
	link.Stats
	Node string // id of the other node; "" before the first connection, and if it has an earlier version
	Tags int    // that the link has requested of the other node
}

// The reasons for dropping a message beside those of an outbox.
const (
	dropTooLong = "too_long" // the other node takes no frame of this length
	dropHops    = "hops"     // the message has passed as many nodes as a path may have
)

// Stats returns a copy of the counters.
func (l *Link) Stats() Stats {
	s := Stats{Stats: l.Line.Stats()}
	l.Box.Lock()
	defer l.Box.Unlock()
	s.Node = l.node
	if c, ok := l.Conn().(*conn); ok {
		s.Tags = len(c.tags)
	}
	return s
}
