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
//	    |                    |-------second succeeds--> first is cancelled
//	  ended                  '-------one fails--------> the other one decides
type hedge struct {
	call        *unaryCall
	ctx         context.Context // of the call
	ctx2        context.Context // of the second attempt
	first       *attempt
	cancelFirst context.CancelFunc

	mu           sync.Mutex
	firstEnded   bool     // a second attempt must not begin, because call may be in use for another call
	firstWon     bool     // the second attempt is released by its own goroutine
	second       *attempt // nil if it has not begun
	secondDone   bool
	cancelSecond context.CancelFunc
	secondEnded  chan struct{} // closed when second has ended before the first one won
}

// hedged makes the attempt a, and after the delay another one at another endpoint. It returns the one that counts. The other one is
// released.
func (u *unaryCall) hedged(ctx context.Context, a *attempt, delay time.Duration) *attempt {
	h := &hedge{call: u, ctx: ctx, first: a, secondEnded: make(chan struct{})}
	ctx, h.cancelFirst = context.WithCancel(ctx)
	defer h.cancelFirst()
	timer := time.AfterFunc(delay, h.runSecond)
	a.run(ctx)
	timer.Stop()

	h.mu.Lock()
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
	if avoid == nil {
		return nil, nil // it waits for a connection
	}
	c := u.client
	conn := c.pickOther(avoid)
	if conn == nil {
		return nil, nil
	}
	if !c.hedges.Retry(c.now()) {
		conn.done(balance.Canceled, 0, c.now())
		return nil, nil
	}
	h.second = new(attempt)
	h.second.of(u)
	h.second.traffic = new(traffic)
	h.ctx2, h.cancelSecond = context.WithCancel(h.ctx)
	return h.second, conn
}
