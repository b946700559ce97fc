//go:build linux

package proof

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"example.com/ferry/internal/history"
)

// relay forwards TCP connections to an address until it is cut.
type relay struct {
	addr string

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]struct{}
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{addr: l.Addr().String(), conns: map[net.Conn]struct{}{}}
	var forwarding sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		r.setCut(true)
		forwarding.Wait()
	})
	forwarding.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if !r.add(c) {
				_ = c.Close()
				continue
			}
			forwarding.Go(func() { r.forward(c, to) })
		}
	})
	return r
}

// setCut ends all connections and refuses new ones, or lets them through again.
func (r *relay) setCut(cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = cut
	for c := range r.conns {
		if cut {
			_ = c.Close()
		}
	}
}

// add reports whether a connection may exist.
func (r *relay) add(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.cut {
		r.conns[c] = struct{}{}
	}
	return !r.cut
}

func (r *relay) remove(c net.Conn) {
	_ = c.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c)
}

// forward copies bytes in both directions until one ends.
func (r *relay) forward(from net.Conn, addr string) {
	defer r.remove(from)
	to, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	if !r.add(to) {
		_ = to.Close()
		return
	}
	defer r.remove(to)
	var copying sync.WaitGroup
	for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
		copying.Go(func() {
			_, _ = io.Copy(pair[0], pair[1])
			_ = pair[0].Close()
			_ = pair[1].Close()
		})
	}
	copying.Wait()
}

// TestCutOff cuts an edge off, with publishers and functions. Everything that was stored is handled when it is back.
func TestCutOff(t *testing.T) {
	eachEngine(t, atLeastOnce, func(t *testing.T, n *runningNode) {
		r := newRelay(t, n.addr)
		h := new(history.History)
		edge := *n
		edge.addr = r.addr
		handleAll(t, &edge, h, "workers")
		l := startLoad(t, h, edge.client("publisher"), "k", 16, 256)
		for range 3 {
			l.awaitStored(200)
			ended := h.Fault("edge cut off")
			r.setCut(true)
			time.Sleep(cutFor / 3)
			r.setCut(false)
			l.awaitStored(200)
			awaitMoreHandled(t, h, 100)
			ended()
		}
		l.wait()
		awaitHandled(t, h)
		verify(t, h)
	})
}
