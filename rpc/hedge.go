package rpc

import (
	"context"
	"sync"
	"time"

	"example.com/ferry/internal/balance"
)

// hedge is a unary call with two attempts. The second one starts on the goroutine of a timer:
//
//	first runs --delay--> both run --first succeeds--> second is cancelled
//	  | ^   |                |-------second succeeds--> first is cancelled
//	  | |  ended             '-------one fails--------> the other one decides
//	  refused, delay doubles
//
// The second attempt is refused while the budget is used up, or no other endpoint is ready.
type hedge struct {
	call        *unaryCall
	ctx         context.Context // of the call
	ctx2        context.Context // of the second attempt
	first       *attempt
	cancelFirst context.CancelFunc
	delay       time.Duration // until the next try to begin the second attempt

	mu           sync.Mutex
	timer        *time.Timer // of the second attempt
	refused      bool        // a second attempt was refused
	firstEnded   bool        // a second attempt must not begin, because call may be in use for another call
	firstWon     bool        // the second attempt is released by its own goroutine
	second       *attempt    // nil if it has not begun
	secondDone   bool
	cancelSecond context.CancelFunc
	secondEnded  chan struct{} // closed when second has ended before the first one won
}

// hedged makes the attempt a, and after the delay another one at another endpoint. It returns the one that counts. The other one is
// released.
func (u *unaryCall) hedged(ctx context.Context, a *attempt, delay time.Duration) *attempt {
	h := &hedge{call: u, ctx: ctx, first: a, delay: delay, secondEnded: make(chan struct{})}
	ctx, h.cancelFirst = context.WithCancel(ctx)
	defer h.cancelFirst()
	h.mu.Lock()
	h.timer = time.AfterFunc(delay, h.runSecond)
	h.mu.Unlock()
	a.run(ctx)

	h.mu.Lock()
	h.timer.Stop()
	h.firstEnded, h.firstWon = true, a.status == nil
	second, secondDone := h.second, h.secondDone
	h.mu.Unlock()
	if second == nil {
		return a
	}
	u.attempts++
	if a.status == nil {
		h.cancelSecond()
		if secondDone {
			second.release()
		}
		return a
	}
	<-h.secondEnded
	h.cancelSecond()
	if second.status != nil {
		second.release()
		return a
	}
	a.release()
	u.traffic.add(second.traffic)
	return second
}

// runSecond makes the second attempt, if the first one has not ended, another endpoint is ready and the budget allows it.
func (h *hedge) runSecond() {
	second, conn := h.beginSecond()
	if second == nil {
		return
	}
	second.runOn(h.ctx2, conn)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.firstWon {
		second.release()
		return
	}
	h.secondDone = true
	if second.status == nil {
		h.first.lost.Store(true)
		h.cancelFirst()
	}
	close(h.secondEnded)
}

func (h *hedge) beginSecond() (*attempt, *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.firstEnded {
		return nil, nil
	}
	u, avoid := h.call, h.first.endpoint.Load()
	var conn *conn
	c := u.client
	if avoid != nil { // otherwise it waits for a connection
		conn = c.pickOther(avoid)
	}
	if conn != nil && !c.hedges.RetryWithin(h.share(), c.now()) {
		conn.done(balance.Canceled, 0, c.now())
		conn = nil
	}
	if conn == nil {
		h.refused = true
		h.delay *= 2
		h.timer.Reset(h.delay)
		return nil, nil
	}
	h.second = new(attempt)
	h.second.of(u)
	h.second.traffic = new(traffic)
	h.ctx2, h.cancelSecond = context.WithCancel(h.ctx)
	return h.second, conn
}

// firstShare is the part of the budget for calls that have waited for one delay. With the delay of a quantile these are many at any time;
// the rest is for those that have waited longer, because their server stalls.
const firstShare = 0.8

// share returns the part of the budget that the call may use. The caller holds mu.
func (h *hedge) share() float64 {
	if h.refused {
		return 1
	}
	return firstShare
}
