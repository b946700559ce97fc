package link

// write writes the oldest messages of memory to the store, as one record. Those that are sent come first: nothing of their tags is on disk
// that is unsent. It returns false if nothing was written.
func (w *worker) write() bool {
	o := w.box
	o.mu.Lock()
	o.writing = true
	isSent := o.sent.Bytes() > 0
	var r run
	var number uint64
	if isSent {
		number = o.firstInMemory()
		r = o.flights.All()[number-o.firstFlight].run
		o.copied = number + 1 // the flight does not grow meanwhile
		w.frames = o.sent.AppendFront(w.frames[:0], r.bytes)
	} else {
		o.waiting.moveTo(&o.parked)
		front, frames := o.parked.front()
		r = *front
		frames, r.count = leading(frames, o.recordSize)
		w.frames = append(w.frames[:0], frames...)
		r.bytes = len(frames)
	}
	o.mu.Unlock()
	w.buf = appendRecord(w.buf[:0], r.path, r.count, w.frames)
	m := recordOf(r.tag, w.buf, w.frames)
	index, err := o.store.TryAppend(&m)

	o.Lock()
	defer o.Unlock()
	o.writing = false
	if o.returning {
		defer o.holdAgain()
	}
	if err != nil {
		if o.writes.failed(err) {
			o.cfg.Log.Error("link: the spool does not take messages", "err", err)
		}
		if isSent {
			o.copied = number
		}
		return false
	}
	o.writes = retry{}
	o.stats.Spooled += uint64(r.count)
	switch {
	case isSent && number < o.firstFlight:
		o.disk.addSent(index, true) // they are confirmed meanwhile
	case isSent:
		o.landed(&o.flights.All()[number-o.firstFlight], index)
	default:
		o.safe.add(r.epoch, -r.bytes)
		o.parked.cut(r.bytes, r.count)
		if o.disk.addUnsent(index, r.tag); o.disk.unknown == index {
			o.waiting.moveTo(&o.parked) // all tags wait
		}
	}
	return true
}

// firstInMemory returns the number of the first flight whose messages are not on disk.
func (o *Outbox) firstInMemory() uint64 {
	number := max(o.copied, o.firstFlight)
	for o.flights.All()[number-o.firstFlight].index != 0 {
		number++
	}
	return number
}

// landed notes that the messages of f, the first flight in memory, are in a record. The caller holds the lock.
func (o *Outbox) landed(f *flight, index uint64) {
	o.safe.add(f.epoch, -f.bytes)
	for left := f.bytes; left > 0; {
		n := min(left, len(o.sent.Front().Frames))
		o.sent.Cut(n)
		left -= n
	}
	f.index = index
	o.diskBytes += f.bytes
	o.disk.addSent(index, false)
}
