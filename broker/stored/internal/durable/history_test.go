package durable

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/internal/bufpool"
)

// model is the plain truth about a Window: every record in a map, and no list, heap or scan position.
type model struct {
	t       *testing.T
	w       *Window
	cfg     Config
	now     int64
	last    uint64 // sequence number of the last record
	records map[uint64]*modelRecord
	keys    map[uint64]*modelKey
	sent    int // deliveries
	members []*Member
	tried   map[*Member]int64 // when a member was last in progress
	naked   map[*Member]uint64
	expired map[*Member]uint64
	history []string
}

type modelRecord struct {
	key        uint64
	deliveries int
	holder     *Member // nil: not in flight
	last       *Member
	finished   bool
	dead       bool
	sent       int   // number of the last delivery
	sentAt     int64 // time of the last delivery
	at         int64 // not to be delivered before
}

// modelKey is what the model knows of a key that has a record to deliver.
type modelKey struct {
	draining bool    // a record came back, and others are in flight
	avoid    *Member // that a record came back from, since the last delivery
}

func (r *modelRecord) live() bool { return !r.finished && !r.dead }

// holder returns the member that holds records of a key, or nil.
func (m *model) holder(key uint64) *Member {
	for _, rec := range m.records {
		if rec.key == key && rec.holder != nil {
			return rec.holder
		}
	}
	return nil
}

// held returns the records that a member holds, in the order of their deliveries.
func (m *model) held(x *Member) (list []*modelRecord) {
	for _, rec := range m.records {
		if rec.holder == x {
			list = append(list, rec)
		}
	}
	slices.SortFunc(list, func(a, b *modelRecord) int { return a.sent - b.sent })
	return list
}

// settled forgets what was known of keys without a record, and ends the wait of those with none in flight.
func (m *model) settled() {
	live, held := map[uint64]bool{}, map[uint64]bool{}
	for _, rec := range m.records {
		live[rec.key] = live[rec.key] || rec.live()
		held[rec.key] = held[rec.key] || rec.holder != nil
	}
	for key, k := range m.keys {
		if !live[key] {
			delete(m.keys, key)
		} else if !held[key] {
			k.draining = false
		}
	}
}

// next returns the record that is to be delivered next, and the members that may get it: the first one of all whose turn has come.
func (m *model) next() (next uint64, to []*Member) {
	m.settled()
	m.firsts(func(s uint64, rec *modelRecord) bool {
		if rec.at > m.now {
			return true
		}
		if to = m.receivers(rec.key); len(to) > 0 {
			next = s
		}
		return next == 0
	})
	return next, to
}

// firsts passes the first waiting record of each key that is not draining to visit, in order, until that returns false.
func (m *model) firsts(visit func(uint64, *modelRecord) bool) {
	seen := map[uint64]bool{}
	for s := uint64(1); s <= m.last; s++ {
		rec := m.records[s]
		if rec == nil || !rec.live() || rec.holder != nil || seen[rec.key] {
			continue
		}
		seen[rec.key] = true
		if !m.keys[rec.key].draining && !visit(s, rec) {
			return
		}
	}
}

func (m *model) receivers(key uint64) (to []*Member) {
	if x := m.holder(key); x != nil {
		if x.ready() {
			to = append(to, x)
		}
		return to
	}
	avoid := m.keys[key].avoid
	for _, x := range m.w.Members() {
		switch {
		case !x.ready() || x == avoid:
		case len(to) > 0 && x.Bytes > to[0].Bytes:
		case len(to) > 0 && x.Bytes == to[0].Bytes:
			to = append(to, x)
		default:
			to = []*Member{x}
		}
	}
	if len(to) == 0 && avoid != nil && avoid.ready() && slices.Contains(m.w.Members(), avoid) {
		to = append(to, avoid)
	}
	return to
}

// wake returns when the next record is due; 0 if none is.
func (m *model) wake() (at int64) {
	least := func(due int64) {
		if at == 0 || due < at {
			at = due
		}
	}
	for _, rec := range m.records {
		if rec.holder != nil {
			least(max(rec.sentAt, m.tried[rec.holder]) + int64(m.cfg.AckWait))
		}
	}
	m.firsts(func(_ uint64, rec *modelRecord) bool {
		if rec.at > m.now {
			least(rec.at)
		}
		return true
	})
	return at
}

func (m *model) log(format string, args ...any) {
	m.history = append(m.history, fmt.Sprintf(format, args...))
}

func (m *model) fail(format string, args ...any) {
	m.t.Helper()
	for _, h := range m.history[max(0, len(m.history)-60):] {
		m.t.Log(h)
	}
	m.t.Fatalf(format, args...)
}

func (m *model) name(x *Member) int { return slices.Index(m.members, x) }

// read adds the next records, some of which are filtered out.
func (m *model) read(r *rand.Rand, keys int) {
	for range 1 + r.IntN(4) {
		m.last += 1 + uint64(r.IntN(2)*r.IntN(3))
		if r.IntN(5) == 0 {
			m.w.ReadTo(m.last)
			continue
		}
		k := uint64(r.IntN(keys))
		b := bufpool.Get(100)
		b.B = append(b.B, make([]byte, 50+r.IntN(50))...)
		m.records[m.last] = &modelRecord{key: k}
		if m.keys[k] == nil {
			m.keys[k] = &modelKey{}
		}
		m.w.Add(Record{Sequence: m.last, Key: k, Content: b})
		m.log("record %d of key %d", m.last, k)
	}
}

// deliver takes all deliveries that are possible and checks each.
func (m *model) deliver(r *rand.Rand) {
	for {
		want, to := m.next()
		d, ok := m.w.Next(m.now)
		if d.Sequence != want {
			m.fail("record %d is delivered next, want %d", d.Sequence, want)
		}
		if !ok {
			m.checkWake()
			return
		}
		if !slices.Contains(to, d.Member) {
			m.fail("record %d goes to member %d, which is not its turn", d.Sequence, m.name(d.Member))
		}
		rec := m.records[d.Sequence]
		m.log("deliver %d of key %d to %d", d.Sequence, rec.key, m.name(d.Member))
		switch {
		case rec.finished || rec.dead:
			m.fail("record %d was delivered after its end", d.Sequence)
		case rec.holder != nil:
			m.fail("record %d is in flight already", d.Sequence)
		case int(d.Before) != rec.deliveries:
			m.fail("record %d: %d deliveries before, want %d", d.Sequence, d.Before, rec.deliveries)
		case d.Member.Credit+len(d.Content.B) <= 0 || d.Member.Blocked || d.Member.Leaving:
			m.fail("member %d cannot receive: %+v", m.name(d.Member), *d.Member)
		case !slices.Contains(m.w.Members(), d.Member):
			m.fail("record %d goes to a member that has left", d.Sequence)
		}
		for s, other := range m.records {
			if other.key != rec.key || other.finished || other.dead || s == d.Sequence {
				continue
			}
			if s < d.Sequence && other.holder == nil {
				m.fail("record %d overtakes %d of key %d", d.Sequence, s, rec.key)
			}
			if other.holder != nil && other.holder != d.Member {
				m.fail("key %d is at two members: %d and %d", rec.key, s, d.Sequence)
			}
			if s > d.Sequence && other.holder != nil {
				m.fail("record %d is sent again while %d of key %d is in flight", d.Sequence, s, rec.key)
			}
		}
		if r.IntN(10) == 0 {
			m.log("member %d does not take %d", m.name(d.Member), d.Sequence)
			m.w.Undo(d)
			d.Member.Credit += len(d.Content.B)
			d.Member.Blocked = true
			continue
		}
		rec.holder, rec.last = d.Member, d.Member
		rec.deliveries++
		m.sent++
		rec.sent, rec.sentAt, m.keys[rec.key].avoid = m.sent, m.now, nil
		if r.IntN(20) == 0 {
			d.Member.Blocked = true
		}
	}
}

// back notes in the model that a delivery has failed. The next one is not before at.
func (m *model) back(rec *modelRecord, counts bool, at int64) {
	x := rec.holder
	rec.holder, rec.at = nil, at
	if counts && m.cfg.MaxDeliveries > 0 && rec.deliveries >= m.cfg.MaxDeliveries {
		rec.dead = true
		return
	}
	if !counts {
		rec.deliveries--
	}
	m.keys[rec.key].avoid, m.keys[rec.key].draining = x, true
	m.settled()
}

// backoff returns when a record is delivered again that has failed now.
func (m *model) backoff(rec *modelRecord) int64 {
	if len(m.cfg.Backoff) == 0 {
		return m.now
	}
	return m.now + int64(m.cfg.Backoff[min(rec.deliveries, len(m.cfg.Backoff))-1])
}

// checkWake compares when the Window has something to do next. Without a member that can receive it does not look at records.
func (m *model) checkWake() {
	if !slices.ContainsFunc(m.w.Members(), (*Member).ready) {
		return
	}
	at, ok := m.w.Wake()
	if want := m.wake(); ok != (want != 0) || ok && at != want {
		m.fail("Wake is %d, %v, want %d", at, ok, want)
	}
}

func (m *model) step(r *rand.Rand, keys int) {
	m.now += int64(r.IntN(3)) * int64(time.Millisecond)
	m.expire()
	switch r.IntN(12) {
	case 0:
		if len(m.w.Members()) < 3 {
			x := &Member{Credit: r.IntN(400), Concurrency: r.IntN(3)}
			m.members = append(m.members, x)
			m.w.Join(x)
		}
	case 1, 2:
		m.read(r, keys)
	case 3:
		if len(m.w.Members()) == 0 || r.IntN(4) > 0 {
			return
		}
		x := m.w.Members()[r.IntN(len(m.w.Members()))]
		counts := r.IntN(2) == 0
		m.log("member %d leaves, counts %v", m.name(x), counts)
		m.leave(x, counts)
	case 4:
		if r.IntN(6) == 0 {
			m.now += int64(m.cfg.AckWait)
		}
		m.expire()
	default:
		if len(m.members) == 0 || m.last == 0 {
			return
		}
		m.settle(r, m.members[r.IntN(len(m.members))])
	}
	m.bury(r)
	m.deliver(r)
	m.check()
}

func (m *model) expire() {
	m.w.Expire(m.now)
	m.log("expire at %d", m.now)
	for _, rec := range m.records {
		if rec.holder != nil && max(rec.sentAt, m.tried[rec.holder])+int64(m.cfg.AckWait) <= m.now {
			m.expired[rec.holder]++
			m.back(rec, true, m.backoff(rec))
		}
	}
}

func (m *model) leave(x *Member, tried bool) {
	m.w.Leave(x, tried, m.now)
	for i, rec := range m.held(x) {
		m.back(rec, tried && (x.Concurrency == 0 || i < x.Concurrency), m.now)
	}
}

// settle has a member respond to some records, which it may or may not hold.
func (m *model) settle(r *rand.Rand, x *Member) {
	first, count := uint64(r.IntN(int(m.last)))+1, uint32(1+r.IntN(6))
	inRange := func(visit func(uint64, *modelRecord)) {
		for s := first; s < first+uint64(count); s++ {
			if rec := m.records[s]; rec != nil && !rec.finished && !rec.dead {
				visit(s, rec)
			}
		}
	}
	switch r.IntN(8) {
	case 0, 1, 2:
		m.log("member %d acks %d+%d", m.name(x), first, count)
		n := m.w.Ack(x, first, count, m.now)
		inRange(func(_ uint64, rec *modelRecord) {
			if rec.holder == x || rec.holder == nil && rec.last == x {
				rec.finished, rec.holder = true, nil
				n--
			}
		})
		if n != 0 {
			m.fail("acked %d more than the model", n)
		}
	case 3:
		m.log("member %d naks %d+%d", m.name(x), first, count)
		delay := time.Duration(r.IntN(3)) * time.Millisecond
		m.w.Nak(x, first, count, Retry, delay, "no", m.now)
		inRange(func(_ uint64, rec *modelRecord) {
			if rec.holder != x {
				return
			}
			at := m.now + int64(delay)
			if delay == 0 {
				at = m.backoff(rec)
			}
			m.naked[x]++
			m.back(rec, true, at)
		})
	case 4:
		m.log("member %d has not tried %d+%d", m.name(x), first, count)
		m.w.Nak(x, first, count, Untried, 0, "", m.now)
		inRange(func(_ uint64, rec *modelRecord) {
			if rec.holder == x {
				m.back(rec, false, m.now)
			}
		})
	case 5:
		m.log("member %d rejects %d", m.name(x), first)
		count = 1
		m.w.Nak(x, first, count, Reject, 0, "never", m.now)
		inRange(func(_ uint64, rec *modelRecord) {
			if rec.holder == x {
				rec.holder, rec.dead = nil, true
				m.naked[x]++
			}
		})
	case 6:
		m.w.Progress(x, m.now)
		m.tried[x] = m.now
	case 7:
		m.log("member %d: credit or room", m.name(x))
		if r.IntN(2) == 0 {
			m.w.AddCredit(x, r.IntN(300), 1000)
		} else {
			m.w.Unblock(x)
		}
	}
}

func (m *model) bury(r *rand.Rand) {
	for _, d := range slices.Clone(m.w.TakeDead()) {
		rec := m.records[d.Sequence]
		m.log("dead %d after %d: %s", d.Sequence, d.Deliveries, d.Reason)
		if !rec.dead || int(d.Deliveries) != rec.deliveries {
			m.fail("record %d is a dead letter after %d deliveries; model %+v", d.Sequence, d.Deliveries, *rec)
		}
		m.records[d.Sequence] = rec
		if r.IntN(2) == 0 { // the others are stored later, by end
			m.w.Bury(d.Sequence)
			rec.finished = true
		}
	}
}

// check compares the Window with the model: what it holds, and its position.
func (m *model) check() {
	undone := 0
	position, ok := m.w.Position()
	isDone := func(s uint64) bool {
		return s <= position.Floor || slices.ContainsFunc(position.Done, func(g engine.Range) bool { return s >= g.First && s < g.First+g.Count })
	}
	failed := map[uint64]uint32{}
	for _, d := range position.Deliveries {
		failed[d.Sequence] = d.Count
	}
	for s, rec := range m.records {
		if !rec.finished {
			undone++
		}
		want := rec.deliveries
		if rec.holder != nil {
			want--
		}
		if rec.finished {
			want = 0
		}
		if int(failed[s]) != want {
			m.fail("position %+v: record %d has failed %d times, want %d", position, s, failed[s], want)
		}
		if ok && isDone(s) != rec.finished {
			m.fail("position %+v: record %d is done %v, want %v", position, s, isDone(s), rec.finished)
		}
	}
	m.checkKeys()
	if n, bytes := m.w.Held(); n != undone || (n == 0) != (bytes == 0) {
		m.fail("%d records and %d bytes are held, want %d", n, bytes, undone)
	}
	for _, x := range m.members {
		if x.Naked != m.naked[x] || x.Expired != m.expired[x] {
			m.fail("member %d has returned %d records and not acked %d in time, want %d and %d", m.name(x), x.Naked, x.Expired, m.naked[x], m.expired[x])
		}
	}
	for _, x := range m.w.Members() {
		n := 0
		for _, rec := range m.records {
			if rec.holder == x {
				n++
			}
		}
		if n != x.InFlight || (n == 0) != (x.Bytes == 0) {
			m.fail("member %d holds %d records of %d bytes, want %d", m.name(x), x.InFlight, x.Bytes, n)
		}
	}
}

// checkKeys looks for keys that wait for nothing.
func (m *model) checkKeys() {
	for _, k := range m.w.keys {
		waits := false
		switch k.state {
		case open:
			waits = k.unsent == nil || k.unsent.sequence >= m.w.scanned()
		case parked:
			waits = k.inFlight > 0 && !k.member.ready()
		case draining:
			waits = k.inFlight > 0
		case delayed:
			waits = k.index >= 0 && m.w.delayed.keys[k.index] == k && k.rank == uint64(k.unsent.at) // until Expire
		case resumed:
			waits = m.w.receiver(k) == nil
		}
		if !waits {
			m.fail("key %d is in state %d and waits for nothing: %+v", k.hash, k.state, *k)
		}
	}
}

// end has one good member ack everything, and checks that nothing is left.
func (m *model) end(r *rand.Rand) {
	for _, x := range slices.Clone(m.w.Members()) {
		m.leave(x, true)
	}
	good := &Member{}
	m.members = append(m.members, good)
	m.w.Join(good)
	m.log("the end")
	for range 10 * (len(m.records) + 1) {
		m.expire()
		m.w.AddCredit(good, 1000, 1000)
		m.w.Unblock(good)
		m.deliver(r)
		for s, rec := range m.records {
			if rec.holder == good {
				m.w.Ack(good, s, 1, m.now)
				rec.finished, rec.holder = true, nil
			}
		}
		for _, d := range slices.Clone(m.w.TakeDead()) {
			m.w.Bury(d.Sequence)
		}
		for s, rec := range m.records {
			if rec.dead && !rec.finished {
				m.w.Bury(s)
				rec.finished = true
			}
		}
		if at, ok := m.w.Wake(); ok {
			m.now = max(m.now, at)
		}
	}
	m.check()
	if n, bytes := m.w.Held(); n != 0 || bytes != 0 || len(m.w.keys) != 0 || len(m.w.resumed.keys)+len(m.w.delayed.keys) != 0 {
		m.fail("%d records and %d bytes are left, %d keys", n, bytes, len(m.w.keys))
	}
	if p, ok := m.w.Position(); ok && (p.Floor != m.last || len(p.Done) != 0) {
		m.fail("position %+v at the end, want %d", p, m.last)
	}
}

// TestHistories: in random histories no record is lost, none is delivered after its end or to two members, the order of each key
// holds, a record dies after the configured deliveries, and the position never passes a record that is not done.
func TestHistories(t *testing.T) {
	histories := 300
	if testing.Short() {
		histories = 100
	}
	for seed := range uint64(histories) {
		r := rand.New(rand.NewPCG(seed, 14))
		cfg := Config{MaxBytes: 1 << 20, AckWait: 20 * time.Millisecond, MaxDeliveries: r.IntN(4)}
		if r.IntN(2) == 0 {
			cfg.Backoff = []time.Duration{time.Millisecond, 3 * time.Millisecond}
		}
		m := &model{t: t, cfg: cfg, w: New(cfg, engine.Position{}), now: 1, records: map[uint64]*modelRecord{}, keys: map[uint64]*modelKey{}, tried: map[*Member]int64{}, naked: map[*Member]uint64{}, expired: map[*Member]uint64{}}
		m.log("seed %d, %+v", seed, cfg)
		keys := 1 + r.IntN(5)
		for range 20 + r.IntN(150) {
			m.step(r, keys)
		}
		m.end(r)
	}
}
