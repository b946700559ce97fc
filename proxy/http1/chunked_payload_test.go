package http1

import (
	"io"
	"runtime"
	"testing"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/proxytest"
	"example.com/ferry/proxy/route"
)

// TestChunkedPayloadTakesWhatArrives: a chunked body whose route depends on its payload takes memory for the bytes that have arrived,
// not for the most that may arrive.
func TestChunkedPayloadTakesWhatArrives(t *testing.T) {
	const clients, each = 300, 16 << 10
	r := start(t, setup{loop: loop.Config{Loops: 1}, servers: []string{proxytest.DeadAddr(t)}, rules: []route.Rule{
		{Match: route.Match{Payload: &route.Payload{Format: "json", Where: `a == "b"`}}, Cluster: "web"},
		{Cluster: "web"},
	}})
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for range clients {
		c := r.dial()
		c.Send("POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\nExpect: 100-continue\n\n1\n{\n")
		want := proxytest.CRLF("HTTP/1.1 100 Continue\n\n")
		got := make([]byte, len(want))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	r.Group.Each(func(*loop.Loop) {})
	if grown := heap() - before; grown > clients*each {
		t.Errorf("%d clients with a byte each take %d bytes, want %d at most", clients, grown, clients*each)
	}
}
