package tlslayer

import (
	"crypto/tls"
	"sync"
	"testing"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/loop"
)

// TestConnBuffers: this version of crypto/tls has the buffers that connBuffers releases.
func TestConnBuffers(t *testing.T) {
	if !rawInputFound || !handFound {
		t.Fatal("tls.Conn has no fields rawInput and hand of type bytes.Buffer: see conn_buffers.go")
	}
	var c tls.Conn
	b := buffersOf(&c)
	b.rawInput.WriteString("held")
	b.hand.WriteString("x")
	b.hand.Next(1)
	b.release()
	if b.rawInput.String() != "held" || b.rawInput.Cap() == 0 {
		t.Errorf("a buffer with bytes was released: %q", b.rawInput)
	}
	if b.hand.Cap() != 0 {
		t.Error("an empty buffer was not released")
	}
}

// TestInterleaved: many connections of one loop read pieces of records in turns. Each keeps its own bytes.
func TestInterleaved(t *testing.T) {
	server, client := newAuthority(t).configs(t)
	both(t, func(t *testing.T, cfg *loop.Config) {
		cfg.Loops, cfg.ReadBuffer, cfg.TurnBytes, cfg.HighWater = 1, 1000, 3000, 4000
		r := newRig(t, cfg, nil, server)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { echoes(t, tls.Client(r.dial(t), client), noise(200_000)) })
		}
		wg.Wait()
	})
}

// held is a handler that reads nothing. It tells when it is opened.
type held struct {
	loop.Base
	opened chan *loop.Conn
}

func (h *held) Opened(c *loop.Conn) {
	c.PauseReading()
	h.opened <- c
}

// TestIdleConnection: an idle connection has no buffers, whatever it has read before, and reading and writing a record
// allocates only what crypto/tls allocates: one small object for each record that is read.
func TestIdleConnection(t *testing.T) {
	server, client := newAuthority(t).configs(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		c := client.Clone()
		c.MaxVersion = version
		r := newRig(t, &loop.Config{Loops: 1}, nil, server)
		h := &held{opened: make(chan *loop.Conn, 1)}
		at, err := loop.ParseAddr("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		r.listener, err = r.group.Listen(at, func(c *loop.Conn) loop.Handler {
			c.SetLayer(r.layers.Server(c.Loop(), server, r.layers.Bound()), nil)
			return h
		})
		if err != nil {
			t.Fatal(err)
		}
		conn := tls.Client(r.dial(t), c)
		if err := conn.Handshake(); err != nil {
			t.Fatal(err)
		}
		layer, ok := (<-h.opened).Layer().(*Layer)
		if !ok {
			t.Fatal("another layer")
		}
		onLoop := func(f func() bool) bool {
			done := make(chan bool)
			if err := r.group.Loops()[0].Post(func() { done <- f() }); err != nil {
				t.Fatal(err)
			}
			return <-done
		}
		if _, err := conn.Write(noise(16 << 10)); err != nil {
			t.Fatal(err)
		}
		p, n := make([]byte, 20<<10), 0
		eventually(t, "a long record is read", func() bool {
			return onLoop(func() bool {
				k, _ := layer.Read(p)
				n += k
				return n == 16<<10
			})
		})
		const runs, size = 20, 1 << 10
		for range runs + 1 { // AllocsPerRun calls its function once more
			if _, err := conn.Write(noise(size)); err != nil {
				t.Fatal(err)
			}
		}
		allocs := 0.0
		eventually(t, "the records have arrived", func() bool {
			return onLoop(func() bool {
				_, _ = layer.readSocket(sharedSize)
				if len(layer.pending()) < (runs+1)*size {
					return false
				}
				allocs = testing.AllocsPerRun(runs, func() {
					k, _ := layer.Read(p[:size])
					_, _ = layer.Write(p[:k])
				})
				_, _ = layer.Read(p)
				return true
			})
		})
		if allocs > 1 && !raceDetector && bufpool.Reuse { // a sync.Pool drops at random under the race detector
			t.Errorf("%s: %v allocations for a record read and a record written, want 1", tls.VersionName(version), allocs)
		}
		done := make(chan int)
		_ = r.group.Loops()[0].Post(func() {
			b := buffersOf(layer.conn)
			done <- b.rawInput.Cap() + b.hand.Cap()
		})
		if n := <-done; n != 0 {
			t.Errorf("%s: an idle connection has buffers of %d bytes", tls.VersionName(version), n)
		}
	}
}
