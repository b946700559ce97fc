package link

// keep keeps a copy of n messages that were sent. The caller holds the lock.
func (o *Outbox) keep(r run, frames []byte, n int) {
	o.sentTotal += uint64(n)
	o.unconfirmed += n
	for len(frames) > 0 {
		part, count := frames, n
		if len(part) > o.recordSize {
			part, count = leading(frames, o.recordSize)
		}
		o.sent.Push(part, nil)
		r.bytes, r.count = len(part), count
		if !o.join(&r) {
			o.flights.Push(flight{run: r})
		}
		frames, n = frames[len(part):], n-count
	}
}

// join adds messages to the last flight. It returns false if they do not belong to it.
func (o *Outbox) join(r *run) bool {
	n := o.flights.Len()
	if n == 0 || o.firstFlight+uint64(n)-1 < o.copied {
		return false
	}
	last := o.flights.Back()
	if last.index != 0 || last.bytes+r.bytes > o.recordSize || !last.takes(r, r.bytes) {
		return false
	}
	last.bytes += r.bytes
	last.count += r.count
	return true
}

// keepRecord notes that messages of a record were sent. part says that others of it follow. The caller holds the lock.
func (o *Outbox) keepRecord(index uint64, tag string, size, count int, part bool) {
	o.sentTotal += uint64(count)
	o.unconfirmed += count
	o.diskBytes += size
	o.flights.Push(flight{run{tag: tag, bytes: size, count: count}, index, part})
}

// Sent returns the number of messages that were sent over w, and how many of them are not confirmed. The caller holds the lock.
func (o *Outbox) Sent(w Wire) (total uint64, unconfirmed int) {
	if o.wire != w {
		return 0, 0
	}
	return o.sentTotal, o.unconfirmed
}

// Uncount says that the other side has not taken n of the messages that are sent over the wire: they do not count as confirmed. The
// caller holds the lock.
func (o *Outbox) Uncount(n int) { o.uncounted += uint64(n) }

// Confirmed notes that the first messages that were sent over w, up to a number, are confirmed.
func (o *Outbox) Confirmed(w Wire, total uint64) {
	o.Lock()
	if o.wire != w {
		o.Unlock()
		return
	}
	before := o.confirmed
	for o.confirmed < total && o.flights.Len() > 0 {
		o.confirmFirst(total - o.confirmed)
	}
	n := o.confirmed - before
	o.unconfirmed -= int(n)
	dropped := min(n, o.uncounted)
	o.uncounted -= dropped
	o.stats.Confirmed += n - dropped
	o.Unlock()
	o.advance()
	o.Wake()
}

// confirmFirst confirms at most n messages of the first flight.
func (o *Outbox) confirmFirst(n uint64) {
	f := o.flights.Front()
	count := int(min(n, uint64(f.count)))
	o.confirmed += uint64(count)
	if f.index == 0 {
		o.cutSent(f, count)
	}
	if f.count -= count; f.count > 0 {
		return
	}
	if f.index != 0 {
		o.diskBytes -= f.bytes
		if !f.part {
			o.disk.confirm(f.index)
		}
	}
	o.flights.Pop()
	o.firstFlight++
}

// cutSent removes the copies of the first n messages of f, the first flight in memory.
func (o *Outbox) cutSent(f *flight, n int) {
	for n > 0 {
		frames := o.sent.Front().Frames
		size, count := sizeOf(frames[:min(len(frames), f.bytes)], n)
		o.sent.Cut(size)
		o.safe.add(f.epoch, -size)
		f.bytes -= size
		n -= count
	}
}

// advance removes the records from the store that are confirmed, with all before them.
func (o *Outbox) advance() {
	o.mu.Lock()
	index, grown := o.disk.removable()
	if grown && reasonOf(o.writes.err) == DropFull {
		o.writes.at = o.writes.at.Add(-longestPause) // there is room
	}
	o.mu.Unlock()
	if !grown {
		return
	}
	if err := o.store.Advance(index); err != nil {
		o.cfg.Log.Error("link: the spool's position was not stored", "err", err)
	}
}
