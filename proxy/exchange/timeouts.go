package exchange

import (
	"time"

	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

const defaultRatePeriod = 10 * time.Second

// bodyRate is a period in which a request's body is measured.
type bodyRate struct {
	from   int64 // Downstream.BodyRead when it began
	paused bool  // the client was paused in it, or waited: it says nothing of the client
}

// WatchBody begins to measure the request's body, and the time in which bytes have to move. It is called when more of the body
// is awaited, and again when what is left of it is read behind the response.
func (r *Relay) WatchBody() {
	r.Moved()
	if r.limits.BodyRate > 0 {
		r.rate = bodyRate{from: r.down.BodyRead()}
		r.deadlines.set(rateDeadline, r.limits.RatePeriod)
	}
}

// Moved begins the time in which bytes have to move.
func (r *Relay) Moved() {
	r.movedAt, r.unsent = r.deadlines.loop.Now(), 0
	if r.limits.Body > 0 && !r.deadlines.isSet(stallDeadline) {
		r.deadlines.set(stallDeadline, r.limits.Body)
	}
}

// expire handles the deadlines that have passed.
func (r *Relay) expire() {
	for {
		which, ok := r.deadlines.due()
		if !ok {
			return
		}
		r.passed(which)
	}
}

func (r *Relay) passed(which deadline) {
	switch which {
	case responseDeadline:
		r.responseLate()
	case tryDeadline:
		r.tryLate()
	case stallDeadline:
		r.checkStall()
	case rateDeadline:
		r.checkRate()
	}
}

// tryLate is the end of the time for one attempt. The endpoint is not at fault if it was not sent the request.
func (r *Relay) tryLate() {
	sent := r.attempt == attemptOpen
	r.cancel()
	if !sent {
		r.EndAttempt(upstream.Canceled)
	}
	r.UpstreamFailed(Failure{Cause: route.OnTimeout, TimedOut: true, Sent: sent})
}

// responseLate is the end of the time for the response.
func (r *Relay) responseLate() {
	waiting := r.attempt == attemptWaiting
	r.cancel()
	if waiting {
		r.reject(rejection(r.Refuse(traffic.Overload)))
		return
	}
	r.Lost(route.OnTimeout)
	r.reject(GatewayTimeout)
}

// checkStall ends a request in which no byte has moved for Timeouts.Body. A peer that reads slowly moves bytes that only the
// system sees, so it has the same time again while Unsent shrinks.
func (r *Relay) checkStall() {
	if left := r.movedAt + r.limits.Body - r.deadlines.loop.Now(); left > 0 {
		r.deadlines.set(stallDeadline, left)
		return
	}
	unsent, toServer := r.down.Unsent(), 0
	if r.up != nil {
		toServer = r.up.Unsent()
	}
	unsent += toServer
	if unsent > 0 && (r.unsent == 0 || unsent < r.unsent) {
		r.unsent = unsent
		r.deadlines.set(stallDeadline, r.limits.Body)
		return
	}
	if r.response == responseAwaited && (r.attempt == attemptWaiting || toServer > 0 || r.awaitsContinue()) {
		r.responseLate() // the server is at fault, or there is none
		return
	}
	r.requestLate()
}

// checkRate ends a request whose body came slower than Timeouts.BodyRate.
func (r *Relay) checkRate() {
	paused := r.response != responseEnded && (r.attempt == attemptWaiting || r.up != nil && r.up.RequestFull() || r.awaitsContinue())
	floor := int64(float64(r.limits.BodyRate) * r.limits.RatePeriod.Seconds())
	if read := r.down.BodyRead(); read-r.rate.from >= floor || r.rate.paused || paused {
		r.rate = bodyRate{from: read, paused: paused}
		r.deadlines.set(rateDeadline, r.limits.RatePeriod)
		return
	}
	r.requestLate()
}

// awaitsContinue reports whether the client sends no byte of the body before the server sends 100 Continue.
func (r *Relay) awaitsContinue() bool { return r.continueAwaited && r.down.BodyRead() == 0 }

// requestLate ends a request whose body does not come in time.
func (r *Relay) requestLate() {
	r.cancel()
	if r.response == responseAwaited {
		r.reject(RequestTimeout)
	} else {
		r.reset()
	}
}
