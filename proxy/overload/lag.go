package overload

import (
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"time"
)

const (
	lagInterval = 100 * time.Millisecond // time between two measurements
	lagSamples  = 10                     // a delay must last over so many measurements: a single long turn is no overload
)

// Poster is an event loop, as far as its delay is concerned. *loop.Loop is one.
type Poster interface {
	// Post makes the loop call f soon. It does not wait. The error is net.ErrClosed if the loop has ended. After any other
	// error f is posted later.
	Post(f func()) error
}

// lag measures how late the loops are: the time until a posted function runs. One goroutine calls measure.
type lag struct {
	loops    []loopLag
	start    time.Time
	measured time.Duration // when measure last looked, after start
}

type loopLag struct {
	loop     Poster
	run      func()        // posted to the loop
	postedAt time.Duration // after start; the first attempt to post run
	queued   bool          // run was posted; false if the mailbox was full
	ranAt    atomic.Int64  // ns after start; 0 until run has run
	samples  [lagSamples]time.Duration
	next     int // index in samples
}

func newLag(loops []Poster) *lag {
	l := &lag{loops: make([]loopLag, len(loops)), start: time.Now()}
	for i := range l.loops {
		p := &l.loops[i]
		p.loop = loops[i]
		p.run = func() { p.ranAt.Store(int64(max(time.Since(l.start), 1))) }
		p.run()
		p.postedAt = time.Duration(p.ranAt.Load())
	}
	return l
}

// measure returns the delay of the loop that is latest: the shortest of its last delays, over a second.
func (l *lag) measure() time.Duration {
	now := time.Since(l.start)
	take := now-l.measured >= lagInterval
	if take {
		l.measured = now
	}
	var latest time.Duration
	for i := range l.loops {
		p := &l.loops[i]
		if take {
			p.sample(now)
		}
		latest = max(latest, slices.Min(p.samples[:]))
	}
	return latest
}

// sample records the delay of the function that was posted last, also while it waits, and posts it again.
func (p *loopLag) sample(now time.Duration) {
	ran := time.Duration(p.ranAt.Load())
	end := ran
	if ran == 0 {
		end = now
	}
	p.samples[p.next] = end - p.postedAt
	p.next = (p.next + 1) % lagSamples
	if ran != 0 {
		p.ranAt.Store(0)
		p.postedAt, p.queued = now, false
	}
	if p.queued {
		return
	}
	err := p.loop.Post(p.run)
	if errors.Is(err, net.ErrClosed) { // the loop has ended: it is not late
		p.run()
		err = nil
	}
	p.queued = err == nil // the time until a full mailbox has room is a part of the delay
}
