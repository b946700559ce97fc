package mqttbridge

import (
	"errors"
	"time"

	"example.com/ferry/link/spool"
)

// sender is the state of the goroutine that reads the spool and publishes.
type sender struct {
	bridge *Bridge
	conn   *conn          // over which the last messages were sent
	batch  []spool.Record // that Read has returned, and that are not sent
	read   uint64         // index of the last record that Read has returned
	readAt time.Time      // when a read that has failed is tried again
	pause  time.Duration  // before that
}

const readAtOnce = 256 << 10 // bytes of records that are read together

// send publishes messages at the other broker until Close is called.
func (b *Bridge) send() {
	s := &sender{bridge: b}
	for b.ctx.Err() == nil {
		s.advance()
		c := s.begin()
		if c != nil {
			c.net.cork()
			for s.step(c) {
			}
			c.net.uncork()
		}
		select {
		case <-b.sendSoon:
		case <-b.ctx.Done():
		}
	}
	s.advance()
}

// begin returns the connection. On a new one, the spool is read from its first record again.
func (s *sender) begin() *conn {
	b := s.bridge
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.conn; c != s.conn {
		s.conn, s.batch, s.read = c, nil, 0
		b.skip, b.confirmed = 0, 0
		b.spool.Rewind()
	}
	return s.conn
}

// advance removes from the spool what is confirmed.
func (s *sender) advance() {
	b := s.bridge
	b.mu.Lock()
	index := min(b.confirmed, s.read)
	due := index > b.advanced
	if due {
		b.advanced, b.storeAt = index, time.Time{} // there is room in the spool
	}
	b.mu.Unlock()
	if !due {
		return
	}
	if err := b.spool.Advance(index); err != nil {
		b.cfg.Log.Error("bridge: the spool's position was not stored", "bridge", b.cfg.Name, "err", err)
	}
	signal(b.storeSoon)
}

// step sends one message over c. It returns false if there is nothing to do before something changes.
func (s *sender) step(c *conn) bool {
	b := s.bridge
	b.mu.Lock()
	if b.conn != c || b.closed || c.ctx.Err() != nil || b.flights.Len() >= c.inflight {
		b.mu.Unlock()
		return false
	}
	if b.spooling {
		b.mu.Unlock()
		return s.fromSpool(c)
	}
	if b.waiting.Len() == 0 {
		b.mu.Unlock()
		return false
	}
	m := b.waiting.pop()
	b.sent.push(m)
	b.flights.Push(flight{})
	b.mu.Unlock()
	c.publish(&m)
	return true
}

// fromSpool sends the next record of the spool. Behind the last one the bridge goes on without the spool.
func (s *sender) fromSpool(c *conn) bool {
	b := s.bridge
	if len(s.batch) == 0 {
		if b.spool.Last() <= s.read {
			return s.leaveSpool(c)
		}
		if !s.next() {
			return false
		}
		if len(s.batch) == 0 {
			return true
		}
	}
	record := &s.batch[0]
	m, err := itemOf(&record.Message)
	if err != nil {
		b.cfg.Log.Error("bridge: a record of the spool is dropped", "bridge", b.cfg.Name, "err", err)
	}
	b.mu.Lock()
	if b.conn != c || b.moving { // moved says which records are on their way
		b.mu.Unlock()
		return false
	}
	onItsWay := record.Index <= b.skip
	switch {
	case onItsWay:
	case err != nil:
		b.drop(dropDisk, 1)
		b.flights.Push(flight{index: record.Index, acked: true})
		b.land()
	default:
		b.flights.Push(flight{index: record.Index})
	}
	b.mu.Unlock()
	s.batch = s.batch[1:]
	if !onItsWay && err == nil {
		c.publish(&m)
	}
	return true
}

// next reads the next records, if there are any that are neither confirmed nor lost. It returns false if the spool cannot be read: the
// messages there wait, and it is tried again.
func (s *sender) next() bool {
	b := s.bridge
	if time.Now().Before(s.readAt) {
		return false
	}
	last := b.spool.Last()
	for {
		records, err := b.spool.TryRead(readAtOnce)
		var damage *spool.CorruptError
		switch {
		case errors.As(err, &damage):
			b.cfg.Log.Error("bridge: the spool is damaged", "bridge", b.cfg.Name, "err", err)
			continue
		case err != nil:
			s.pause = longer(s.pause)
			s.readAt = time.Now().Add(s.pause)
			time.AfterFunc(s.pause, func() { signal(b.sendSoon) })
			b.failed("bridge: the spool cannot be read, and its messages wait", err)
			return false
		case len(records) == 0:
			s.read = max(s.read, last)
		default:
			s.read = records[len(records)-1].Index
		}
		s.batch, s.pause = records, 0
		return true
	}
}

// leaveSpool changes to state direct: all records are sent over c.
func (s *sender) leaveSpool(c *conn) bool {
	b := s.bridge
	b.mu.Lock()
	defer b.unlock()
	if b.conn == c && !b.storing && b.spoolErr != nil && b.spool.Last() <= s.read {
		b.resend()
	}
	if b.conn != c || b.storing || b.sent.Len() > 0 && b.spoolErr == nil || b.spool.Last() > s.read {
		signal(b.storeSoon)
		return false
	}
	b.spooling = false
	if b.storeAt.IsZero() { // the error was that of a read
		b.spoolErr = nil
	}
	return b.waiting.Len() > 0
}

// resend lets what an earlier connection has not confirmed, and the spool does not take, be sent again, before what waits. The caller holds
// the lock.
func (b *Bridge) resend() {
	for _, f := range b.flights.All() {
		if f.index == 0 {
			return // sent over this connection
		}
	}
	again := queue{}
	for _, q := range [...]*queue{&b.sent, &b.waiting} {
		for q.Len() > 0 {
			again.push(q.pop())
		}
	}
	b.waiting = again
}

// sending stores the packet identifier of the message that send is about to write. It returns false if the connection has ended.
func (b *Bridge) sending(c *conn, id uint16) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conn != c || b.flights.Len() == 0 {
		return false
	}
	b.flights.Back().id = id
	return true
}

// acknowledged notes the PUBACK of a message.
func (b *Bridge) acknowledged(c *conn, id uint16, failed bool) {
	b.mu.Lock()
	if b.conn != c {
		b.mu.Unlock()
		return
	}
	all := b.flights.All()
	for i := range all {
		if f := &all[i]; f.id == id && !f.acked {
			f.acked = true
			if failed {
				b.stats.Refused++
			} else {
				b.stats.Sent++
			}
			break
		}
	}
	b.land()
	b.unlock()
	signal(b.sendSoon)
}

// land removes the flights at the front that are confirmed. The caller holds the lock.
func (b *Bridge) land() {
	if b.moving {
		return
	}
	for b.flights.Len() > 0 && b.flights.Front().acked {
		switch f := b.flights.Pop(); f.index {
		case 0:
			b.sent.pop()
		default:
			b.confirmed = f.index
		}
	}
	if b.flights.Len() == 0 && b.conn != nil {
		signal(b.conn.settled)
	}
}
