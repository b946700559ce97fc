package tlslayer

import (
	"context"
	"crypto/tls"
	"sync"
	"time"
)

// How many received bytes a handshake queues for its goroutine. Then the loop stops reading the connection until the goroutine
// has read them.
const (
	maxArrived = 32 << 10 // a client may send its first requests right after its last message of the handshake
	maxEarly   = 4 << 10  // before the goroutine has started; without the ClientHello, after which honest clients wait
)

// handshake is a handshake that waits for a place or runs on its goroutine. The loop passes received bytes to the goroutine
// (received), the goroutine passes bytes to send to the loop (write).
type handshake struct {
	layer  *Layer
	config *tls.Config

	entered bool  // used by the loop: Bound.enter was called
	done    bool  // used by the loop: the goroutine has ended
	err     error // used by the loop: the result, if done

	mu      sync.Mutex
	arrived sync.Cond // in or inErr has changed
	in      []byte    // received bytes that the goroutine has not read
	most    int       // bytes that in may have
	inErr   error     // end of the connection; read returns it after in
	left    int       // bytes of the current record that read has not returned
	out     []byte    // bytes to send
	posted  bool      // send is posted to the loop
	stalled bool      // the loop waits until in is shorter than most

	// The fields below belong to places and are guarded by its mutex.

	list       *shakeList // list that contains the handshake; nil if none does
	prev, next *handshake
	silent     bool      // the goroutine waits for the peer
	ended      bool      // places.endSilent has ended it
	since      time.Time // when the goroutine first waited for the peer
}

func newHandshake(t *Layer, in []byte) *handshake {
	h := &handshake{layer: t, config: t.config, in: in, most: len(in) + maxEarly}
	t.config = nil
	h.arrived.L = &h.mu
	return h
}

// run is the goroutine of the handshake.
func (h *handshake) run() {
	t := h.layer
	p := t.bound.places
	h.mu.Lock()
	h.most = maxArrived
	h.mu.Unlock()
	p.startComputing()
	if t.client {
		t.conn = tls.Client(wire{t}, h.config)
	} else {
		t.conn = tls.Server(wire{t}, h.config)
	}
	err := t.conn.HandshakeContext(context.Background())
	p.stopComputing()
	t.bound.leave(h)
	h.post(func() {
		h.send()
		h.done, h.err = true, err
		t.socket.Wake()
	})
}

// post makes the loop call f. If the loop has ended, no connection is left.
func (h *handshake) post(f func()) { _ = h.layer.loop.PostWait(context.Background(), f) }

// read is wire.Read on the goroutine. It returns bytes of one record at most, so no bytes of the next record are in the
// tls.Conn when the handshake ends.
func (h *handshake) read(p []byte) (int, error) {
	h.mu.Lock()
	if !h.readable() {
		h.await()
	}
	if h.left == 0 {
		h.left = recordLen(h.in)
	}
	if h.left == 0 || len(h.in) == 0 {
		err := h.inErr
		h.mu.Unlock()
		return 0, err
	}
	n := copy(p[:min(len(p), h.left)], h.in)
	h.in, h.left = h.in[n:], h.left-n
	wake := h.stalled && len(h.in) < h.most
	if wake {
		h.stalled = false
	}
	h.mu.Unlock()
	if wake {
		h.post(h.layer.socket.Wake)
	}
	return n, nil
}

// readable reports whether read has something to return. The caller holds mu.
func (h *handshake) readable() bool {
	return h.inErr != nil || len(h.in) > 0 && (h.left > 0 || len(h.in) >= recordHead)
}

// await waits until read has something to return. Meanwhile another handshake may compute. The caller holds mu.
func (h *handshake) await() {
	places := h.layer.bound.places
	h.mu.Unlock()
	places.stopComputing()
	places.setSilent(h, true)
	h.mu.Lock()
	for !h.readable() {
		h.arrived.Wait()
	}
	h.mu.Unlock()
	places.setSilent(h, false)
	places.startComputing()
	h.mu.Lock()
}

// write is wire.Write on the goroutine.
func (h *handshake) write(p []byte) (int, error) {
	h.mu.Lock()
	h.out = append(h.out, p...)
	post := !h.posted
	h.posted = true
	h.mu.Unlock()
	if post {
		h.post(h.send)
	}
	return len(p), nil
}

// send sends what the goroutine wrote. The loop calls it.
func (h *handshake) send() {
	h.mu.Lock()
	out := h.out
	h.out, h.posted = nil, false
	h.mu.Unlock()
	h.layer.socket.Write(out)
}

// received passes bytes, and the end of the connection, to the goroutine. The loop calls it.
func (h *handshake) received(p []byte, err error) {
	h.mu.Lock()
	h.in = append(h.in, p...)
	if h.inErr == nil {
		h.inErr = err
	}
	h.arrived.Signal()
	h.mu.Unlock()
}

// room returns how many bytes the loop may pass to received. If it is 0, the goroutine wakes the layer later. The loop calls it.
func (h *handshake) room() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	room := max(h.most-len(h.in), 0)
	h.stalled = room == 0
	return room
}

// cancel makes the goroutine end with err.
func (h *handshake) cancel(err error) {
	h.mu.Lock()
	h.in, h.left, h.inErr = nil, 0, err
	h.arrived.Signal()
	h.mu.Unlock()
}

// rest returns the bytes that the goroutine has not read. The loop calls it after the goroutine has ended.
func (h *handshake) rest() []byte { return h.in }
