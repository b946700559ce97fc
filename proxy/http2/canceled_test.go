package http2

import (
	"bytes"
	"net"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// TestCanceledAtOnce: a client that cancels each request at once does not make the proxy open a connection for each of them.
func TestCanceledAtOnce(t *testing.T) {
	t.Parallel()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	r := start(t, setup{servers: []string{server.Addr().String()}})
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	out, block := new(bytes.Buffer), new(bytes.Buffer)
	out.WriteString(http2.ClientPreface)
	w, e := http2.NewFramer(out, nil), hpack.NewEncoder(block)
	_ = w.WriteSettings()
	const requests = 400
	for i := range uint32(requests) {
		block.Reset()
		for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "a"}, {":path", "/"}} {
			_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}) // a buffer accepts all writes
		}
		_ = w.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true})
		_ = w.WriteRSTStream(2*i+1, http2.ErrCodeCancel)
	}
	if _, err := c.Write(out.Bytes()); err != nil {
		t.Fatal(err)
	}
	r.eventually("all requests are counted", func() bool {
		n := uint64(0)
		for _, route := range r.Metrics.Snapshot().Routes {
			n += route.Requests[0] // no response
		}
		return n == requests
	})
	if n := r.Stats().Dialed; n == 0 || n > 10 {
		t.Errorf("%d connections for %d requests that were canceled at once", n, requests)
	}
	c.Close()
	r.eventually("the connection is free", func() bool { return r.Stats().Conns <= 10 })
}
