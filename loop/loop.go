package loop

import (
	"iter"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

const (
	eventBatch  = 256                    // most events in one turn
	acceptShare = 64                     // most connections that a listener accepts in one turn
	acceptPause = 100 * time.Millisecond // time before accepting is tried again
)

// Loop drives some of a Group's connections. Any goroutine may call Post, PostWait and Index. Only code on the loop may call
// the other methods: handlers, timers and posted functions.
type Loop struct {
	cfg     Config
	index   int
	sys     sockets
	splicer splicer // sys, if it can splice; otherwise nil
	mail    mailbox
	wheel   wheel
	free    freeChunks
	stats   Stats

	conns         []*Conn // indexed by the socket's number
	count         int     // connections in conns, plus failed dials in ended
	origins       []origin
	ticketOf      []uint32     // indexed by the socket's number: the ticket of an accepted connection, if its Listener has a Gate
	maxConns      atomic.Int64 // Config.MaxConns, or the value of Group.SetMaxConns
	accepted      atomic.Int64 // accepted connections in count, and those that come: see Listener.place. Any loop changes it
	gen           uint32
	acceptors     map[int32]*acceptor
	acceptPending bool        // an acceptor has more to accept
	toRead        []*Conn     // connections that had more to read than their share of the last turn, or were resumed
	toFlush       []*Conn     // connections with something to write
	ended         []endedConn // connections to close at the end of the turn
	events        []event
	readBuf       []byte // lent to Handler.Data
	lent          chunk  // the bytes of WriteNow while it writes them

	// The emptied lists of the last turn, reused in the next turn.
	spareConns []*Conn
	spareEnded []endedConn

	unreadBytes int // memory of all unread bytes
	held        int // memory of the buffers that handlers keep: see Hold

	start    time.Time     // time when the group was created
	now      time.Duration // time since start; updated once a turn
	stopping bool          // run ends when no connection is left
	done     chan struct{}
}

// endedConn is a dead connection whose socket is still open.
type endedConn struct {
	conn  *Conn
	cause error
	reset bool // the peer gets a reset instead of an end
}

func newLoop(g *Group, index int) (*Loop, error) {
	sys, err := newSockets(g.cfg)
	if err != nil {
		return nil, err
	}
	l := &Loop{
		cfg: g.cfg, index: index, sys: sys,
		acceptors: make(map[int32]*acceptor),
		events:    make([]event, eventBatch),
		readBuf:   make([]byte, g.cfg.ReadBuffer),
		start:     g.start,
		gen:       rand.Uint32(), // Conn.ID differs from those of the process before
		done:      make(chan struct{}),
	}
	l.splicer, _ = sys.(splicer)
	l.maxConns.Store(int64(g.cfg.MaxConns))
	return l, nil
}

// Index returns the loop's index in Group.Loops.
func (l *Loop) Index() int { return l.index }

// All returns the connections that are not dead, with their handlers, in no particular order. The caller must not dial during
// the iteration.
func (l *Loop) All() iter.Seq2[*Conn, Handler] {
	return func(yield func(*Conn, Handler) bool) {
		for _, c := range l.conns {
			if c != nil && !c.is(dead) && !yield(c, c.handler) {
				return
			}
		}
	}
}

// Stopping reports whether Group.Shutdown has asked the handlers of this loop to finish. The loop ends with its last connection, so a
// connection that is dialed later must not be kept without a use. It is called on the loop.
func (l *Loop) Stopping() bool { return l.stopping }

// Now returns the time since the Group was created, as the loop's clock shows it. The clock is updated once a turn.
func (l *Loop) Now() time.Duration { return l.now }

// tickAfter returns the first tick at least d after now. The sum does not overflow for any d.
func (l *Loop) tickAfter(d time.Duration) uint64 {
	return (uint64(l.now) + uint64(max(d, 0)) + uint64(tick-1)) / uint64(tick)
}

// run runs the loop until it is stopping and its last connection is closed.
func (l *Loop) run() {
	defer close(l.done)
	for !l.stopping || l.count > 0 {
		l.turn()
	}
	for _, f := range l.mail.close() {
		f()
	}
	// The functions above may have dialled, or written to a connection. No turn follows, so all connections are aborted.
	for _, c := range l.conns {
		if c != nil {
			c.Abort(ErrShutdown)
		}
	}
	for len(l.ended) > 0 {
		l.closeEnded()
	}
	l.sys.release()
}

// turn handles events, then writes the queues, then closes ended connections. In this order, all bytes that several events
// write to one connection leave in one system call. No socket's number is reused while an event for its last user is pending.
func (l *Loop) turn() {
	n := l.poll()
	l.now = time.Since(l.start)
	l.stats.Turns++
	l.drain(&l.toRead, readQueued, l.serve)
	for _, e := range l.events[:n] {
		l.handle(e)
	}
	if l.acceptPending {
		l.acceptMore()
	}
	posted := l.mail.take()
	for _, f := range posted {
		f()
	}
	l.stats.Posted += int64(len(posted))
	clear(posted)
	l.wheel.advance(uint64(l.now/tick), wheelShare)
	l.drain(&l.toFlush, flushQueued, l.flush)
	l.closeEnded()
}

// poll asks for events and returns their number. It waits for the first event only if there is nothing else to do.
func (l *Loop) poll() int {
	n := l.wait(0)
	if n > 0 || len(l.toRead) > 0 || len(l.toFlush) > 0 || len(l.ended) > 0 || l.acceptPending || l.wheel.behind || !l.mail.sleep() {
		return n
	}
	timeout := time.Duration(-1)
	if ticks, ok := l.wheel.nextSlot(); ok {
		at := l.now.Truncate(tick) + time.Duration(ticks)*tick
		timeout = max(at-time.Since(l.start), 0)
	}
	n = l.wait(timeout)
	l.mail.asleep.Store(false)
	return n
}

func (l *Loop) wait(timeout time.Duration) int {
	l.stats.Polls++
	n, err := l.sys.wait(l.events, timeout)
	if err != nil {
		// The call fails only for an invalid descriptor or address. A loop cannot continue after that.
		panic("loop: wait for events: " + err.Error())
	}
	return n
}

// handle handles one event.
func (l *Loop) handle(e event) {
	c := l.conn(e.id)
	if c == nil {
		if a := l.acceptors[e.id]; a != nil && a.gen == e.gen && !a.paused { // a paused acceptor tries again later
			a.acceptBatch()
		}
		return
	}
	if c.gen != e.gen || c.is(dead) {
		return
	}
	if c.is(connecting) {
		l.connected(c)
		if c.is(dead) {
			return
		}
	}
	if e.ready&readyEnd != 0 {
		c.state |= hungUp
		if c.is(peerEnded) {
			l.checkReset(c)
		}
	}
	if e.ready&(readyRead|readyEnd) != 0 {
		c.markReadable()
		if !c.is(readQueued) { // a queued c has used its share of this turn
			l.serve(c)
		}
	}
	if e.ready&(readyWrite|readyEnd) != 0 && c.is(blocked) {
		c.state &^= blocked
		l.flushLater(c)
	}
}

// conn returns the connection whose socket has the number id, or nil.
func (l *Loop) conn(id int32) *Conn {
	if int(id) >= len(l.conns) || id < 0 {
		return nil
	}
	return l.conns[id]
}

// adopt creates the Conn of a socket.
func (l *Loop) adopt(id int32, h Handler, s state) *Conn {
	c := &Conn{loop: l, handler: h, id: id, gen: l.nextGen(), state: s}
	c.entry = wheelEntry{owner: c, level: notInWheel}
	l.count++
	if c.is(accepted) {
		l.stats.Accepted++
	} else {
		l.stats.Dialed++
	}
	if id >= 0 {
		if int(id) >= len(l.conns) {
			l.conns = slices.Grow(l.conns, int(id)+1-len(l.conns))[:id+1]
		}
		l.conns[id] = c
	}
	return c
}

func (l *Loop) nextGen() uint32 {
	l.gen++
	return l.gen
}

// readLater makes the next turn read c.
func (l *Loop) readLater(c *Conn) {
	if !c.is(readQueued) {
		c.state |= readQueued
		l.toRead = append(l.toRead, c)
	}
}

// flushLater makes the end of this turn flush c.
func (l *Loop) flushLater(c *Conn) {
	if !c.is(flushQueued) {
		c.state |= flushQueued
		l.toFlush = append(l.toFlush, c)
	}
}

// drain empties a list and calls f for each of its connections. Connections that f appends stay for the next turn.
func (l *Loop) drain(list *[]*Conn, queued state, f func(*Conn)) {
	if len(*list) == 0 {
		return
	}
	turn := *list
	*list, l.spareConns = l.spareConns[:0], nil
	for i, c := range turn {
		turn[i] = nil
		c.state &^= queued
		if !c.is(dead) {
			f(c)
		}
	}
	l.spareConns = turn[:0]
}

// closeEnded closes the sockets of dead connections and calls Closed.
func (l *Loop) closeEnded() {
	turn := l.ended
	if len(turn) == 0 {
		return
	}
	l.ended, l.spareEnded = l.spareEnded[:0], nil
	for _, e := range turn {
		c := e.conn
		l.wheel.remove(&c.entry)
		if c.id >= 0 {
			l.sys.close(c.id, e.reset)
			l.conns[c.id] = nil
		}
		l.count--
		if c.is(accepted) {
			l.leaveOrigin(c)
		}
		l.stats.Closed++
		if c.layered != nil {
			c.layered.layer.Close()
		}
		c.handler.Closed(c, e.cause)
		l.dropQueues(c)
		l.dropUnread(c)
	}
	clear(turn)
	l.spareEnded = turn
	for _, a := range l.acceptors {
		if a.paused {
			a.acceptLater()
		}
	}
}
