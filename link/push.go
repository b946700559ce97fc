package link

import (
	"fmt"
	"time"

	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// Push takes n messages of a tag: frames, which are valid during the call. The caller holds the lock; Push releases it. from, if not nil,
// is told of messages that are dropped later. position is what Await needs. full is Full.
func (o *Outbox) Push(tag string, path *native.Path, from Origin, frames []byte, n int, u *peer.Unflushed) (position uint64, full bool) {
	position = o.safe.current()
	if o.closed || n == 0 {
		o.Drop(DropClosed, n)
		o.Unlock()
		return position, false
	}
	if why := o.mustRefuse(); why != nil {
		o.refuse(from, n, why)
		full = o.full()
		o.Unlock()
		return position, full
	}
	o.safe.add(position, len(frames))
	r := run{tag: tag, path: path, from: from, epoch: position}
	if o.connected() && o.waiting.bytes() == 0 && !o.waits(tag) && o.sent.Bytes() < o.cfg.Memory/2 {
		size, count := o.wire.Send(tag, path, frames, u)
		o.keep(r, frames[:size], count)
		frames, n = frames[size:], n-count
	}
	held := len(frames) > 0
	if held {
		o.hold(r, frames, n)
	}
	full = o.full()
	if o.wire != nil && o.sent.Bytes() >= o.cfg.Memory/16 {
		o.wire.ConfirmSoon()
	}
	o.mu.Unlock()
	if held {
		o.Wake()
	}
	return position, full
}

// waits reports whether messages of a tag wait behind others that are unsent. The caller holds the lock.
func (o *Outbox) waits(tag string) bool { return o.parked.tags[tag] > 0 || o.disk.has(tag) }

// hold keeps n messages that are not sent. The caller holds the lock.
func (o *Outbox) hold(r run, frames []byte, n int) {
	r.bytes, r.count = len(frames), n
	if o.waits(r.tag) {
		o.parked.push(r, frames)
	} else {
		o.waiting.push(r, frames)
	}
	if o.connected() {
		o.wire.Expect(r.tag)
	}
}

// held returns the bytes that are held. The caller holds the lock.
func (o *Outbox) held() int { return o.waiting.bytes() + o.parked.bytes() }

func (o *Outbox) full() bool { return o.held() > o.cfg.Memory }

// mustRefuse returns why new messages are refused; nil if they are not. The caller holds the lock.
func (o *Outbox) mustRefuse() error {
	if o.cfg.BlockWhenFull || o.connected() || o.writes.err == nil || o.writes.due() || o.held() < o.cfg.Memory/2 {
		return nil
	}
	return o.writes.err
}

// refuse drops n messages that are not safe, and counts them. The caller holds the lock.
func (o *Outbox) refuse(from Origin, n int, why error) {
	o.Drop(reasonOf(why), n)
	if from == nil {
		return
	}
	why = fmt.Errorf("the other side of the link is not connected, and the messages cannot be stored: %w", why)
	if k := len(o.refused); k > 0 && o.refused[k-1].from == from {
		o.refused[k-1].n += n
		return
	}
	o.refused = append(o.refused, refusal{from, n, why})
}

// Drop counts n messages that are dropped. The caller holds the lock.
func (o *Outbox) Drop(reason string, n int) {
	if n > 0 {
		o.stats.Dropped[reason] += uint64(n)
	}
}

// Await calls done once all messages up to a position are confirmed, on disk, or dropped.
func (o *Outbox) Await(position uint64, done func()) {
	o.Lock()
	waits := o.safe.await(position, done)
	if waits && o.wire != nil {
		o.wire.ConfirmSoon()
	}
	o.Unlock()
	if !waits {
		done()
		return
	}
	o.Wake()
}

// overdue reports whether a call of Await has waited for longer than SafeWithin. The caller holds the lock.
func (o *Outbox) overdue() bool {
	oldest, waits := o.safe.oldest()
	return waits && time.Since(oldest) >= o.cfg.SafeWithin
}

// Full reports whether publishers should pause, because too many messages are held.
func (o *Outbox) Full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.full()
}

// AwaitRoom calls resume once Full is false. cancel releases resume.
func (o *Outbox) AwaitRoom(resume func()) (cancel func()) {
	o.mu.Lock()
	if !o.full() {
		o.mu.Unlock()
		resume()
		return func() {}
	}
	remove := o.safe.awaitRoom(resume)
	o.mu.Unlock()
	return func() {
		o.mu.Lock()
		remove()
		o.mu.Unlock()
	}
}
