package tlslayer

import (
	"errors"
	"runtime"
	"sync"
	"time"
)

// ErrBusy means that too many connections of the listener wait for their handshake.
var ErrBusy = errors.New("tlslayer: too many handshakes wait: the connection is refused")

// ErrSlow means that a handshake was ended because its peer was silent while others waited.
var ErrSlow = errors.New("tlslayer: the peer was silent during its handshake while others waited")

// patience is how long a handshake may take, from the first time that it waits for its peer, if others wait for a place. It is
// a quarter of that if more wait than there are places: most honest clients need one round trip.
const patience = time.Second

// places are the places for the goroutines of handshakes. A handshake whose peer is silent keeps its place, but does not
// compute. While others wait for a place, silent handshakes older than patience are ended, the oldest first. So clients that
// stop in the middle of their handshakes, or send a byte now and then, cannot keep others out.
//
// At most one handshake computes for each core. So a flood of handshakes does not delay the loops much: the scheduler of Go
// gives a loop its turn after at most that many others.
type places struct {
	total    int
	patience time.Duration
	compute  chan struct{} // holds an element for each handshake that computes

	mu      sync.Mutex
	running shakeList // handshakes with a place, the oldest first
	ending  int       // those of running that endSilent has ended
	queue   []*Bound  // bounds with waiting handshakes; the first one gets the next place
	timer   *time.Timer
	armed   bool // timer will call tick
}

func newPlaces(total int) *places {
	return &places{total: total, patience: patience, compute: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

func (p *places) startComputing() { p.compute <- struct{}{} }
func (p *places) stopComputing()  { <-p.compute }

// Bound bounds the handshakes of one listener.
type Bound struct {
	places      *places
	most        int // most places that the listener may take
	mostWaiting int

	// The fields below are guarded by places.mu.

	limit   int // most handshakes with a place or waiting; 0 means no limit
	taken   int
	ending  int // those of taken that endSilent has ended
	waiting shakeList
}

// Limit sets how many handshakes may be under way at a time, with and without a goroutine, from now on. The next connection
// fails with ErrBusy. Zero and negative mean no limit but those of Config. Any goroutine may call it.
func (b *Bound) Limit(n int) {
	b.places.mu.Lock()
	b.limit = max(n, 0)
	b.places.mu.Unlock()
}

// enter starts h, or makes it wait for a place.
func (b *Bound) enter(h *handshake) error {
	p := b.places
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case b.limit > 0 && b.taken+b.waiting.len >= b.limit:
		return ErrBusy
	case b.waiting.len == 0 && b.free():
		b.start(h)
		return nil
	case b.waiting.len >= b.mostWaiting:
		return ErrBusy
	}
	if b.waiting.len == 0 {
		p.queue = append(p.queue, b)
	}
	b.waiting.push(h)
	p.endSilent()
	return nil
}

// free reports whether the listener may take another place.
func (b *Bound) free() bool { return b.taken < b.most && b.places.running.len < b.places.total }

func (b *Bound) start(h *handshake) {
	b.taken++
	b.places.running.push(h)
	go h.run()
}

// leave gives the place of h back and starts handshakes that wait.
func (b *Bound) leave(h *handshake) {
	p := b.places
	p.mu.Lock()
	defer p.mu.Unlock()
	b.taken--
	p.running.remove(h)
	if h.ended {
		b.ending--
		p.ending--
	}
	p.startWaiting()
}

// startWaiting starts waiting handshakes while there are places. The listeners take turns.
func (p *places) startWaiting() {
	for passed := 0; passed < len(p.queue) && p.running.len < p.total; {
		b := p.queue[0]
		p.queue = p.queue[1:]
		if !b.free() {
			passed++
			p.queue = append(p.queue, b)
			continue
		}
		passed = 0
		b.start(b.waiting.pop())
		if b.waiting.len > 0 {
			p.queue = append(p.queue, b)
		}
	}
}

// abandon removes h if it waits for a place. It reports whether h did.
func (p *places) abandon(h *handshake) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := h.layer.bound
	if h.list != &b.waiting {
		return false
	}
	b.waiting.remove(h)
	if b.waiting.len == 0 {
		for i, other := range p.queue {
			if other == b {
				p.queue = append(p.queue[:i:i], p.queue[i+1:]...)
				break
			}
		}
	}
	return true
}

// setSilent notes whether the goroutine of h waits for its peer.
func (p *places) setSilent(h *handshake, silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h.silent = silent
	if h.since.IsZero() {
		h.since = time.Now()
	}
}

// endSilent ends silent handshakes older than patience, one for each handshake that waits for a place. Those that it has ended
// before and that have not left yet count. While handshakes wait, it is called four times in patience.
func (p *places) endSilent() {
	now := time.Now()
	for _, b := range p.queue {
		own := b.taken >= b.most // only the listener's own handshakes are in the way
		left, limit := b.waiting.len-p.ending, p.patience
		if own {
			left = b.waiting.len - b.ending
		}
		if b.waiting.len > p.total {
			limit = p.patience / 4
		}
		for h := p.running.head; h != nil && left > 0; h = h.next {
			if h.silent && now.Sub(h.since) >= limit && (!own || h.layer.bound == b) {
				h.silent, h.ended = false, true // it is ended once
				h.layer.bound.ending++
				p.ending++
				h.cancel(ErrSlow)
				left--
			}
		}
	}
	if len(p.queue) > 0 && !p.armed {
		p.armed = true
		if p.timer == nil {
			p.timer = time.AfterFunc(p.patience/4, p.tick)
		} else {
			p.timer.Reset(p.patience / 4)
		}
	}
}

func (p *places) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
	p.endSilent()
}

// shakeList is a list of handshakes.
type shakeList struct {
	head, tail *handshake
	len        int
}

func (l *shakeList) push(h *handshake) {
	h.list, h.prev, h.next = l, l.tail, nil
	if l.tail == nil {
		l.head = h
	} else {
		l.tail.next = h
	}
	l.tail = h
	l.len++
}

func (l *shakeList) remove(h *handshake) {
	if h.prev == nil {
		l.head = h.next
	} else {
		h.prev.next = h.next
	}
	if h.next == nil {
		l.tail = h.prev
	} else {
		h.next.prev = h.prev
	}
	h.list, h.prev, h.next = nil, nil, nil
	l.len--
}

func (l *shakeList) pop() *handshake {
	h := l.head
	l.remove(h)
	return h
}
