package forward

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/internal/topic"
	"example.com/ferry/link"
	"example.com/ferry/link/spool"
	"example.com/ferry/protocol/native"
)

// Link passes messages on to another node. All methods may overlap. An outbox has the messages; the Link has the connections and the tags
// that the other node grants.
type Link struct {
	cfg         Config
	own         native.Path
	ctx         context.Context // ends when Close is called
	cancel      context.CancelFunc
	confirmSoon chan struct{} // of capacity 1: confirmations has something to do
	ended       sync.WaitGroup
	box         *link.Outbox

	// The lock of box guards what follows.
	conn     *conn           // nil while the link is down
	tags     map[string]*Tag // that have a grant on conn, or have requested one
	uses     uint64          // counts the uses of tags
	stats    Stats
	target   Target
	updates  uint64        // calls of Update that have changed more than the tags
	redial   chan struct{} // of capacity 1: the target has changed
	down     error         // why there is no connection
	reported bool          // down is logged
	since    time.Time     // when the connection was made or lost
}

// Target is what Update changes of a Link.
type Target struct {
	Tags   []string
	Dialer Dialer
	Addr   string
	Token  []byte
}

var _ broker.Forwarder = (*Link)(nil)

// New returns a Link that connects in the background. It opens the spool, whose messages of an earlier process come first. Close
// ends it.
func New(cfg Config) (*Link, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	s, err := spool.Open(cfg.Spool)
	if err != nil {
		return nil, fmt.Errorf("forward: link %q: %w", cfg.Name, err)
	}
	l := &Link{
		cfg: cfg, own: native.Path{cfg.Node}, confirmSoon: make(chan struct{}, 1),
		tags: map[string]*Tag{}, since: time.Now(), down: errConnecting, redial: make(chan struct{}, 1),
		target: Target{cfg.Tags, cfg.Dialer, cfg.Addr, cfg.Token},
		stats:  Stats{Name: cfg.Name},
		box:    link.New(s, link.Config{Block: cfg.BlockWhenFull, Memory: cfg.Memory, SafeWithin: cfg.SafeWithin, Log: cfg.Log.With("link", cfg.Name)}),
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.ended.Go(l.connect)
	return l, nil
}

// Tag returns the tag with a name, or nil if the link does not forward it.
func (l *Link) Tag(name string) broker.ForwardedTag {
	l.box.Lock()
	defer l.box.Unlock()
	for _, filter := range l.target.Tags {
		if topic.Match(filter, name) {
			return l.tagOf(name)
		}
	}
	return nil
}

// Update replaces the target. The caller then calls broker.Broker.SetForwarders, so that the tags count. If more than the tags changes,
// the link finishes its connection and dials again; meanwhile messages go to the spool.
func (l *Link) Update(next Target) {
	l.box.Lock()
	was, c := l.target, l.conn
	l.target = next
	same := was.Dialer == next.Dialer && was.Addr == next.Addr && bytes.Equal(was.Token, next.Token)
	if !same {
		l.updates++
	}
	l.box.Unlock()
	if same {
		return
	}
	signal(l.redial)
	if c != nil {
		l.box.Pause(c)
		go c.leave()
	}
}

// Await calls done once all messages up to a position are safe.
func (l *Link) Await(position uint64, done func()) { l.box.Await(position, done) }

// Full reports whether messages wait for the connection, or for the disk.
func (l *Link) Full() bool { return l.box.Full() }

// AwaitRoom calls resume once Full is false. cancel releases resume.
func (l *Link) AwaitRoom(resume func()) (cancel func()) { return l.box.AwaitRoom(resume) }

// signal wakes the goroutine that reads ch, a channel of capacity 1.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// Close ends the link. What the other node has not confirmed is written to the spool, where the next Link finds it. Messages that
// arrive later are dropped, and counted in the result of Stats. The error is that of ctx if the other node did not confirm the last
// messages before; they are in the spool.
func (l *Link) Close(ctx context.Context) error {
	l.box.Stop()
	l.box.Lock()
	c := l.conn
	l.box.Unlock()
	var err error
	if c != nil {
		err = l.settle(ctx, c)
	}
	l.cancel()
	l.ended.Wait()
	if e := l.box.Close(); err == nil && e != nil {
		err = fmt.Errorf("forward: link %q: %w", l.cfg.Name, e)
	}
	return err
}

// settle waits until the other node has confirmed what was sent to it, and closes the connection.
func (l *Link) settle(ctx context.Context, c *conn) error {
	err := c.confirm(ctx)
	if err == nil {
		c.peer.Leave()
		c.peer.Close(nil)
		return nil
	}
	c.peer.Close(errClosed)
	if ctx.Err() == nil {
		return nil // the connection was lost: its messages are in the spool
	}
	return fmt.Errorf("forward: link %q: the other node has not confirmed the last messages, which stay in the spool: %w", l.cfg.Name, err)
}
