package exchange

import (
	"math"
	"time"

	"example.com/ferry/loop"
)

// deadline is the kind of a time limit on a request.
type deadline uint8

const (
	responseDeadline deadline = iota // time for the response head, over all attempts
	tryDeadline                      // time for the response head, in one attempt
	stallDeadline                    // time in which a byte of either body must move
	rateDeadline                     // end of the period over which BodyRate of the request is measured
	readDeadline                     // end of the period over which BodyRate of the response is measured, while the client's queue is full
	totalDeadline                    // time of the request with its response
	callDeadline                     // the same, as the client of a gRPC call has set it
	deadlineCount
)

// deadlines holds the deadlines of one request. They share one timer of the loop. To set or stop a deadline again
// costs only a store.
type deadlines struct {
	loop    *loop.Loop
	timer   *loop.Timer
	expiry  [deadlineCount]time.Duration // expiry of each deadline, in time of the loop's clock
	armed   uint8                        // bit i is set while deadline i is set
	timerAt time.Duration                // when the timer expires, in time of the loop's clock; 0 if the timer is not set
}

// set makes the deadline expire after d. It replaces an earlier setting.
func (ds *deadlines) set(which deadline, d time.Duration) {
	at := ds.loop.Now() + d
	if at < 0 {
		at = math.MaxInt64 // d is so large that the sum overflowed
	}
	ds.expiry[which] = at
	ds.armed |= 1 << which
	if ds.timerAt == 0 || at < ds.timerAt {
		ds.timerAt = at
		ds.timer.Set(d)
	}
}

func (ds *deadlines) isSet(which deadline) bool { return ds.armed&(1<<which) != 0 }

// within reports whether a deadline is set and expires within d.
func (ds *deadlines) within(which deadline, d time.Duration) bool {
	return ds.isSet(which) && ds.expiry[which] <= ds.loop.Now()+d
}

func (ds *deadlines) stop(which deadline) { ds.armed &^= 1 << which }

func (ds *deadlines) stopAll() { ds.armed = 0 }

// due stops one deadline that has expired and returns it. If none has expired, ok is false and the timer is set for
// the next deadline.
func (ds *deadlines) due() (which deadline, ok bool) {
	now := ds.loop.Now()
	ds.timerAt = 0
	for which := range deadlineCount {
		if !ds.isSet(which) {
			continue
		}
		if ds.expiry[which] <= now {
			ds.stop(which)
			return which, true
		}
		if ds.timerAt == 0 || ds.expiry[which] < ds.timerAt {
			ds.timerAt = ds.expiry[which]
		}
	}
	if ds.timerAt != 0 {
		ds.timer.Set(ds.timerAt - now)
	}
	return 0, false
}
