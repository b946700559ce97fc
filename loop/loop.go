package loop

import (
	"iter"
	"slices"
	"time"
)

const (
	eventBatch  = 256 // events a turn
	acceptBatch = 64  // connections a listener gives a turn
	acceptPause = 100 * time.Millisecond
)

// Loop drives its share of a Group's connections. Post, PostWait and Index may be called by any goroutine; everything else
// is for what runs on the loop: handlers, timers and posted functions.
type Loop struct {
	cfg   Config
	index int
	sys   sockets
	mail  mailbox
	wheel wheel
	free  chunks
	stats Stats

	conns     []*Conn // by the socket's number
	count     int
	accepted  int // of count
	gen       uint32
	listeners map[int32]*entrance
	ready     []*Conn // have more to be read than their share of the turn was, or were resumed
	dirty     []*Conn // have something to be written
	dying     []*Conn
	buried    []*Conn // the last turn's, emptied
	entering  bool    // a listener has more to accept
	spare     []*Conn // the turn's list, while the next one is filled
	events    []event
	buf       []byte // lent to Data

	start time.Time     // the group's
	now   time.Duration // since start, read once a turn
	leave bool          // stop when no connection is left
	done  chan struct{}
}

func newLoop(g *Group, index int) (*Loop, error) {
	sys, err := newSockets(g.cfg)
	if err != nil {
		return nil, err
	}
	return &Loop{
		cfg: g.cfg, index: index, sys: sys,
		listeners: make(map[int32]*entrance),
		events:    make([]event, eventBatch),
		buf:       make([]byte, g.cfg.ReadBuffer),
		start:     g.start,
		done:      make(chan struct{}),
	}, nil
}

// Index is the loop's place in Group.Loops.
func (l *Loop) Index() int { return l.index }

// All returns the connections that are open or connecting, with their handlers, in no order. None may be dialled while it runs.
func (l *Loop) All() iter.Seq2[*Conn, Handler] {
	return func(yield func(*Conn, Handler) bool) {
		for _, c := range l.conns {
			if c != nil && !c.is(dead) && !yield(c, c.handler) {
				return
			}
		}
	}
}

// Now is the loop's clock: the time since its Group began, read once a turn.
func (l *Loop) Now() time.Duration { return l.now }

// tickAfter returns the first tick that lies d or more after now. The sum does not overflow, whatever d is.
func (l *Loop) tickAfter(d time.Duration) uint64 {
	return (uint64(l.now) + uint64(max(d, 0)) + uint64(tick-1)) / uint64(tick)
}

// run is the loop. It returns when it was told to leave and its last connection is closed.
func (l *Loop) run() {
	defer close(l.done)
	for !l.leave || l.count > 0 {
		l.turn()
	}
	for _, f := range l.mail.close() {
		f()
	}
	// What those have dialled or written to has no loop any more.
	for _, c := range l.conns {
		if c != nil {
			c.Abort(ErrShutdown)
		}
	}
	for len(l.dying) > 0 {
		l.bury()
	}
	l.sys.release()
}

// turn handles what has happened, then writes what came of it, then closes what has ended: in that order, so that what many
// events write to one connection leaves at once, and no number is used again while an event of its last user waits.
func (l *Loop) turn() {
	n := l.poll()
	l.now = time.Since(l.start)
	l.stats.Turns++
	l.each(&l.ready, inReady, l.serve)
	for _, e := range l.events[:n] {
		l.handle(e)
	}
	if l.entering {
		l.enter()
	}
	posted := l.mail.take()
	for _, f := range posted {
		f()
	}
	l.stats.Posted += int64(len(posted))
	clear(posted)
	l.wheel.advance(uint64(l.now / tick))
	l.each(&l.dirty, inDirty, l.flush)
	l.bury()
}

// poll returns how many events there are. It waits for the first only if nothing else is to be done.
func (l *Loop) poll() int {
	n := l.wait(0)
	if n > 0 || len(l.ready) > 0 || len(l.dirty) > 0 || len(l.dying) > 0 || l.entering || !l.mail.sleep() {
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
		// It fails only for a descriptor or memory that is not valid: nothing a loop could go on with.
		panic("loop: wait for events: " + err.Error())
	}
	return n
}

// handle is one event.
func (l *Loop) handle(e event) {
	c := l.conn(e.id)
	if c == nil {
		if in := l.listeners[e.id]; in != nil && in.gen == e.gen && !in.waiting { // its retry comes in time
			in.accept()
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
		if c.is(ended) {
			l.afterEnd(c)
		}
	}
	if e.ready&(readyRead|readyEnd) != 0 {
		c.state |= readable
		if !c.is(inReady) { // else it has had its share of this turn
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

// adopt makes a Conn of a socket.
func (l *Loop) adopt(id int32, h Handler, s state) *Conn {
	c := &Conn{loop: l, handler: h, id: id, gen: l.nextGen(), state: s}
	c.timers.entry = wheelEntry{owner: c, level: notInWheel}
	l.count++
	if c.is(accepted) {
		l.accepted++
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

// again has c served in the next turn.
func (l *Loop) again(c *Conn) {
	if !c.is(inReady) {
		c.state |= inReady
		l.ready = append(l.ready, c)
	}
}

// flushLater has c flushed at the end of the turn, unless it is known that its socket takes nothing.
func (l *Loop) flushLater(c *Conn) {
	if !c.is(inDirty) {
		c.state |= inDirty
		l.dirty = append(l.dirty, c)
	}
}

// each empties a list and does f for all that were in it. What f puts there has its turn in the next one.
func (l *Loop) each(list *[]*Conn, in state, f func(*Conn)) {
	if len(*list) == 0 {
		return
	}
	turn := *list
	*list, l.spare = l.spare[:0], nil
	for i, c := range turn {
		turn[i] = nil
		c.state &^= in
		if !c.is(dead) {
			f(c)
		}
	}
	l.spare = turn[:0]
}

// bury closes the sockets of what has ended, and tells the handlers.
func (l *Loop) bury() {
	turn := l.dying
	if len(turn) == 0 {
		return
	}
	l.dying, l.buried = l.buried[:0], nil
	for _, c := range turn {
		var cause failure
		if c.cause != nil {
			cause = *c.cause
		}
		l.wheel.remove(&c.timers.entry)
		if c.id >= 0 {
			l.sys.close(c.id, cause.reset)
			l.conns[c.id] = nil
		}
		l.count--
		if c.is(accepted) {
			l.accepted--
		}
		l.stats.Closed++
		c.handler.Closed(c, cause.err)
		l.dropQueue(c)
		l.dropUnread(c)
	}
	clear(turn)
	l.buried = turn
	for _, in := range l.listeners {
		if in.waiting {
			in.later()
		}
	}
}
