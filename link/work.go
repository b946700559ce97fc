package link

import (
	"errors"
	"time"

	"example.com/ferry/internal/peer"
	"example.com/ferry/link/spool"
)

// worker is the state of the goroutine that writes to the store, and sends what cannot be sent at once.
type worker struct {
	box        *Outbox
	generation uint64         // of the Outbox, for what follows
	batch      []spool.Record // that Read has returned
	at         int            // the next record of batch
	offset     int            // bytes of its frames that are sent
	paths      paths
	frames     []byte // of the record that is written
	buf        []byte
}

const (
	readAtOnce = 256 << 10 // bytes of records that are read together
	sendAtOnce = 256 << 10 // bytes that are sent without releasing the lock
	lookAgain  = time.Second
)

// work writes and sends until Close is called. Then it writes what is left.
func (o *Outbox) work() {
	w := &worker{box: o, paths: paths{}}
	timer := time.NewTimer(lookAgain)
	defer timer.Stop()
	for o.ctx.Err() == nil {
		for w.step() {
		}
		o.advance()
		timer.Reset(o.nextLook())
		select {
		case <-o.wake:
		case <-timer.C:
		case <-o.ctx.Done():
		}
	}
	for o.inMemory() {
		if !w.write() {
			o.Lock()
			o.refuseBlocked()
			o.Unlock()
		}
	}
	o.advance()
}

// nextLook returns the time after which step may have something to do though nothing has woken the worker.
func (o *Outbox) nextLook() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	next := lookAgain
	if oldest, waits := o.safe.oldest(); waits && o.writes.due() {
		next = min(next, time.Until(oldest.Add(o.cfg.SafeWithin)))
	}
	if o.writes.err != nil && o.mustWrite() {
		next = min(next, time.Until(o.writes.at))
	}
	if o.reads.err != nil && o.connected() && !o.disk.drained() {
		next = min(next, time.Until(o.reads.at))
	}
	return max(next, time.Millisecond)
}

// step does what is due. It returns false if there is nothing to do before something changes.
func (w *worker) step() (progress bool) {
	o := w.box
	o.mu.Lock()
	write := o.mustWrite() && o.writes.due()
	o.mu.Unlock()
	progress = write && w.write()
	progress = o.refuseUnsafe() || progress
	progress = w.sendRecord() || progress
	return o.sendHeld() || progress
}

// inMemory reports whether messages are in memory.
func (o *Outbox) inMemory() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sent.Bytes()+o.held() > 0
}

// mustWrite reports whether messages go from memory to the store. The caller holds the lock.
func (o *Outbox) mustWrite() bool {
	switch {
	case o.sent.Bytes()+o.held() == 0:
		return false
	case !o.connected(), o.held() > o.cfg.Memory/2, !o.disk.drained() && o.parked.bytes() > o.cfg.Memory/16:
		return true
	}
	return o.overdue()
}

// refuseUnsafe drops held messages that cannot be made safe, if publishers wait for them and should not. It returns true if others may be
// written then.
func (o *Outbox) refuseUnsafe() (tryOthers bool) {
	o.Lock()
	defer o.Unlock()
	if o.cfg.BlockWhenFull || o.connected() || o.writes.err == nil || o.held() == 0 || !o.overdue() && !o.full() {
		return false
	}
	return o.refuseBlocked()
}

// refuseBlocked drops what the store has not taken: the first messages, if others may be short enough, or else all that are held. Then it
// returns false. The caller holds the lock.
func (o *Outbox) refuseBlocked() (tryOthers bool) {
	why := o.writes.err
	tryOthers = errors.Is(why, spool.ErrFull) || errors.Is(why, spool.ErrTooLarge)
	o.waiting.moveTo(&o.parked)
	for o.parked.bytes() > 0 {
		if o.refuseFirst(why); tryOthers {
			o.writes.at = time.Now()
			return true
		}
	}
	return false
}

// refuseFirst drops the first messages of parked. The caller holds the lock.
func (o *Outbox) refuseFirst(why error) {
	r, frames := o.parked.front()
	n := peer.Count(frames)
	o.refuse(r.from, n, why)
	o.safe.add(r.epoch, -len(frames))
	o.parked.cut(len(frames), n)
}

// sendHeld sends messages that are held. It returns false if none could be sent.
func (o *Outbox) sendHeld() bool {
	o.Lock()
	defer o.Unlock()
	progress := o.sendFrom(&o.parked) + o.sendFrom(&o.waiting)
	if progress > 0 {
		o.wire.ConfirmSoon()
	}
	return progress > 0
}

func (o *Outbox) sendFrom(m *memory) (progress int) {
	for o.connected() && m.bytes() > 0 && progress < sendAtOnce {
		if o.sent.Bytes() >= o.cfg.Memory/2 {
			o.wire.ConfirmSoon()
			break
		}
		r, frames := m.front()
		if m == &o.parked && o.disk.has(r.tag) {
			if !o.overtake() {
				break
			}
			continue
		}
		size, count := o.wire.Send(r.tag, r.path, frames, nil)
		if size == 0 {
			break
		}
		o.keep(*r, frames[:size], count)
		m.cut(size, count)
		progress += size
	}
	return progress
}

// overtake puts messages of parked before those whose tags wait for the disk. It returns false if there are none. The caller holds the
// lock.
func (o *Outbox) overtake() bool {
	some := false
	for tag := range o.parked.tags {
		some = some || !o.disk.has(tag)
	}
	if !some {
		return false
	}
	free, behind := memory{tags: map[string]int{}}, memory{tags: map[string]int{}}
	for o.parked.bytes() > 0 {
		front, frames := o.parked.front()
		r, to := *front, &free
		if o.disk.has(r.tag) {
			to = &behind
		}
		r.bytes, r.count = len(frames), peer.Count(frames)
		to.push(r, frames)
		o.parked.cut(r.bytes, r.count)
	}
	behind.moveTo(&free)
	o.parked = free
	return true
}
