//go:build !race

// The race detector drops objects of a sync.Pool at random, so they are allocated again.

package http2

import (
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
)

// fixedServer starts a server that responds to each request with a body of 1000 bytes and with trailers. The server
// allocates nothing.
func fixedServer(tb testing.TB) string {
	return proxytest.Serve(tb, func(conn net.Conn) {
		buf, out, window := make([]byte, 1<<20), make([]byte, 0, 4096), make([]byte, 4)
		if _, err := io.ReadFull(conn, buf[:24]); err != nil { // the preface
			return
		}
		out = appendFrame(out, 4, 0, 0, nil) // SETTINGS
		for {
			if _, err := io.ReadFull(conn, buf[:9]); err != nil {
				return
			}
			length := int(buf[0])<<16 | int(buf[1])<<8 | int(buf[2])
			kind, flags, stream := buf[3], buf[4], binary.BigEndian.Uint32(buf[5:])
			if _, err := io.ReadFull(conn, buf[:length]); err != nil {
				return
			}
			if kind == 4 && flags == 0 {
				out = appendFrame(out, 4, 1, 0, nil)
			}
			if kind == 0 && length > 0 { // gives the window of the connection back
				out = appendFrame(out, 8, 0, 0, binary.BigEndian.AppendUint32(window[:0], uint32(length)))
			}
			if kind <= 1 && flags&1 != 0 {
				out = appendFrame(out, 1, 4, stream, okStatus[:])
				out = appendFrame(out, 0, 0, stream, body[:])
				out = appendFrame(out, 1, 5, stream, grpcOK)
			}
			if _, err := conn.Write(out); err != nil {
				return
			}
			out = out[:0]
		}
	})
}

var (
	okStatus = [1]byte{0x88} // RFC 7541, appendix A: :status 200
	body     [1000]byte
	grpcOK   = []byte("\x00\x0bgrpc-status\x010")
)

func appendFrame(b []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	b = append(b, 0, byte(len(payload)>>8), byte(len(payload)), kind, flags)
	b = binary.BigEndian.AppendUint32(b, stream)
	return append(b, payload...)
}

// fixedClient sends one request after another and allocates nothing.
type fixedClient struct {
	proxytest.Downstream
	relay exchange.Relay
	head  fixedHead
	plan  *exchange.Plan
	left  int
	over  chan int
	bytes int
}

// fixedHead is the head of a gRPC request. Its parts need no allocation.
type fixedHead struct{ exchange.RequestHead }

var (
	fixedMethod, fixedPath, fixedHost = []byte("POST"), []byte("/service/method"), []byte("a.example")
	typeName, typeValue               = []byte("content-type"), []byte("application/grpc")
	teValue                           = []byte("trailers")
)

func (fixedHead) All(yield func(name, value []byte) bool) { yield(typeName, typeValue) }
func (fixedHead) Method() []byte                          { return fixedMethod }
func (fixedHead) Authority() []byte                       { return fixedHost }
func (fixedHead) Path() []byte                            { return fixedPath }
func (fixedHead) Query() ([]byte, bool)                   { return nil, false }
func (fixedHead) ContentLength() int64                    { return -1 }
func (fixedHead) ExpectsContinue() bool                   { return false }
func (fixedHead) UpgradeTo() []byte                       { return nil }

func (fixedHead) Get(name string) []byte {
	switch name {
	case "content-type":
		return typeValue
	case "te":
		return teValue
	}
	return nil
}

func (c *fixedClient) request() {
	c.relay.Begin(c.plan, exchange.Timeouts{Body: time.Minute})
	c.relay.GRPC = exchange.IsGRPC(&c.head)
	c.relay.Changes.ForwardedFor, c.relay.Changes.Proto, c.relay.Changes.Via = "10.0.0.1", "http", "test"
	up, _ := c.relay.Forward(&c.head, false)
	if up != nil {
		c.SendRequest(up)
	}
	c.relay.RequestData(body[:], false)
	c.relay.RequestEnd(nil)
}

func (c *fixedClient) SendRequest(up exchange.Upstream)          { up.Request(&c.head, false) }
func (c *fixedClient) Response(exchange.ResponseHead, bool) bool { return false }
func (c *fixedClient) ResponseData(p []byte, _ bool)             { c.bytes += len(p) }
func (c *fixedClient) Reject(exchange.Rejection)                 { c.over <- -1 }

func (c *fixedClient) ResponseEnd(exchange.Fields) {
	c.relay.Finish(200)
	c.relay.Release()
	if c.left--; c.left == 0 {
		c.over <- c.bytes
		return
	}
	c.request()
}

func TestUpstreamAllocations(t *testing.T) {
	r := startUpstream(t, loop.Config{}, route.Rule{}, proxytest.Cluster("web", fixedServer(t)))
	c := &fixedClient{plan: r.plan, over: make(chan int, 1)}
	run := func(n int) {
		c.left, c.bytes = n, 0
		proxytest.OnLoop(t, r.loop, func() bool { c.request(); return true })
		if got := <-c.over; got != n*len(body) {
			t.Fatalf("%d requests got %d bytes, want %d", n, got, n*len(body))
		}
	}
	proxytest.OnLoop(t, r.loop, func() bool { c.relay.Init(c, r.loop); c.relay.Matchers = &route.Matchers{}; return true })
	run(2000)
	const n = 10_000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run(n)
	runtime.ReadMemStats(&after)
	if got := after.Mallocs - before.Mallocs; got > n/100 {
		t.Errorf("%d requests made %d allocations: want none but the runtime's own", n, got)
	}
	if got := r.Metrics.Snapshot().Routes[0].Requests[traffic.GRPC(0)]; got != 12_000 {
		t.Errorf("%d requests counted as successful calls, want 12000", got)
	}
}
