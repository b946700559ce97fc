package forward

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/internal/peer"
	"example.com/ferry/internal/topic"
	"example.com/ferry/link/internal/waiters"
	"example.com/ferry/link/spool"
	"example.com/ferry/protocol/native"
)

// Link passes messages on to another node. All methods may overlap.
//
// Messages take one of two ways. In state direct they are appended to the connection, and a copy stays in memory until the other node
// has confirmed them. In state spooling they are appended to the spool, and the goroutine of run sends what it reads from there:
//
//	            connection lost, memory full,
//	            or a publisher waits too long
//	direct ────────────────────────────────────► spooling
//	  ▲  what is in memory is written first         │
//	  └─────────────────────────────────────────────┘
//	   the connection is up and all messages of the spool are sent
//
//	Forward ──► sent (a copy of what is on its way) ──► confirmed
//	   └──────► waiting ──► sent, or the spool
type Link struct {
	cfg         Config
	spool       *spool.Spool
	recordSize  int // bytes of frames from which on a record of the spool gets no more
	own         native.Path
	ctx         context.Context // ends when Close is called
	cancel      context.CancelFunc
	wake        chan struct{} // of capacity 1: run has something to do
	confirmSoon chan struct{} // of capacity 1: confirmations has something to do
	ended       sync.WaitGroup

	mu       sync.Mutex
	conn     *conn           // nil while the link is down
	tags     map[string]*Tag // that have a grant on conn, or have requested one
	spooling bool
	closed   bool
	pushed   uint64 // bytes that Forward has taken
	sentPos  uint64 // bytes that were put in sent
	sent     held
	sentOver *conn // the connection of what is in sent
	waiting  held
	waiters  waiters.Waiters

	moving       bool   // run writes sent to the spool: it is not changed meanwhile
	movedPos     uint64 // what was in sent up to this position is in the spool
	movedIndex   uint64 // as the records up to this index, which are sent over conn
	confirmedPos uint64 // bytes of what was put in sent that are confirmed
	sentIndex    uint64 // of the last record that is sent over conn
	sentRecords  int    // bytes of records that are sent over conn and not confirmed
	records      peer.FIFO[sentRecord]

	stats     Stats
	uncounted uint64 // messages that were not confirmed though the bytes before a confirmation include them
	target    Target
	updates   uint64        // calls of Update that have changed more than the tags
	redial    chan struct{} // of capacity 1: the target has changed
	down      error         // why there is no connection
	reported  bool          // down is logged
	since     time.Time     // when the connection was made or lost
	spoolErr  error
}

// Target is what Update changes of a Link.
type Target struct {
	Tags   []string
	Dialer Dialer
	Addr   string
	Token  []byte
}

// sentRecord is a record of the spool that was sent over the connection, and is not confirmed.
type sentRecord struct {
	index        uint64
	count, bytes int
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
		cfg: cfg, spool: s, recordSize: int(min(maxRun, s.Stats().MaxBytes/16)), own: native.Path{cfg.Node}, wake: make(chan struct{}, 1), confirmSoon: make(chan struct{}, 1),
		tags: map[string]*Tag{}, spooling: true, since: time.Now(), down: errConnecting, redial: make(chan struct{}, 1),
		target: Target{cfg.Tags, cfg.Dialer, cfg.Addr, cfg.Token},
		stats:  Stats{Name: cfg.Name, Dropped: map[string]uint64{}},
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.ended.Go(l.run)
	l.ended.Go(l.connect)
	return l, nil
}

// Tag returns the tag with a name, or nil if the link does not forward it.
func (l *Link) Tag(name string) broker.ForwardedTag {
	l.mu.Lock()
	defer l.mu.Unlock()
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
	l.mu.Lock()
	was, c := l.target, l.conn
	l.target = next
	same := was.Dialer == next.Dialer && was.Addr == next.Addr && bytes.Equal(was.Token, next.Token)
	if !same {
		l.updates++
		if c != nil {
			c.draining = true
		}
	}
	l.mu.Unlock()
	if same {
		return
	}
	signal(l.redial)
	if c != nil {
		go c.leave()
	}
}

// safe returns the position up to which messages are confirmed, on the disk, or dropped. The caller holds the lock.
func (l *Link) safe() uint64 {
	return l.pushed - uint64(l.sent.bytes()+l.waiting.bytes())
}

// Await calls done once all messages up to a position are safe.
func (l *Link) Await(position uint64, done func()) {
	l.mu.Lock()
	if l.safe() >= position {
		l.mu.Unlock()
		done()
		return
	}
	l.waiters.Await(position, done)
	l.mu.Unlock()
	signal(l.confirmSoon)
	signal(l.wake)
}

// Full reports whether messages wait for the disk, or for room in the spool.
func (l *Link) Full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.full()
}

func (l *Link) full() bool { return l.waiting.bytes() > l.cfg.Memory }

// AwaitRoom calls resume once Full is false. cancel releases resume.
func (l *Link) AwaitRoom(resume func()) (cancel func()) {
	l.mu.Lock()
	if l.full() {
		remove := l.waiters.AwaitRoom(resume)
		l.mu.Unlock()
		return func() {
			l.mu.Lock()
			remove()
			l.mu.Unlock()
		}
	}
	l.mu.Unlock()
	resume()
	return func() {}
}

// unlock releases the lock and calls what waited for a change.
func (l *Link) unlock() {
	due := l.waiters.Due(l.safe(), !l.full())
	l.mu.Unlock()
	for _, call := range due {
		call()
	}
}

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
	l.mu.Lock()
	l.closed = true
	c := l.conn
	l.mu.Unlock()
	signal(l.wake)
	var err error
	if c != nil {
		err = l.settle(ctx, c)
	}
	l.cancel()
	l.ended.Wait()
	if e := l.spool.Close(); err == nil && e != nil {
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
