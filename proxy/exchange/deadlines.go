package exchange

import (
	"math"
	"time"

	"example.com/ferry/loop"
)

// deadline is one of the times that bound a request.
type deadline uint8

const (
	responseDeadline deadline = iota // until the response's head is there, all attempts together
	tryDeadline                      // the same for one attempt
	stallDeadline                    // until a byte of either body moves
	rateDeadline                     // until the rate of the request's body is measured
	deadlineCount
)

// deadlines are a request's, on one timer of its loop. Setting one again, or stopping it, costs a store.
type deadlines struct {
	loop  *loop.Loop
	timer *loop.Timer
	at    [deadlineCount]time.Duration // on the loop's clock
	armed uint8                        // a bit for each
	next  time.Duration                // when the timer goes off; 0 if it is not set
}

// set sets a deadline d from now on; it replaces an earlier one.
func (ds *deadlines) set(which deadline, d time.Duration) {
	at := ds.loop.Now() + d
	if at < 0 {
		at = math.MaxInt64 // d is "never" in all but name
	}
	ds.at[which] = at
	ds.armed |= 1 << which
	if ds.next == 0 || at < ds.next {
		ds.next = at
		ds.timer.Set(d)
	}
}

func (ds *deadlines) isSet(which deadline) bool { return ds.armed&(1<<which) != 0 }

func (ds *deadlines) stop(which deadline) { ds.armed &^= 1 << which }

func (ds *deadlines) stopAll() { ds.armed = 0 }

// due returns a deadline that has passed and stops it; ok is false if none has, and the timer is set for the next one.
func (ds *deadlines) due() (which deadline, ok bool) {
	now := ds.loop.Now()
	ds.next = 0
	for which := range deadlineCount {
		if !ds.isSet(which) {
			continue
		}
		if ds.at[which] <= now {
			ds.stop(which)
			return which, true
		}
		if ds.next == 0 || ds.at[which] < ds.next {
			ds.next = ds.at[which]
		}
	}
	if ds.next != 0 {
		ds.timer.Set(ds.next - now)
	}
	return 0, false
}
