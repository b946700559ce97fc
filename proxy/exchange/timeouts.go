package exchange

import (
	"time"

	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

const defaultRatePeriod = 10 * time.Second

// bodyRate is one period over which the rate of a request body is measured.
type bodyRate struct {
	startBytes int64 // Downstream.BodyRead at the start of the period
	paused     bool  // the proxy paused the client, or the client had to wait, so the rate is not the client's
}

// WatchBody starts the stall timeout and the first BodyRate period. It is called when the request body is awaited. It
// is called again when the response has ended and the rest of the body is discarded.
func (r *Relay) WatchBody() {
	r.Moved()
	if r.limits.BodyRate > 0 && !r.GRPC { // a gRPC stream may have rare messages
		r.rate = bodyRate{startBytes: r.down.BodyRead()}
		r.deadlines.set(rateDeadline, r.limits.RatePeriod)
	}
}

// Moved restarts the stall timeout, because bytes have moved.
func (r *Relay) Moved() {
	r.movedAt, r.unsentAtExpiry = r.deadlines.loop.Now(), 0
	if r.limits.Body > 0 && !r.deadlines.isSet(stallDeadline) {
		r.deadlines.set(stallDeadline, r.limits.Body)
	}
}

// expire handles the deadlines that have expired.
func (r *Relay) expire() {
	for {
		which, ok := r.deadlines.due()
		if !ok {
			return
		}
		onDeadline[which](r)
	}
}

// onDeadline has what ends each deadline.
var onDeadline = [deadlineCount]func(*Relay){
	responseDeadline: (*Relay).responseLate, tryDeadline: (*Relay).tryLate, stallDeadline: (*Relay).checkStall, rateDeadline: (*Relay).checkRate,
	readDeadline: (*Relay).checkReader, totalDeadline: (*Relay).totalLate, callDeadline: (*Relay).callLate,
}

// totalLate ends a request that has taken Plan.MaxDuration.
func (r *Relay) totalLate() {
	r.cut(traffic.TooLong)
	if r.response == responseAwaited && r.request == requestEnded {
		r.responseLate()
		return
	}
	r.requestLate()
}

// callLate ends a gRPC call whose deadline has passed. The client has chosen it, so the attempt counts as canceled: otherwise a
// client with short deadlines could have every endpoint ejected.
func (r *Relay) callLate() {
	r.cancel()
	r.endLateCall()
}

func (r *Relay) endLateCall() {
	r.reason = traffic.ReasonDeadline
	if r.response == responseAwaited {
		r.reject(GatewayTimeout)
		return
	}
	if r.response == responseStarted {
		r.SetGRPCStatus(grpcDeadlineExceeded)
	}
	r.reset()
}

// tryLate ends an attempt whose response did not arrive in time, or whose body was not discarded in time. If the request was not sent, the endpoint is not
// at fault.
func (r *Relay) tryLate() {
	if r.replaced {
		r.cancel()
		r.endResponse(nil)
		return
	}
	sent := r.attempt == attemptOpen
	r.cancel()
	if !sent {
		r.EndAttempt(upstream.Canceled)
	}
	r.UpstreamFailed(Failure{Cause: route.OnTimeout, TimedOut: true, Sent: sent})
}

// responseLate ends a request whose response did not arrive in time.
func (r *Relay) responseLate() {
	waiting := r.attempt == attemptWaiting
	r.cancel()
	if waiting {
		r.reject(rejectionFor(r.Refuse(traffic.Overload)))
		return
	}
	r.Lost(route.OnTimeout)
	r.reject(GatewayTimeout)
}

// checkStall ends a request in which no byte has moved for Timeouts.Body. Bytes that a slow peer reads from the
// system's socket buffers are invisible to the proxy. The request therefore gets the same time again while the sum of
// Unsent decreases.
func (r *Relay) checkStall() {
	if left := r.movedAt + r.limits.Body - r.deadlines.loop.Now(); left > 0 {
		r.deadlines.set(stallDeadline, left)
		return
	}
	toClient, toServer := r.down.Unsent(), 0
	if r.up != nil {
		toServer = r.up.Unsent()
	}
	unsent := toClient + toServer
	if unsent > 0 && (r.unsentAtExpiry == 0 || unsent < r.unsentAtExpiry) {
		r.unsentAtExpiry = unsent
		r.deadlines.set(stallDeadline, r.limits.Body)
		return
	}
	if r.response == responseAwaited && (r.attempt == attemptWaiting || toServer > 0 || r.awaitsContinue()) {
		r.responseLate() // the server is too slow, or no connection is available
		return
	}
	if r.response == responseStarted && toClient == 0 && r.request == requestEnded { // the server has stopped within its response
		r.reason = traffic.ReasonTimeout
		r.endAttemptAt(r.headAt, upstream.Timeout)
	} else if r.response != responseStarted || toClient > 0 {
		r.cut(traffic.SlowClient)
	}
	r.requestLate()
}

// checkRate ends a request whose body arrived more slowly than Timeouts.BodyRate.
func (r *Relay) checkRate() {
	paused := r.response != responseEnded && (r.attempt == attemptWaiting || r.up != nil && r.up.RequestFull() || r.awaitsContinue())
	floor := int64(float64(r.limits.BodyRate) * r.limits.RatePeriod.Seconds())
	if read := r.down.BodyRead(); read-r.rate.startBytes >= floor || r.rate.paused || paused {
		r.rate = bodyRate{startBytes: read, paused: paused}
		r.deadlines.set(rateDeadline, r.limits.RatePeriod)
		return
	}
	r.cut(traffic.SlowClient)
	r.requestLate()
}

// watchReader measures how fast a client reads whose queue is full. Otherwise a client that takes a few bytes each minute would hold a connection to the
// server.
func (r *Relay) watchReader() {
	if r.limits.BodyRate > 0 && r.limits.Body > 0 && !r.GRPC && !r.Changes.Upgrade && !r.deadlines.isSet(readDeadline) {
		r.readBefore = r.Out - int64(r.down.Unsent())
		r.deadlines.set(readDeadline, r.limits.Body)
	}
}

// checkReader ends a request whose response the client reads more slowly than Timeouts.BodyRate.
func (r *Relay) checkReader() {
	if r.response != responseStarted || !r.down.ResponseFull() {
		return
	}
	before := r.readBefore
	r.watchReader()
	if read := r.readBefore - before; read < 0 || read >= int64(float64(r.limits.BodyRate)*r.limits.Body.Seconds()) {
		return // less than before: other streams of the connection have filled it, so nothing is known
	}
	r.cut(traffic.SlowClient)
	r.requestLate()
}

// cut counts why a request is not forwarded to its end. A request that has its response is counted already, and only the rest
// of its body or of its queue is late.
func (r *Relay) cut(why traffic.Refusal) {
	if r.response != responseEnded {
		r.Refuse(why)
	}
}

// awaitsContinue reports whether the client sends no byte of the body until the server sends 100 Continue.
func (r *Relay) awaitsContinue() bool { return r.continueAwaited && r.down.BodyRead() == 0 }

// requestLate ends a request whose body did not arrive in time.
func (r *Relay) requestLate() {
	r.cancel()
	if r.response == responseAwaited {
		r.reject(RequestTimeout)
	} else {
		r.reset()
	}
}
