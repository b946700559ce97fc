package http2

import (
	"strings"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
)

// connectorFunc is a Connector of one function.
type connectorFunc func(r *exchange.Relay, fresh bool) (exchange.Upstream, bool)

func (f connectorFunc) Open(r *exchange.Relay, fresh bool) (up exchange.Upstream, ready bool) {
	return f(r, fresh)
}

// TestHeadSizeIsKnownAfterHTTP1: the first attempt goes to a server that has chosen HTTP/1.1. The next one may go to a server of HTTP/2, so the size of
// the head is computed while there is the head.
func TestHeadSizeIsKnownAfterHTTP1(t *testing.T) {
	t.Parallel()
	rig := startUpstream(t, loop.Config{}, route.Rule{}, oneConnection(proxytest.DeadAddr(t)))
	http2, size := NewConnector(1), 0
	negotiator := NewNegotiator(connectorFunc(func(*exchange.Relay, bool) (exchange.Upstream, bool) { return nil, false }), http2)
	rig.plan.Connectors[0] = connectorFunc(func(r *exchange.Relay, fresh bool) (exchange.Upstream, bool) {
		r.In = 4 << 10
		r.Endpoint.ChoseHTTP1(r.Loop().Now())
		return negotiator.Open(r, fresh)
	})
	head := *getHead
	head.Fields = proxytest.Fields{{Name: "x-large", Value: strings.Repeat("v", 4<<10)}}
	c := rig.begin(&head, true, nil)
	c.wait()
	c.do(func() { size = c.Relay.HeadSize(&http2.loops[0].fields.request) })
	if size < 4<<10 {
		t.Errorf("the size of the head is %d", size)
	}
}
