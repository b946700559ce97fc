package link

import (
	"context"
	"errors"
	"sync"

	"example.com/ferry"
	"example.com/ferry/internal/peer"
	"example.com/ferry/link/spool"
	"example.com/ferry/protocol/native"
)

// Store is where an Outbox keeps messages on disk: a *spool.Spool. It is an interface so that tests can make it fail.
type Store interface {
	TryAppend(m *ferry.Message) (index uint64, err error)
	TryRead(limit int) ([]spool.Record, error)
	Rewind()
	Advance(index uint64) error
	Stats() spool.Stats
	Close() error
}

var _ Store = (*spool.Spool)(nil)

// Wire is one connection of an Outbox. The Outbox calls its methods with the lock held.
type Wire interface {
	// Send sends frames of a tag, as far as the other side takes them now. It returns the length and the number of the frames that need
	// nothing any more: those that are sent, or dropped and counted. path is where they come from; nil means clients of this node.
	Send(tag string, path *native.Path, frames []byte, u *peer.Unflushed) (size, count int)

	// Expect says that messages on a tag will be sent soon.
	Expect(tag string)

	// ConfirmSoon asks for the confirmation of what was sent.
	ConfirmSoon()
}

// The reasons for dropping a message, which are keys of Stats.Dropped.
const (
	DropFull   = "full"   // the spool, or its disk, is full
	DropDisk   = "disk"   // the spool could not be written, or is smaller than the message; or a record could not be read
	DropClosed = "closed" // the Outbox was closed before
)

var errConnecting = errors.New("link: the first connection is not made yet")

// Outbox sends messages over a Wire, and keeps them until they are confirmed. All methods may overlap. Those that need the lock say so.
type Outbox struct {
	cfg        Config
	store      Store
	recordSize int // bytes of frames from which on a record of the spool gets no more
	ctx        context.Context
	cancel     context.CancelFunc
	wake       chan struct{} // of capacity 1: the worker has something to do
	ended      sync.WaitGroup

	mu         sync.Mutex
	wire       Wire   // nil while there is no connection
	paused     bool   // the wire takes nothing more
	generation uint64 // counts the calls of Attach and Detach
	writing    bool   // the worker writes messages of memory: they stay where they are
	returning  bool   // what the last wire has not confirmed is held again when writing ends; nothing is sent until then
	closed     bool

	waiting memory // held: the tags have no unsent messages elsewhere
	parked  memory // held: behind unsent messages on disk, or to be written to it
	disk    records
	safe    epochs

	sent        peer.Queue // copies of what is sent, not confirmed, and not on disk
	flights     peer.FIFO[flight]
	firstFlight uint64 // number of the first of flights
	copied      uint64 // the flights below this number are on disk, or on the way to it
	diskBytes   int    // of flights on disk
	unconfirmed int    // messages of flights
	sentTotal   uint64 // messages sent over the wire
	confirmed   uint64 // messages of them that are confirmed

	reads, writes retry
	refused       []refusal // whose publishers are not told yet
	stats         Stats
	uncounted     uint64 // messages of flights that the other side has not taken
}

// flight is messages that were sent over the wire, in one piece, and that are not confirmed.
type flight struct {
	run
	index uint64 // of the record that has the messages; 0: they are in Outbox.sent
	part  bool   // the rest of the record follows
}

// refusal is messages that were dropped, and their publisher.
type refusal struct {
	from Origin
	n    int
	why  error
}

// New returns an Outbox, which owns the store from now on. The records of an earlier process come first. Of cfg it needs BlockWhenFull,
// Memory, SafeWithin and Log.
func New(store Store, cfg Config) *Outbox {
	s := store.Stats()
	o := &Outbox{
		cfg: cfg, store: store, recordSize: int(min(maxRun, max(s.MaxBytes/16, 1))), wake: make(chan struct{}, 1),
		parked: memory{tags: map[string]int{}}, stats: Stats{Dropped: map[string]uint64{}},
	}
	o.disk.open(s.First, s.Last)
	o.ctx, o.cancel = context.WithCancel(context.Background())
	o.ended.Go(o.work)
	return o
}

// Lock takes the lock of the Outbox, which guards the state of its wires, too.
func (o *Outbox) Lock() { o.mu.Lock() }

// Unlock releases the lock. Then it tells the publishers of refused messages, and makes the calls that waited for a change.
func (o *Outbox) Unlock() {
	refused := o.refused
	o.refused = nil
	due := o.safe.due(!o.full())
	o.mu.Unlock()
	for _, r := range refused {
		r.from.Refused(r.n, r.why)
	}
	for _, call := range due {
		call()
	}
}

// Wake says that the wire may take more.
func (o *Outbox) Wake() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Attach makes w the wire. What the store has is sent first.
func (o *Outbox) Attach(w Wire) {
	o.Lock()
	o.wire, o.paused, o.sentTotal, o.confirmed = w, false, 0, 0
	o.generation++
	o.Unlock()
	o.Wake()
}

// Pause ends the sending over w. What is sent may still be confirmed.
func (o *Outbox) Pause(w Wire) {
	o.Lock()
	if o.wire == w {
		o.paused = true
	}
	o.Unlock()
	o.Wake()
}

// Detach notes that w has ended. What it has not confirmed is sent over the next wire.
func (o *Outbox) Detach(w Wire) {
	o.Lock()
	defer o.Wake()
	defer o.Unlock()
	if o.wire != w {
		return
	}
	o.wire = nil
	o.generation++
	if o.returning = o.writing; !o.returning {
		o.holdAgain()
	}
}

// holdAgain holds what is sent and not confirmed. It comes before what is held already. The caller holds the lock.
func (o *Outbox) holdAgain() {
	o.uncounted, o.diskBytes, o.unconfirmed, o.returning = 0, 0, 0, false
	o.disk.disconnected(o.flights.All())
	held := memory{tags: map[string]int{}}
	held.frames, o.sent = o.sent, peer.Queue{}
	for o.flights.Len() > 0 {
		if f := o.flights.Pop(); f.index == 0 {
			held.describe(f.run)
		}
		o.firstFlight++
	}
	o.copied = o.firstFlight
	o.parked.moveTo(&held)
	o.waiting.moveTo(&held)
	o.parked = held
}

// connected reports whether the wire takes messages. The caller holds the lock.
func (o *Outbox) connected() bool { return o.wire != nil && !o.paused && !o.returning && !o.closed }

// Current reports whether w is the wire. The caller holds the lock.
func (o *Outbox) Current(w Wire) bool { return o.wire == w }

// Stop ends the sending. What Push gets from now on is dropped and counted; what is sent may still be confirmed.
func (o *Outbox) Stop() {
	o.Lock()
	o.closed = true
	o.Unlock()
	o.Wake()
}

// Close stops the Outbox, and detaches the wire. What is not confirmed is written to the store, which is then closed.
func (o *Outbox) Close() error {
	o.Stop()
	o.mu.Lock()
	w := o.wire
	o.mu.Unlock()
	if w != nil {
		o.Detach(w)
	}
	o.cancel()
	o.ended.Wait()
	return o.store.Close()
}
