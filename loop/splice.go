package loop

import "errors"

// Splicer is a Handler that lets the loop pass received bytes to another connection without lending them to the process. Conn.Splice
// turns that on. It is for long bodies of which nothing is read.
type Splicer interface {
	Handler
	// SpliceTo returns the connection of the same loop that the next bytes go to, and how many of them go there. Data gets the bytes if
	// the connection is nil. The loop calls SpliceTo before each read.
	SpliceTo(c *Conn) (to *Conn, n int64)
	// Spliced is called instead of Data when n bytes have been passed on. The socket has accepted them, or they are queued, as after
	// WriteNow. If n is all that SpliceTo has named, Conn.Readable is exact.
	Spliced(c *Conn, n int)
}

// splicer is what sockets implement that can pass bytes on without a copy.
type splicer interface {
	// splice moves up to n bytes that a socket has received into a pipe, and from there to another socket. received is how many it has moved,
	// sent how many the other socket has accepted. The caller takes the rest with unspliced. The error is that of the first socket; with
	// errNoSplice nothing was moved, and read has to be used. again reports that the other socket accepts no more.
	splice(from, to int32, n int) (received, sent int, again bool, err error)
	// unspliced reads bytes that splice has left in the pipe.
	unspliced(p []byte) (int, error)
	// pending returns how many bytes a socket has received that were not read.
	pending(id int32) int
	// quiet reports whether neither bytes nor the end of the peer's side have arrived that were not read.
	quiet(id int32) bool
}

const smallSplice = 16 << 10 // bytes

// errNoSplice means that bytes cannot be passed on without a copy.
var errNoSplice = errors.New("loop: no splice")

// Splice makes the loop call SpliceTo of the handler, a Splicer, before it reads. It lasts until SetHandler, and until a splice moves less
// than 16 KiB: bytes that come in small portions cost less if they are read. It does nothing on a system that cannot splice, or if c has
// a layer.
func (c *Conn) Splice() {
	if c.loop.splicer != nil && c.layered == nil {
		c.state |= splicing
	}
}

// Quiet asks the system whether nothing has arrived that was not read: no bytes, no end of the peer's side and no error. It returns false if
// the system does not tell.
func (c *Conn) Quiet() bool {
	return c.loop.splicer != nil && c.loop.conn(c.id) == c && c.loop.splicer.quiet(c.id)
}

// spliceTarget returns where the next bytes of c go and how many of them, or nil.
func (l *Loop) spliceTarget(c *Conn) (to *Conn, n int64) {
	if !c.is(splicing) || c.unread != nil {
		return nil, 0
	}
	h, ok := c.handler.(Splicer)
	if !ok {
		return nil, 0
	}
	to, n = h.SpliceTo(c)
	if to == nil || n <= 0 || to.loop != l || to.layered != nil || to.is(connecting|blocked|dead|closing|writeClosing) {
		return nil, 0
	}
	return to, n
}

// splice passes bytes of c to another connection: at most most, the number of SpliceTo, and at most left, what remains of c's share of the
// turn. What the other connection does not accept is queued.
func (l *Loop) splice(c, to *Conn, most int64, left int) (int, error) {
	if l.writeNow(to, nil); to.queue.head != nil {
		return 0, errNoSplice // Data gets the bytes and sees that the queue is full
	}
	n := min(left, l.spliceLimit())
	if most <= int64(n) || most-int64(n) < leastSpliced && !l.crowded() { // a short rest would cost as much as a long one
		n = int(most)
	}
	received, sent, again, err := l.splicer.splice(c.id, to.id, n)
	if errors.Is(err, errNoSplice) {
		return 0, err
	}
	l.stats.Reads++
	l.stats.BytesIn += int64(received)
	l.stats.BytesOut += int64(sent)
	if err != nil {
		c.state &^= readable
		return 0, err
	}
	l.stats.Writes++
	l.stats.Spliced += int64(sent)
	if again {
		to.state |= blocked | writeBegun
		l.watchWrite(to, true)
	}
	for rest := received - sent; rest > 0; {
		k, err := l.splicer.unspliced(l.readBuf[:min(rest, len(l.readBuf))])
		if err != nil {
			to.fail("splice", err)
			break
		}
		to.Write(l.readBuf[:k])
		poison(l.readBuf[:k])
		rest -= k
	}
	to.limitPassed()
	if received < smallSplice {
		c.state &^= splicing
	}
	if int64(received) == most && !c.is(hungUp) && l.splicer.pending(c.id) == 0 {
		c.state &^= readable
	}
	return received, nil
}
