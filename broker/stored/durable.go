package stored

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync/atomic"
	"time"

	"example.com/ferry/broker/internal/outlet"
	"example.com/ferry/broker/internal/ranks"
	"example.com/ferry/broker/internal/routes"
	"example.com/ferry/broker/stats"
	delivery "example.com/ferry/broker/stored/internal/durable"
	"example.com/ferry/engine"
	"example.com/ferry/internal/clock"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// commitInterval is the least time between two commits of a durable's position.
const commitInterval = 50 * time.Millisecond

// durable shares the messages of a stream between its members on this node, each to one of them, until they are acked. While it has
// members, one goroutine holds the engine's cursor of this name and reads. Acks, credit and time change the Window. The
// goroutine that changes it sends what can be sent then.
type durable struct {
	stored *Stream
	name   string

	mu        ranks.Mutex[ranks.Durable]
	filter    string            // of all members
	predicate *routes.Predicate // of all members
	members   []*member         // those that have joined
	expected  int               // members that will join: they have no RESULT yet
	running   bool              // the goroutine runs
	cancel    context.CancelFunc
	ending    bool             // the last member has left: the window is about to be closed
	kept      keptWindow       // the last member has left, and the next one continues with the window
	window    *delivery.Window // nil unless a cursor is open
	cursor    engine.Cursor
	burials   map[uint64]bool // dead letters by sequence number: true if it is stored, or dropped, and the position does not say so
	cfg       *Config         // that the window was configured with
	limit     int             // DurableWindow that the window was configured with
	committed int64           // when the position was last committed, in Unix nanoseconds
	timer     *time.Timer
	timerAt   int64 // when the timer fires, in Unix nanoseconds; 0 means never
	starved   bool  // the goroutine waits for room in the window

	room chan struct{} // has one place: there may be room in the window

	delivered   stats.Counter
	redelivered uint64
	skipped     atomic.Uint64
	damaged     atomic.Uint64
	deadLetters atomic.Uint64
	dropped     atomic.Uint64
	read        atomic.Uint64
}

// maxDurables is the most durables of a stream that a Store knows.
const maxDurables = 1024

// keySeed is the seed of the hashes of keys.
var keySeed = maphash.MakeSeed()

// addMember makes sub a member of the durable, which it creates if necessary. The error is the reason of a refusal.
func (st *Stream) addMember(sub *Sub, name string) (*member, error) {
	if !st.config().AtLeastOnce {
		return nil, badRequest("durable %q: stream %q is at-most-once, so a message can be lost before it is stored: it has no durables", name, st.name())
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.gone.Load() {
		return nil, streamGone(st)
	}
	d := st.durables[name]
	if d == nil {
		if err := st.makePlace(); err != nil {
			return nil, err
		}
		d = &durable{stored: st, name: name, room: make(chan struct{}, 1)}
		st.durables[name] = d
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.members)+d.expected == 0 && !d.hasWindow() {
		d.filter, d.predicate = sub.filter, sub.predicate
	}
	if where, wanted := d.predicate.String(), sub.predicate.String(); d.filter != sub.filter || where != wanted {
		return nil, badRequest("durable %q is used with filter %q and predicate %q, not with filter %q and predicate %q: name another durable, or make them equal",
			name, d.filter, where, sub.filter, wanted)
	}
	d.expected++
	m := &member{durable: d, sub: sub, state: &delivery.Member{Credit: sub.window, Concurrency: sub.concurrency}}
	m.state.Owner = m
	return m, nil
}

// ForgetDurable forgets what the Store knows of a durable, so that its cursor can be deleted. The error says that it has members.
func (s *Store) ForgetDurable(stream, name string) error {
	st := s.table.Load().named(stream)
	if st == nil {
		return nil
	}
	st.owners.forget(name) // without the lock: the engine may be asked for the list
	st.mu.Lock()
	defer st.mu.Unlock()
	d := st.durables[name]
	if d == nil {
		return nil
	}
	d.mu.Lock()
	members := len(d.members) + d.expected
	if members == 0 {
		d.end()
	}
	d.mu.Unlock()
	if members > 0 {
		return fmt.Errorf("broker: durable %q of stream %q has %d members: stop them first", name, stream, members)
	}
	delete(st.durables, name)
	return nil
}

// makePlace forgets a durable without members if the stream has too many. The caller holds the lock.
func (st *Stream) makePlace() error {
	if len(st.durables) < maxDurables {
		return nil
	}
	for name, d := range st.durables {
		d.mu.Lock()
		used := d.running || len(d.members)+d.expected > 0
		d.mu.Unlock()
		if !used {
			delete(st.durables, name)
			return nil
		}
	}
	return &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("stream %q has members of %d durables already, its limit", st.name(), maxDurables)}
}

// hasCursor reports whether this node holds the engine's cursor, so that its position is stored.
func (d *durable) hasCursor() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hasWindow()
}

// hasWindow reports whether members that join take part in the window. The caller holds the lock.
func (d *durable) hasWindow() bool { return d.window != nil && !d.ending }

// join adds a member, after its client has got the RESULT.
func (d *durable) join(m *member) {
	d.mu.Lock()
	if m.left { // leave has ended the expectation
		d.unlock(clock.Now())
		return
	}
	d.expected--
	m.joined = true
	d.members = append(d.members, m)
	if d.hasWindow() {
		d.release()
		d.window.Join(m.state)
	}
	if !d.running {
		d.running = true
		d.stored.store.readers.Go(d.run)
	}
	d.unlock(clock.Now())
}

// leave removes a member. What it holds is delivered again. If tried, what it may have handled counts as delivered.
func (d *durable) leave(m *member, tried bool) {
	d.mu.Lock()
	now := clock.Now()
	m.left = true
	if !m.joined {
		d.expected--
	} else {
		for i, other := range d.members {
			if other == m {
				d.members = append(d.members[:i], d.members[i+1:]...)
				break
			}
		}
		if d.window != nil {
			d.window.Leave(m.state, tried, now)
		}
		if len(d.members) == 0 && !d.keep(now) {
			d.end()
		}
	}
	d.unlock(now)
}

// unlock sends what can be sent, and does all that follows from a change of the window. Then it unlocks d.
func (d *durable) unlock(now int64) {
	var streams peer.Unflushed
	var dead []deadLetter
	if d.window != nil {
		d.configure()
		d.send(now, &streams)
		dead = d.takeDead()
		d.commit(now)
		d.setTimer(now)
		if d.starved && !d.full() || d.ending && d.window.Dying() == 0 {
			d.starved = false
			select {
			case d.room <- struct{}{}:
			default:
			}
		}
	}
	d.mu.Unlock()
	streams.Flush()
	for i := range dead {
		d.bury(&dead[i])
	}
}

// send sends the deliveries that are possible.
func (d *durable) send(now int64, streams *peer.Unflushed) {
	var to *member // whose stream is locked
	messages, bytes := 0, 0
	for {
		x, ok := d.window.Next(now)
		if !ok {
			break
		}
		m, _ := x.Member.Owner.(*member)
		if to == nil || to.sub.stream != m.sub.stream {
			if to != nil {
				to.sub.stream.Release(streams)
			}
			m.sub.stream.Lock()
		}
		to = m
		if n := m.send(&x); n > 0 {
			messages++
			bytes += n
		}
	}
	if to != nil {
		to.sub.stream.Release(streams)
		d.delivered.Add(messages, bytes)
	}
	d.redelivered += d.window.Redelivered
	d.window.Redelivered = 0
}

// commit stores the position, if it has changed and the last commit is long enough ago.
func (d *durable) commit(now int64) {
	if !d.window.Changed || now-d.committed < int64(commitInterval) {
		return
	}
	if p, ok := d.window.Position(); ok {
		d.cursor.Commit(p)
		d.committed, d.window.Changed = now, false
	}
}

// setTimer makes onTimer be called when the window or a commit needs it.
func (d *durable) setTimer(now int64) {
	at, ok := d.window.Wake()
	if due := d.committed + int64(commitInterval); d.window.Changed && (!ok || due < at) {
		at, ok = due, true
	}
	if until := d.kept.until; until != 0 && (!ok || until < at) {
		at, ok = until, true
	}
	if !ok || d.timerAt != 0 && d.timerAt <= at {
		return
	}
	d.timerAt = at
	wait := max(time.Duration(at-now), time.Millisecond)
	if d.timer == nil {
		d.timer = time.AfterFunc(wait, d.onTimer)
		return
	}
	d.timer.Reset(wait)
}

func (d *durable) onTimer() {
	d.mu.Lock()
	d.timerAt = 0
	now := clock.Now()
	if d.window != nil {
		d.window.Expire(now)
	}
	if d.kept.until != 0 && d.kept.until <= now {
		d.end()
	}
	d.unlock(now)
}

// member is one subscription of a durable. The durable's lock guards it.
type member struct {
	durable *durable
	sub     *Sub
	state   *delivery.Member
	joined  bool
	left    bool
	blocked bool   // it waits for room in its stream
	lastTag string // so that messages of one tag to a client in the process share the string
	out     stats.Traffic
}

// send appends a delivery to the member's stream, whose lock the caller holds. It returns the bytes of the frame, or 0 if the client
// has not taken it.
func (m *member) send(x *delivery.Delivery) int {
	s := m.sub.stream
	if s.Closed() {
		x.Member.Leaving = true // the session ends soon, and the member leaves
		return 0
	}
	n := len(x.Content.B)
	if s.Client != nil {
		x.Member.Credit += n // the client says what it takes instead
		if !m.deliver(native.Frame(x.Content.B), x.Before) {
			m.durable.window.Undo(*x)
			n = 0
		}
		m.sent(x, n)
		return n
	}
	s.Select(m.sub.id)
	switch {
	case x.Before > 0:
		tail := s.Wire.Tail(n + 2*redeliveryEntry)
		before := len(tail)
		tail = appendAgain(tail, native.Frame(x.Content.B), x.Before)
		n = len(tail) - before
		s.Wire.SetTail(tail)
	case n >= outlet.MinShared:
		s.Wire.Share(x.Content, x.Content.B)
	default:
		s.Wire.Append(x.Content.B)
	}
	m.sent(x, n)
	return n
}

// deliver passes a delivery to the client in the process. It returns false if the client has not taken it.
func (m *member) deliver(f native.Frame, before uint32) bool {
	v, err := native.ParseStored(f)
	if err != nil {
		return true // impossible: the broker has made f
	}
	if string(v.Tag) != m.lastTag {
		m.lastTag = string(v.Tag)
	}
	return m.sub.stream.DeliverStored(m.sub.handle, outlet.Message{
		Tag: m.lastTag, Type: f.Type(), Time: f.Time(), Payload: f.Payload(), Extension: f.Extension(), Sequence: v.Sequence, Deliveries: before,
	})
}

// sent counts a message of n bytes, unless n is 0, and notes whether the stream has room for another one.
func (m *member) sent(x *delivery.Delivery, n int) {
	s := m.sub.stream
	if n > 0 {
		m.out.Add(stats.Traffic{Messages: 1, Bytes: uint64(n)})
	}
	if s.Room() <= 0 {
		x.Member.Blocked = true
		if !m.blocked {
			m.blocked = true
			s.AwaitRoom(m)
		}
	}
}

// redeliveryEntry is the most bytes by which a redelivered PUB is longer: TLVDeliveries, and the long length of an extension.
const redeliveryEntry = 16

// Unblock notes that the member's stream has room again.
func (m *member) Unblock() {
	d := m.durable
	d.mu.Lock()
	m.blocked = false
	now := clock.Now()
	if d.window != nil && m.joined && !m.left {
		d.window.Unblock(m.state)
	} else {
		m.state.Blocked = false
	}
	d.unlock(now)
}

func (m *member) addCredit(n int) {
	d := m.durable
	d.mu.Lock()
	if d.window != nil && m.joined && !m.left {
		d.window.AddCredit(m.state, n, outlet.MaxCredit)
	} else {
		m.state.Credit = min(m.state.Credit+n, outlet.MaxCredit)
	}
	d.unlock(clock.Now())
}

// retire makes the member get no further message. Its session is draining.
func (m *member) retire() {
	d := m.durable
	d.mu.Lock()
	m.state.Leaving = true
	d.unlock(clock.Now())
}

// held returns how many records the member holds.
func (m *member) held() int {
	if m == nil {
		return 0
	}
	m.durable.mu.Lock()
	defer m.durable.mu.Unlock()
	return m.state.InFlight
}

// settle calls f, unless the member has left or no cursor is open. m may be nil.
func (m *member) settle(now int64, f func(w *delivery.Window, m *delivery.Member)) {
	if m == nil {
		return
	}
	d := m.durable
	d.mu.Lock()
	defer d.unlock(now)
	if d.window != nil && m.joined && !m.left {
		f(d.window, m.state)
	}
}

// progress extends the time in which the member has to ack what it holds.
func (m *member) progress(now int64) {
	m.settle(now, func(w *delivery.Window, m *delivery.Member) { w.Progress(m, now) })
}

// maxSettled bounds the records that one ACK or NAK makes the broker look at.
const maxSettled = 1 << 20

// settleRanges applies f to the ranges of an ACK or NAK.
func (m *member) settleRanges(ranges []byte, now int64, f func(w *delivery.Window, m *delivery.Member, r native.Range)) (err error) {
	m.settle(now, func(w *delivery.Window, m *delivery.Member) {
		looked := w.Looked
		for r := range native.RangesOf(ranges) {
			f(w, m, r)
			if w.Looked-looked > maxSettled {
				err = &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("the ranges of one frame name more than %d messages", maxSettled)}
				return
			}
		}
	})
	return err
}

// NakKind says why a member of a durable has not handled a message.
type NakKind = delivery.NakKind

// The kinds: the message is delivered again later; never again, but is a dead letter; or again at once, without being counted.
const (
	NakRetry   = delivery.Retry
	NakReject  = delivery.Reject
	NakUntried = delivery.Untried
)
