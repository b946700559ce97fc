package bolt

import (
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"example.com/ferry/internal/bufpool"
	wire "example.com/ferry/protocol/bolt"
)

// reflector returns a server that echoes requests of one size without an allocation.
func reflector(t testing.TB) *server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	request, _ := wire.Append(nil, call(wire.V1, 0, "com.example.Echo:1.0", make([]byte, content)))
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in, out := make([]byte, 256<<10), make([]byte, 0, 256<<10)
				have := 0
				for {
					n, err := c.Read(in[have:])
					if err != nil {
						return
					}
					have += n
					at := 0
					for ; have-at >= len(request); at += len(request) {
						f, _, _ := wire.Next(in[at:have], wire.Limits{})
						out = wire.AppendResponse(out, f, wire.StatusSuccess)
						binary.BigEndian.PutUint32(out[len(out)-4:], content)
						out = append(out, f.Content()...)
					}
					have = copy(in, in[at:have])
					if _, err := c.Write(out); err != nil {
						return
					}
					out = out[:0]
				}
			}()
		}
	}()
	return &server{addr: ln.Addr().String()}
}

const (
	burst   = 4    // requests in flight on each connection
	content = 1024 // bytes in each request and in each response
)

// rounds sends burst requests and reads their responses, n times, without an allocation.
func rounds(t testing.TB, c net.Conn, n int) {
	var all []byte
	for i := range burst {
		all, _ = wire.Append(all, call(wire.V1, uint32(i), "com.example.Echo:1.0", make([]byte, content)))
	}
	in := make([]byte, burst*(20+content))
	for range n {
		if _, err := c.Write(all); err != nil {
			t.Error(err)
			return
		}
		if _, err := io.ReadFull(c, in); err != nil {
			t.Error(err)
			return
		}
	}
}

// A request allocates nothing once the free lists are filled.
func TestRequestAllocatesNothing(t *testing.T) {
	if !bufpool.Reuse {
		t.Skip("needs buffers that are used again: a build without -tags nopool")
	}
	const n = 2500
	c := simple(t, nil, reflector(t)).dial()
	rounds(t, c, 100)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rounds(t, c, n)
	runtime.ReadMemStats(&after)
	if got := after.Mallocs - before.Mallocs; got > n*burst/100 { // the runtime and rounds allocate a little
		t.Errorf("%d allocations for %d requests", got, n*burst)
	}
}

// 100 connections have 4 requests of 1 KB each in flight. The clients and the server use the same cores as the proxy.
func BenchmarkForward(b *testing.B) {
	p := simple(b, nil, reflector(b))
	const conns = 100
	var clients [conns]*peer
	for i := range clients {
		clients[i] = p.dial()
		rounds(b, clients[i], 1)
	}
	b.ReportAllocs()
	b.ResetTimer()
	began := time.Now()
	var done sync.WaitGroup
	for _, c := range clients {
		done.Go(func() { rounds(b, c, max(1, b.N/conns/burst)) })
	}
	done.Wait()
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "req/s")
}
