package proxytest

import (
	"bytes"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/protocol/http1"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
)

// Downstream is a client's side in memory, controlled by the test. It is used on one loop, for one request after
// another.
type Downstream struct {
	Relay exchange.Relay

	// State that the test sets.
	Head *RequestHead
	Addr string // client address; empty means none
	Full bool   // the client's queue is at its high watermark
	// Responded is called when the request has ended: after a complete response, Reject or Reset. It may be nil.
	Responded func()

	// Results of the request.
	Interims []int
	Status   int    // status of the response; 0 if no response has started
	Fields   Fields // header fields of the response
	Body     bytes.Buffer
	Trailers Fields
	Rejected *exchange.Rejection // nil unless the proxy has sent a response of its own
	WasReset bool
	Ended    bool // the response has ended: only Reset may follow

	tb       testing.TB
	sent     int64 // bytes of the request body that were sent
	whole    bool
	paused   bool // the request body is paused
	trailers Fields
	last     bool // the last piece of the response's body has come as such
}

var _ exchange.Downstream = (*Downstream)(nil)

// NewDownstream creates a Downstream for requests on l. It must be called on l.
func NewDownstream(tb testing.TB, l *loop.Loop) *Downstream {
	d := &Downstream{tb: tb}
	d.Relay.Init(d, l)
	d.Relay.Matchers = &route.Matchers{}
	return d
}

// Begin admits a request by the routes of plan and forwards the request. end means that the request has no body.
func (d *Downstream) Begin(plan *exchange.Plan, t exchange.Timeouts, head *RequestHead, end bool) {
	*d = Downstream{tb: d.tb, Relay: d.Relay, Head: head, Addr: d.Addr, Full: d.Full, Responded: d.Responded}
	d.Relay.Begin(plan, t)
	d.Relay.GRPC = exchange.IsGRPC(head)
	up, outcome := d.Relay.Forward(head, end)
	if outcome == exchange.Refused {
		d.Relay.Respond()
		return
	}
	d.Relay.Replay.KeepHead([]byte(head.MethodName))
	if up != nil {
		d.SendRequest(up)
	}
	if end {
		d.End(nil)
	} else {
		d.Relay.WatchBody()
	}
}

// ClientAddr returns Addr.
func (d *Downstream) ClientAddr() string { return d.Addr }

// RequestHead returns the head that was passed to Begin.
func (d *Downstream) RequestHead() exchange.RequestHead { return d.Head }

// CanSend reports whether Send may be called.
func (d *Downstream) CanSend() bool { return !d.Ended && !d.whole && !d.paused && d.Relay.Ready() }

// Send sends a piece of the request's body.
func (d *Downstream) Send(p []byte) {
	d.sent += int64(len(p))
	d.Relay.Replay.KeepBody(p)
	d.paused = d.Relay.RequestData(p, false)
}

// SendLast sends the last piece of the request's body and ends the request.
func (d *Downstream) SendLast(p []byte) {
	d.sent += int64(len(p))
	d.Relay.Replay.KeepBody(p)
	d.Relay.RequestData(p, true)
	d.End(nil)
}

// End ends the request.
func (d *Downstream) End(trailers Fields) {
	d.whole, d.trailers = true, trailers
	d.Relay.RequestEnd(fieldsOrNil(trailers))
}

// Leave simulates a client that closes its connection.
func (d *Downstream) Leave() {
	d.Relay.Abandon()
	d.finish(0)
}

// Drain simulates a client that has read its queue.
func (d *Downstream) Drain() {
	d.Full = false
	d.Relay.DownstreamDrained()
}

func (d *Downstream) finish(status int) {
	if !d.Ended {
		d.Ended = true
		d.Relay.Finish(status)
		if d.Responded != nil {
			d.Responded()
		}
	}
}

func (d *Downstream) check(call string, ok bool) {
	if !ok || d.Ended {
		d.tb.Errorf("%s comes at the wrong time: status %d, ended %v", call, d.Status, d.Ended)
	}
}

// SendRequest sends the request to up from its first byte.
func (d *Downstream) SendRequest(up exchange.Upstream) {
	d.check("SendRequest", d.Status == 0)
	up.Request(d.Head, d.whole && d.sent == 0 && d.trailers == nil)
	if kept := d.Relay.Replay.Body(); len(kept) > 0 {
		up.RequestData(kept, d.whole && d.trailers == nil)
	}
	if d.whole {
		up.RequestEnd(fieldsOrNil(d.trailers))
	}
}

// ResumeRequest makes CanSend true again.
func (d *Downstream) ResumeRequest() { d.paused = false }

// Interim records the status.
func (d *Downstream) Interim(h exchange.ResponseHead) {
	d.check("Interim", d.Status == 0)
	d.Interims = append(d.Interims, h.Status())
}

// Response records the head.
func (d *Downstream) Response(h exchange.ResponseHead, _ bool) (framed bool) {
	d.check("Response", d.Status == 0)
	d.Status, d.Fields = h.Status(), Collect(h)
	return false
}

// ResponseData records a piece of the body.
func (d *Downstream) ResponseData(p []byte, last bool) {
	d.check("ResponseData", d.Status != 0 && !d.last)
	d.last = last
	d.Body.Write(p)
}

// ResponseEnd ends the request.
func (d *Downstream) ResponseEnd(trailers exchange.Fields) {
	d.check("ResponseEnd", d.Status != 0 && (!d.last || trailers == nil))
	d.Trailers = Collect(trailers)
	d.finish(d.Status)
}

// Respond ends the request.
func (d *Downstream) Respond(status int, _ []http1.Pair, body string) {
	d.check("Respond", d.Status == 0)
	d.Status = status
	d.Body.WriteString(body)
	d.finish(status)
}

// Reject ends the request.
func (d *Downstream) Reject(why exchange.Rejection) {
	d.check("Reject", d.Status == 0)
	d.Rejected = &why
	d.finish(why.HTTPStatus())
}

// Reset ends the request.
func (d *Downstream) Reset() {
	if !d.Ended {
		d.check("Reset", d.Status != 0)
	}
	d.WasReset = true
	d.finish(d.Status)
}

// ResponseFull returns Full.
func (d *Downstream) ResponseFull() bool { return d.Full }

// Unsent returns 0, because memory accepts every byte.
func (d *Downstream) Unsent() int { return 0 }

// BodyRead returns the number of bytes sent.
func (d *Downstream) BodyRead() int64 { return d.sent }

// fieldsOrNil returns f, or a nil interface if f is empty.
func fieldsOrNil(f Fields) exchange.Fields {
	if f == nil {
		return nil
	}
	return f
}
