package mqttbridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/internal/peer"
	"example.com/ferry/internal/topic"
	"example.com/ferry/link/internal/waiters"
	"example.com/ferry/link/spool"
)

// Bridge passes messages on between a node and another broker. All methods may overlap.
//
// Messages to the other broker take one of two ways, as those of a link to another node (package forward):
//
//	             connection lost, memory full,
//	             or a publisher waits too long
//	direct ─────────────────────────────────────► spooling
//	  ▲  what is in memory is written first          │
//	  └──────────────────────────────────────────────┘
//	   the connection is up and all messages of the spool are sent
//
//	Forward ──► waiting ──► sent (a copy of what is on its way) ──► confirmed by PUBACK
//	               └──────► spool ──────────────────────────────►
type Bridge struct {
	cfg       Config
	spool     *spool.Spool
	ctx       context.Context // ends when Close is called
	cancel    context.CancelFunc
	sendSoon  chan struct{} // of capacity 1: send has something to do
	storeSoon chan struct{} // of capacity 1: store has something to do
	redial    chan struct{} // of capacity 1: the target has changed
	ended     sync.WaitGroup

	mu       sync.Mutex
	target   Target
	updates  uint64 // calls of Update
	conn     *conn  // nil while the bridge is down
	pushed   uint64 // messages that Forward has taken
	waiting  queue  // not sent
	sent     queue  // on their way, and not on disk; in the order of flights
	flights  peer.FIFO[flight]
	waiters  waiters.Waiters
	spooling bool
	storing  bool // store writes to the spool: the state stays spooling
	moving   bool // store writes sent to the spool: it is not changed meanwhile
	closed   bool

	skip      uint64 // records up to this index are on their way already
	confirmed uint64 // index of the last record of the spool that is confirmed
	advanced  uint64 // index of the last record that was removed from the spool

	stats      Stats
	subscribed []string // the filters of the last connection
	down       error    // why there is no connection
	reported   bool     // down is logged
	since      time.Time
	spoolErr   error
	storeAt    time.Time // when a write that has failed is tried again, if messages wait
	storePause time.Duration
	refused    []refusal // whose publishers are not told yet
}

// refusal is a message that was dropped before it was safe, and its publisher.
type refusal struct {
	from broker.Origin
	why  error
}

// flight is a message that was sent over the connection and that is not confirmed.
type flight struct {
	id    uint16 // packet identifier
	index uint64 // of its record in the spool; 0: the message is in Bridge.sent
	acked bool
}

var _ broker.Forwarder = (*Bridge)(nil)

var (
	errClosed     = errors.New("bridge: closed")
	errConnecting = errors.New("bridge: connecting")
	errChanged    = errors.New("bridge: the configuration has changed")
)

// New returns a Bridge that connects in the background. It opens the spool, whose messages of an earlier process come first. Close
// ends it.
func New(cfg Config) (*Bridge, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	s, err := spool.Open(cfg.Spool)
	if err != nil {
		return nil, fmt.Errorf("bridge: %q: %w", cfg.Name, err)
	}
	b := &Bridge{
		cfg: cfg, spool: s, target: cfg.Target, spooling: true, since: time.Now(), down: errConnecting,
		sendSoon: make(chan struct{}, 1), storeSoon: make(chan struct{}, 1), redial: make(chan struct{}, 1),
		stats: Stats{Name: cfg.Name, Dropped: map[string]uint64{}},
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.ended.Go(b.send)
	b.ended.Go(b.store)
	b.ended.Go(b.connect)
	return b, nil
}

// Tag returns the tag with a name, or nil if the bridge does not pass it on.
func (b *Bridge) Tag(name string) broker.ForwardedTag {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, filter := range b.target.Out {
		if topic.Match(filter, name) {
			return tag{b, name}
		}
	}
	return nil
}

// Update replaces the target. The caller then calls broker.Broker.SetForwarders, so that the tags count. The bridge ends its connection
// and dials again; meanwhile messages go to the spool.
func (b *Bridge) Update(next Target) error {
	if err := next.fill(&b.cfg); err != nil {
		return err
	}
	b.mu.Lock()
	b.target = next
	b.updates++
	c := b.conn
	b.mu.Unlock()
	signal(b.redial)
	if c != nil {
		c.fail(errChanged)
	}
	return nil
}

// safe returns the position up to which messages are confirmed, on the disk, or dropped. The caller holds the lock.
func (b *Bridge) safe() uint64 { return b.pushed - uint64(b.sent.Len()+b.waiting.Len()) }

// Await calls done once all messages up to a position are safe.
func (b *Bridge) Await(position uint64, done func()) {
	b.mu.Lock()
	if b.safe() >= position {
		b.mu.Unlock()
		done()
		return
	}
	b.waiters.Await(position, done)
	b.mu.Unlock()
	signal(b.storeSoon)
}

// Full reports whether messages wait for the disk, or for room in the spool.
func (b *Bridge) Full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.full()
}

func (b *Bridge) full() bool { return b.waiting.bytes+b.sent.bytes > b.cfg.Memory }

// AwaitRoom calls resume once Full is false. cancel releases resume.
func (b *Bridge) AwaitRoom(resume func()) (cancel func()) {
	b.mu.Lock()
	if b.full() {
		remove := b.waiters.AwaitRoom(resume)
		b.mu.Unlock()
		return func() {
			b.mu.Lock()
			remove()
			b.mu.Unlock()
		}
	}
	b.mu.Unlock()
	resume()
	return func() {}
}

// unlock releases the lock, tells the publishers of refused messages, and calls what waited for a change.
func (b *Bridge) unlock() {
	refused := b.refused
	b.refused = nil
	due := b.waiters.Due(b.safe(), !b.full())
	b.mu.Unlock()
	for _, r := range refused {
		r.from.Refused(1, r.why)
	}
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

// Close ends the bridge. What the other broker has not confirmed is written to the spool, where the next Bridge finds it. Messages that
// arrive later are dropped, and counted in the result of Stats. Close waits for confirmations until ctx ends.
func (b *Bridge) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	c := b.conn
	b.mu.Unlock()
	if c != nil {
		c.settle(ctx)
		c.leave()
		b.detach(c)
	}
	b.cancel()
	b.ended.Wait()
	if err := b.spool.Close(); err != nil {
		return fmt.Errorf("bridge: %q: %w", b.cfg.Name, err)
	}
	return nil
}
