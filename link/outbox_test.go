package link_test

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/link"
	"example.com/ferry/protocol/native"
)

// history is a random sequence of what publishers, the wire and the disk do to an Outbox, and the model that it is held against.
type history struct {
	t       *testing.T
	rng     *rand.Rand
	block   bool
	store   *store
	box     *link.Outbox
	wire    *wire     // nil while there is none
	paused  bool      // wire
	bounded bool      // tags of wire have credit
	before  int       // messages that were refused before there was wire; -1 if that is not known
	healthy time.Time // since when reads do not fail
	wires   []*wire
	numbers map[string]int // the last number of each tag
	bursts  []*burst

	mu        sync.Mutex      // guards what follows, and the bursts
	confirmed map[string]bool // by the other side
	lost      map[string]bool // with damaged records
	earlier   map[string]bool // that the store had when the Outbox was opened
	damaged   map[string]bool // tags that may wait until the next read, which shows which of their records are lost
	refused   int             // as publishers were told
	dropped   int             // as the Stats of earlier Outboxes have counted
	closing   bool
	awaited   int // calls of Await that are not done
	log       []string
}

var tags = []string{"a", "b", "c", "d"}

func (h *history) step(what string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, fmt.Sprintf(what, args...))
}

func (h *history) open() {
	h.earlier, h.damaged = h.store.has(), map[string]bool{}
	h.box = link.New(h.store, link.Config{BlockWhenFull: h.block, Memory: 2000, SafeWithin: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
}

// push publishes a burst, and then may ask whether it is safe.
func (h *history) push() {
	tag := tags[h.rng.IntN(len(tags))]
	b := &burst{h: h}
	h.bursts = append(h.bursts, b)
	var position uint64
	for range 1 + h.rng.IntN(3) {
		var frames []byte
		n := 1 + h.rng.IntN(4)
		for range n {
			h.numbers[tag]++
			m := tag + " " + strconv.Itoa(h.numbers[tag])
			b.messages = append(b.messages, m)
			frames = native.AppendPub(frames, native.PubHeader{Tag: 1, Time: 1}, []byte(m))
		}
		h.box.Lock()
		position, _ = h.box.Push(tag, nil, b, frames, n, nil)
	}
	h.step("push %s", strings.Join(b.messages, ", "))
	if h.rng.IntN(3) > 0 {
		return
	}
	h.await(1)
	h.box.Await(position, func() {
		h.await(-1)
		h.step("safe: %s", b.messages[len(b.messages)-1])
		h.check(b, h.store.has())
	})
}

func (h *history) await(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.awaited += n
}

// check reports an error if a message of a burst is neither confirmed nor among others, and its publisher was not told.
func (h *history) check(b *burst, others map[string]bool) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	missing := 0
	for _, m := range b.messages {
		if !h.confirmed[m] && !others[m] && !h.lost[m] {
			missing++
		}
	}
	if missing > b.refused {
		h.t.Errorf("%d messages of %q are lost, and the publisher knows of %d", missing, b.messages, b.refused)
	}
}

// note checks what has come over the wire since the last call: no message twice, and those of a tag in order.
func (h *history) note(w *wire) {
	last := map[string]int{}
	for _, m := range w.got {
		tag, digits, _ := strings.Cut(m, " ")
		number, _ := strconv.Atoi(digits)
		if number <= last[tag] {
			h.t.Errorf("%q comes behind %s %d on one connection", m, tag, last[tag])
		}
		last[tag] = number
	}
}

// order checks that messages of a tag have arrived in order for the first time, except those that could not be written and were found
// by a later process.
func (h *history) order() {
	last, seen := map[string]int{}, map[string]bool{}
	for _, w := range h.wires {
		for _, m := range w.got {
			tag, digits, _ := strings.Cut(m, " ")
			number, _ := strconv.Atoi(digits)
			if !seen[m] && number < last[tag] && !h.store.back[m] {
				h.t.Errorf("%q arrives behind %s %d", m, tag, last[tag])
			}
			seen[m], last[tag] = true, max(last[tag], number)
		}
	}
}

func (h *history) connect() {
	if h.wire != nil {
		return
	}
	h.step("connect")
	h.wire, h.paused = &wire{credit: map[string]int{}}, false
	h.bounded = h.rng.IntN(2) == 0
	for _, tag := range tags {
		if h.bounded && h.rng.IntN(2) == 0 {
			h.wire.credit[tag] = h.rng.IntN(20)
		}
	}
	h.wires = append(h.wires, h.wire)
	h.box.Attach(h.wire)
	if h.before = -1; h.rng.IntN(2) == 0 {
		synctest.Wait()
		h.before = h.told()
	}
}

// told returns how many messages are refused, as publishers were told.
func (h *history) told() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.refused
}

func (h *history) disconnect() {
	if h.wire == nil {
		return
	}
	h.step("disconnect")
	h.box.Detach(h.wire)
	h.note(h.wire)
	h.wire = nil
}

// confirm confirms a part of what was sent.
func (h *history) confirm(all bool) {
	if h.wire == nil {
		return
	}
	h.box.Lock()
	total, _ := h.box.Sent(h.wire)
	if total > uint64(len(h.wire.got)) {
		h.t.Errorf("%d messages are sent, says the Outbox; %d have arrived", total, len(h.wire.got))
	}
	if !all {
		total = uint64(h.rng.IntN(int(total) + 1))
	}
	h.mu.Lock()
	for _, m := range h.wire.got[:total] {
		h.confirmed[m] = true
	}
	h.mu.Unlock()
	h.box.Unlock()
	if !all {
		h.step("confirm %d", total)
	}
	h.box.Confirmed(h.wire, total)
}

func (h *history) giveCredit() {
	if h.wire == nil {
		return
	}
	tag := tags[h.rng.IntN(len(tags))]
	h.box.Lock()
	if _, bounded := h.wire.credit[tag]; bounded {
		h.wire.credit[tag] += h.rng.IntN(30)
	}
	h.box.Unlock()
	h.box.Wake()
}

// fail makes the disk fail, or heals it.
func (h *history) fail() {
	var read, write error
	if h.rng.IntN(3) == 0 {
		read = errRead
	}
	if h.rng.IntN(3) == 0 {
		write = errWrite
	}
	room := 1 << 20
	if h.rng.IntN(4) == 0 {
		room = h.rng.IntN(20)
	}
	h.step("disk: read %v, write %v, room for %d", read, write, room)
	if h.healthy = time.Now(); read != nil {
		h.healthy = h.healthy.Add(time.Hour)
	}
	h.store.fail(read, write, h.rng.IntN(4) == 0, room)
}

// damage loses a record of the disk. Its messages may be lost.
func (h *history) damage() {
	h.mu.Lock()
	lost := h.store.damage(h.rng.IntN(100))
	maps.Copy(h.lost, lost)
	h.mu.Unlock()
	h.step("damage: %v", lost)
	for m := range lost {
		h.damaged[m[:1]] = true
		for _, tag := range tags {
			h.damaged[tag] = h.damaged[tag] || h.earlier[m]
		}
	}
}

// unhindered checks that nothing is refused during a connection, and nothing waits without a reason: over a wire without bounds, messages that are not sent wait for a read that fails, behind
// others of their tag, or because too many bytes are not confirmed.
func (h *history) unhindered() {
	synctest.Wait()
	if h.wire != nil && !h.paused && h.before >= 0 && h.told() > h.before {
		h.t.Error("messages are refused during a connection")
	}
	if h.wire == nil || h.paused || h.bounded || h.box.Stats().Unconfirmed > 0 || h.store.hides() {
		return
	}
	sent := map[string]bool{}
	h.box.Lock()
	for _, m := range h.wire.got {
		sent[m] = true
	}
	h.box.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	stored, waiting, unknown := maps.Clone(h.damaged), map[string]bool{}, false
	for m := range h.store.has() {
		if !sent[m] {
			stored[m[:1]] = true
			unknown = unknown || h.earlier[m] // all tags wait for what an earlier process has stored
		}
	}
	for _, b := range h.bursts {
		missing := 0
		for _, m := range b.messages {
			if !sent[m] && !h.confirmed[m] && !h.lost[m] {
				missing++
			}
		}
		if missing > b.refused {
			waiting[b.messages[0][:1]] = true
		}
	}
	for tag := range waiting {
		if !stored[tag] && !unknown {
			h.t.Errorf("messages of tag %s wait, and none of them is on disk", tag)
		}
	}
	if len(waiting) > 0 && time.Since(h.healthy) > 30*time.Second {
		h.t.Errorf("messages of tags %v wait, and the disk can be read", waiting)
	}
}

// close closes the Outbox, and compares what it has dropped with what publishers were told.
func (h *history) close() {
	h.disconnect()
	h.mu.Lock()
	h.closing = true
	h.mu.Unlock()
	if err := h.box.Close(); err != nil {
		h.t.Error(err)
	}
	for _, n := range h.box.Stats().Dropped {
		h.dropped += int(n)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closing = false
	if h.dropped != h.refused {
		h.t.Errorf("%d messages are counted as dropped, and publishers know of %d", h.dropped, h.refused)
	}
}

// restart closes the Outbox and opens another one over its store.
func (h *history) restart() {
	h.step("restart")
	h.close()
	stored := h.store.has()
	for _, b := range h.bursts {
		h.check(b, stored)
	}
	h.store.reopen()
	h.open()
}

func (h *history) run(steps int) {
	h.open()
	for range steps {
		switch n := h.rng.IntN(100); {
		case n < 45:
			h.push()
		case n < 55:
			h.connect()
		case n < 60:
			h.disconnect()
		case n < 75:
			h.confirm(false)
		case n < 82:
			h.giveCredit()
		case n < 87:
			h.fail()
		case n < 88:
			h.restart()
		case n < 89 && h.wire != nil:
			h.paused = true
			h.box.Pause(h.wire)
		case n < 90:
			h.damage()
		case n < 97:
			h.unhindered()
		default:
			time.Sleep(time.Duration(h.rng.IntN(3000)) * time.Millisecond)
		}
		if h.t.Failed() {
			return
		}
	}
	h.disconnect()
	h.store.fail(nil, nil, false, 1<<20)
	h.wire = &wire{}
	h.wires = append(h.wires, h.wire)
	h.box.Attach(h.wire)
	for range 100 {
		time.Sleep(time.Second)
		h.confirm(true)
	}
	synctest.Wait()
	h.note(h.wire)
	h.order()
	for _, b := range h.bursts {
		h.check(b, nil)
	}
	if s := h.box.Stats(); s.Spool.Messages > 0 || s.Unconfirmed > 0 || s.WaitingBytes > 0 || h.awaited > 0 {
		h.t.Errorf("at the end, with %d calls of Await: %+v", h.awaited, s)
	}
	h.close()
}

// TestHistories: whatever publishers, connections and the disk do, no safe message is lost but by damage, messages of a tag stay in order, nothing
// is sent twice on one connection, what is refused is counted and told, and nothing waits without a reason.
func TestHistories(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			h := &history{
				t: t, rng: rand.New(rand.NewPCG(seed, 1)), block: seed%2 == 0, store: &store{max: 1 << 20, back: map[string]bool{}},
				confirmed: map[string]bool{}, lost: map[string]bool{}, numbers: map[string]int{},
			}
			if seed%20 < 2 {
				h.store.real = newReal(t)
			}
			h.run(400)
			if r := h.store.real; r != nil {
				if err := r.spool.Close(); err != nil {
					t.Error(err)
				}
			}
			if t.Failed() {
				t.Logf("seed %d:\n%s", seed, strings.Join(h.log[max(0, len(h.log)-100):], "\n"))
			}
		})
		if t.Failed() {
			return
		}
	}
}
