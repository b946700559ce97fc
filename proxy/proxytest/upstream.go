package proxytest

import (
	"bytes"
	"testing"

	"example.com/ferry/proxy/exchange"
)

// Connector opens Upstreams in memory. It belongs to one loop.
type Connector struct {
	// Wait makes new Upstreams wait for a connection until the test calls Connect. Refuse makes Open return nil.
	Wait, Refuse bool
	// ReusedNext is the result of Reused for new Upstreams, unless Open asks for a fresh connection.
	ReusedNext bool
	// Resend makes every request one that may be sent again, as in HTTP/2.
	Resend bool
	// OnOpen is called when an Upstream is opened, and OnEnd when its request is complete. Both may be nil.
	OnOpen, OnEnd func(*Upstream)

	TB     testing.TB
	Opened []*Upstream
}

var _ exchange.Connector = (*Connector)(nil)

// Open returns an Upstream.
func (c *Connector) Open(r *exchange.Relay, fresh bool) (exchange.Upstream, bool) {
	if c.Refuse {
		return nil, false
	}
	u := &Upstream{Relay: r, Waiting: c.Wait, reused: c.ReusedNext && !fresh, connector: c}
	c.Opened = append(c.Opened, u)
	if c.OnOpen != nil {
		c.OnOpen(u)
	}
	return u, !c.Wait
}

// Upstream is a server's side in memory, controlled by the test.
type Upstream struct {
	Relay *exchange.Relay
	Full  bool // the server's queue is at its high watermark

	// Results of the request.
	Method, Path string
	Fields       Fields
	Body         bytes.Buffer
	Trailers     Fields
	Begun, Whole bool
	Canceled     bool
	Waiting      bool // the Upstream waits for a connection
	Over         bool // the Upstream has ended its part of the request

	connector *Connector
	responded bool
	paused    bool // the response is paused
	reused    bool
	last      bool // the last piece of the body has come as such
}

var _ exchange.Upstream = (*Upstream)(nil)

func (u *Upstream) check(call string, ok bool) {
	if !ok || u.Over {
		u.connector.TB.Errorf("%s comes at the wrong time: begun %v, whole %v, waiting %v, over %v", call, u.Begun, u.Whole, u.Waiting, u.Over)
	}
}

// Connect gives a waiting Upstream its connection.
func (u *Upstream) Connect() {
	u.Waiting = false
	u.Relay.Connected()
}

// Request records the head.
func (u *Upstream) Request(h exchange.RequestHead, _ bool) (framed bool) {
	u.check("Request", !u.Begun && !u.Waiting)
	u.Begun, u.Method, u.Path, u.Fields = true, string(h.Method()), string(h.Path()), Collect(h)
	return false
}

// RequestData records a piece of the body.
func (u *Upstream) RequestData(p []byte, last bool) {
	u.check("RequestData", u.Begun && !u.Whole && !u.last)
	u.last = last
	u.Body.Write(p)
}

// RequestEnd records the end of the request.
func (u *Upstream) RequestEnd(trailers exchange.Fields) {
	u.check("RequestEnd", u.Begun && !u.Whole && (!u.last || trailers == nil))
	u.Whole, u.Trailers = true, Collect(trailers)
	if u.connector.OnEnd != nil {
		u.connector.OnEnd(u)
	}
}

// ResumeResponse makes CanRespond true again.
func (u *Upstream) ResumeResponse() {
	u.check("ResumeResponse", true)
	u.paused = false
}

// Cancel ends the Upstream's part of the request.
func (u *Upstream) Cancel() {
	u.check("Cancel", true)
	u.Canceled, u.Over = true, true
}

// RequestFull returns Full.
func (u *Upstream) RequestFull() bool { return u.Full }

// Unsent returns 0, because memory accepts every byte.
func (u *Upstream) Unsent() int { return 0 }

// Reused returns the value that the Connector has set.
func (u *Upstream) Reused() bool { return u.reused }

// MayResend returns ResendAll if Resend of the Connector is set, and for an idempotent request on a reused connection.
func (u *Upstream) MayResend(_ exchange.RequestHead, idempotent bool) exchange.Resend {
	if u.connector.Resend || idempotent && u.reused {
		return exchange.ResendAll
	}
	return exchange.ResendNone
}

// CanRespond reports whether Respond, Data and End may be called.
func (u *Upstream) CanRespond() bool { return !u.Over && !u.Waiting && u.Begun && !u.paused }

// Interim sends a 1xx response.
func (u *Upstream) Interim(status int) {
	u.paused = u.Relay.Interim(&ResponseHead{Code: status, Length: -1})
}

// Respond sends the head of the response. It returns false if the route retries the request instead.
func (u *Upstream) Respond(h *ResponseHead) bool {
	_, ok := u.Relay.Response(h, false)
	u.responded = ok
	return ok
}

// Data sends a piece of the response's body.
func (u *Upstream) Data(p []byte) { u.paused = u.Relay.ResponseData(p, false) }

// LastData sends the last piece of the response's body and ends the response.
func (u *Upstream) LastData(p []byte) {
	u.Relay.ResponseData(p, true)
	u.End(nil)
}

// End ends the response.
func (u *Upstream) End(trailers Fields) {
	u.Over = true
	u.Relay.ResponseEnd(fieldsOrNil(trailers))
}

// Fail ends the Upstream's part of the request with a failure. The response has not started or is incomplete.
func (u *Upstream) Fail(f exchange.Failure) {
	u.Over = true
	u.Relay.UpstreamFailed(f)
}

// Drain simulates a server that has read its queue.
func (u *Upstream) Drain() {
	u.Full = false
	u.Relay.UpstreamDrained()
}
