package proxytest

import (
	"testing"
	"time"

	"example.com/ferry/protocol/http1"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/route"
)

// A request and its response pass through a Relay without an allocation.
func TestAllocations(t *testing.T) {
	w := newWorld(t, route.Rule{})
	w.do(func() {
		d := &countingDownstream{}
		d.relay.Init(d, w.loop)
		d.relay.Matchers = &route.Matchers{}
		u := &countingUpstream{relay: &d.relay}
		w.plan.Connectors[0] = u
		piece := make([]byte, 1000)
		request := func() {
			d.relay.Begin(w.plan, exchange.Timeouts{Body: time.Minute, BodyRate: 100})
			up, _ := d.relay.Forward(fixedHead{post}, false)
			d.SendRequest(up)
			d.relay.WatchBody()
			d.relay.RequestData(piece, false)
			d.relay.RequestEnd(nil)
			d.relay.Response(response, false)
			d.relay.ResponseData(piece, false)
			d.relay.ResponseEnd(nil)
		}
		request()
		if n := testing.AllocsPerRun(1000, request); n > 0 {
			t.Errorf("a request allocates %v times, want never", n)
		}
		if d.ended == 0 || u.bytes == 0 {
			t.Errorf("nothing has passed: %d responses ended, %d bytes", d.ended, u.bytes)
		}
	})
}

var response = &ResponseHead{Code: 200}

// fixedHead has parts that need no allocation in each call.
type fixedHead struct{ *RequestHead }

var fixedMethod, fixedHost, fixedPath = []byte("POST"), []byte("a.example"), []byte("/x")

func (fixedHead) Method() []byte        { return fixedMethod }
func (fixedHead) Authority() []byte     { return fixedHost }
func (fixedHead) Path() []byte          { return fixedPath }
func (fixedHead) Query() ([]byte, bool) { return nil, false }

type countingDownstream struct {
	relay exchange.Relay
	ended int
}

func (d *countingDownstream) SendRequest(up exchange.Upstream)          { up.Request(post, false) }
func (d *countingDownstream) ResumeRequest()                            {}
func (d *countingDownstream) Respond(int, []http1.Pair, string)         {}
func (d *countingDownstream) Interim(exchange.ResponseHead)             {}
func (d *countingDownstream) Response(exchange.ResponseHead, bool) bool { return true }
func (d *countingDownstream) ResponseData([]byte, bool)                 {}
func (d *countingDownstream) Reject(exchange.Rejection)                 {}
func (d *countingDownstream) Reset()                                    {}
func (d *countingDownstream) ResponseFull() bool                        { return false }
func (d *countingDownstream) Unsent() int                               { return 0 }
func (d *countingDownstream) BodyRead() int64                           { return 0 }
func (d *countingDownstream) ClientAddr() string                        { return "192.0.2.1" }
func (d *countingDownstream) RequestHead() exchange.RequestHead         { return post }
func (d *countingDownstream) ResponseEnd(exchange.Fields) {
	d.ended++
	d.relay.Finish(200)
	d.relay.Release()
}

type countingUpstream struct {
	relay *exchange.Relay
	bytes int
}

func (u *countingUpstream) Open(*exchange.Relay, bool) (exchange.Upstream, bool) { return u, true }
func (u *countingUpstream) Request(exchange.RequestHead, bool) bool              { return true }
func (u *countingUpstream) RequestData(p []byte, _ bool)                         { u.bytes += len(p) }
func (u *countingUpstream) RequestEnd(exchange.Fields)                           {}
func (u *countingUpstream) ResumeResponse()                                      {}
func (u *countingUpstream) Cancel()                                              {}
func (u *countingUpstream) RequestFull() bool                                    { return false }
func (u *countingUpstream) Unsent() int                                          { return 0 }
func (u *countingUpstream) MayResend(exchange.RequestHead, bool) exchange.Resend {
	return exchange.ResendNone
}
