package forward

import (
	"context"
	"errors"
	"time"

	"example.com/ferry/internal/peer"
	"example.com/ferry/link/spool"
	"example.com/ferry/protocol/native"
)

// drainer is the state of the goroutine that writes to the spool and sends from it.
type drainer struct {
	link   *Link
	conn   *conn          // over which the last records were sent
	batch  []spool.Record // that Read has returned
	at     int            // the next record of batch
	offset int            // bytes of its frames that are sent
	sent   int            // messages in them
	read   uint64         // index of the last record that Read has returned
	paths  map[string]*native.Path
	buf    []byte
}

const (
	readAtOnce = 256 << 10 // bytes of records that are read together
	sendAtOnce = 256 << 10 // bytes that are sent without releasing the lock
	lookAgain  = time.Second
)

// run writes messages to the spool and sends those that cannot be sent at once, until Close is called.
func (l *Link) run() {
	d := &drainer{link: l, paths: map[string]*native.Path{}}
	timer := time.NewTimer(lookAgain)
	defer timer.Stop()
	for l.ctx.Err() == nil {
		for d.step() {
		}
		timer.Reset(l.nextLook())
		select {
		case <-l.wake:
		case <-timer.C:
		case <-l.ctx.Done():
		}
	}
	d.spill()
	l.mu.Lock()
	l.drop(dropFull, l.sent.count+l.waiting.count) // the spool did not take them
	l.sent, l.waiting = held{}, held{}
	l.unlock()
}

// nextLook returns the time after which step may have something to do though nothing has woken run.
func (l *Link) nextLook() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	oldest, waits := l.waiters.Oldest()
	if !waits {
		return lookAgain
	}
	return min(max(time.Until(oldest.Add(l.cfg.SafeWithin)), time.Millisecond), lookAgain)
}

// step does what is due. It returns false if there is nothing to do before something changes.
func (d *drainer) step() bool {
	l := d.link
	l.mu.Lock()
	c := l.conn
	if c != d.conn {
		d.conn, d.batch, d.at, d.offset, d.sent = c, nil, 0, 0, 0
		l.spool.Rewind()
		d.read = 0
	}
	spill, spooling := l.mustSpill(), l.spooling
	usable := c != nil && !c.draining
	l.mu.Unlock()
	switch {
	case spill && d.spill():
		return true
	case !usable:
		return false
	case spooling:
		return d.drain(c)
	}
	return l.sendWaiting(c)
}

// mustSpill reports whether messages go from memory to the spool. The caller holds the lock.
func (l *Link) mustSpill() bool {
	memory := l.sent.bytes() + l.waiting.bytes()
	switch c := l.conn; {
	case memory == 0:
		return false
	case l.closed, c == nil, c.draining, l.sent.bytes() > 0 && l.sentOver != c:
		return true
	case l.waiting.bytes() > l.cfg.Memory/2, l.spooling && l.waiting.bytes() > l.cfg.Memory/16:
		return true
	}
	oldest, waits := l.waiters.Oldest()
	return waits && time.Since(oldest) >= l.cfg.SafeWithin
}

// spill writes what is in memory to the spool. It returns false if the spool is full.
func (d *drainer) spill() bool {
	l := d.link
	l.mu.Lock()
	l.spooling, l.moving = true, true
	over, position := l.sentOver, l.sentPos
	any := l.sent.bytes() > 0
	l.unlock()
	first := l.spool.Last()
	done := d.write(&l.sent)
	l.mu.Lock()
	l.moving = false
	if done && any && over == l.conn && over == d.conn && over != nil {
		l.unlock()
		d.skip(l.spool.Last())
		l.mu.Lock()
		l.movedPos, l.movedIndex = position, d.read
	}
	moved, confirmed := l.movedIndex, l.confirmedPos >= l.movedPos
	l.unlock()
	if confirmed && moved > first {
		l.advance(moved)
	}
	return done && d.write(&l.waiting)
}

// skip reads the records up to an index, which were sent before they were written.
func (d *drainer) skip(last uint64) {
	d.batch, d.at, d.offset, d.sent = nil, 0, 0, 0
	for d.read < last {
		records, err := d.next()
		if err != nil {
			return
		}
		for i := range records {
			if r, err := decode(records[i].Message.Payload); err == nil {
				d.link.sentOne(records[i].Index, r.count, len(r.frames))
			}
		}
	}
}

// next returns the next records. It waits for nothing.
func (d *drainer) next() ([]spool.Record, error) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		records, err := d.link.spool.Read(ended, readAtOnce)
		var damage *spool.CorruptError
		if errors.As(err, &damage) {
			d.link.cfg.Log.Error("forward: the spool is damaged", "link", d.link.cfg.Name, "err", err)
			continue
		}
		if err == nil {
			d.read = records[len(records)-1].Index
		}
		return records, err
	}
}

// write writes the messages of h to the spool. It returns false if the spool is full and the messages wait for it.
func (d *drainer) write(h *held) bool {
	l := d.link
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		l.mu.Lock()
		if h.bytes() == 0 {
			l.unlock()
			return true
		}
		front, frames := h.front()
		r := *front
		frames = leading(frames, l.recordSize)
		l.unlock()
		r.bytes, r.count = len(frames), peer.Count(frames)
		d.buf = appendRecord(d.buf[:0], r.path, r.count, frames)
		m := recordOf(r.tag.name, d.buf, frames)
		_, err := l.spool.Append(ended, &m)
		full := errors.Is(err, spool.ErrFull)
		if full && (h == &l.sent || l.cfg.BlockWhenFull) {
			l.note(err)
			return false
		}
		l.mu.Lock()
		switch {
		case full:
			l.drop(dropFull, r.count)
		case err != nil:
			l.drop(dropDisk, r.count)
		default:
			l.stats.Spooled += uint64(r.count)
		}
		h.cut(r.bytes, r.count)
		l.unlock()
		l.note(err)
	}
}

// leading returns the leading frames that have at most limit bytes, but at least one.
func leading(frames []byte, limit int) []byte {
	n := native.Size(frames)
	for n < len(frames) && n+native.Size(frames[n:]) <= limit {
		n += native.Size(frames[n:])
	}
	return frames[:n]
}

// drain sends records of the spool over c. Behind the last one the link goes on without the spool.
func (d *drainer) drain(c *conn) bool {
	l := d.link
	if d.at == len(d.batch) {
		if l.spool.Last() <= d.read || l.empty() {
			return d.leaveSpool(c)
		}
		batch, err := d.next()
		if err != nil {
			return d.leaveSpool(c) // what was left of the spool is lost
		}
		d.batch, d.at = batch, 0
		l.mu.Lock()
		for i := range batch {
			c.request(l.tagOf(batch[i].Message.Tag))
		}
		l.unlock()
	}
	record := &d.batch[d.at]
	r, err := decode(record.Message.Payload)
	if err != nil {
		l.cfg.Log.Error("forward: a record of the spool is dropped", "link", l.cfg.Name, "err", err)
		r = spooled{}
	}
	path := d.intern(r.path)
	l.mu.Lock()
	if l.conn != c || l.sentRecords > l.cfg.Memory/2 {
		l.unlock()
		signal(l.confirmSoon)
		return l.changed(c)
	}
	frames, size, count := r.frames[d.offset:], 0, 0
	if path != nil && l.pointless(*path, r.count-d.sent) {
		size, count = len(frames), r.count-d.sent
		l.uncounted += uint64(count)
	} else {
		size, count = c.send(l.tagOf(record.Message.Tag), path, frames, nil)
	}
	l.unlock()
	d.offset, d.sent = d.offset+size, d.sent+count
	if size < len(frames) {
		return size > 0
	}
	d.at, d.offset, d.sent = d.at+1, 0, 0
	l.sentOne(record.Index, r.count, len(r.frames))
	return true
}

// empty reports whether all records of the spool were advanced.
func (l *Link) empty() bool { return l.spool.Stats().Messages == 0 }

// changed reports whether c is not the connection any more.
func (l *Link) changed(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn != c
}

// leaveSpool changes to state direct: all records are sent over c.
func (d *drainer) leaveSpool(c *conn) bool {
	l := d.link
	l.mu.Lock()
	defer l.unlock()
	if l.conn != c || c.draining || l.closed || l.sent.bytes() > 0 && l.sentOver != c {
		return false
	}
	l.spooling, l.spoolErr = false, nil
	return l.waiting.bytes() > 0
}

// sendWaiting sends messages that wait in memory. It returns false if none could be sent.
func (l *Link) sendWaiting(c *conn) bool {
	l.mu.Lock()
	defer l.unlock()
	progress := 0
	for l.conn == c && l.waiting.bytes() > 0 && progress < sendAtOnce {
		if l.sent.bytes() >= l.cfg.Memory/2 {
			signal(l.confirmSoon)
			break
		}
		r, frames := l.waiting.front()
		t, path := r.tag.current(), r.path
		size, count := c.send(t, path, frames, nil)
		if size == 0 {
			break
		}
		l.keepSent(c, t, path, frames[:size], count)
		l.waiting.cut(size, count)
		progress += size
	}
	if progress > 0 {
		signal(l.confirmSoon)
	}
	return progress > 0
}

// keepSent keeps a copy of n frames that were sent over c. The caller holds the lock.
func (l *Link) keepSent(c *conn, t *Tag, path *native.Path, frames []byte, n int) {
	l.sent.push(t, path, frames, n)
	l.sentPos += uint64(len(frames))
	l.sentOver = c
}

// intern returns one pointer for equal paths of records; nil for the path of this node alone.
func (d *drainer) intern(path native.Path) *native.Path {
	if len(path) == 0 {
		return nil
	}
	key := ""
	for _, node := range path {
		key += node + "/"
	}
	p := d.paths[key]
	if p == nil {
		if len(d.paths) == native.MaxPaths {
			clear(d.paths)
		}
		p = &path
		d.paths[key] = p
	}
	return p
}
