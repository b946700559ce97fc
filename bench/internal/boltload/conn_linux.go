package boltload

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"example.com/ferry/loop"
)

// conn is one connection of the client.
type conn struct {
	loop.Base
	client  *client
	conn    *loop.Conn
	number  uint32
	flights []flight
	start   []byte // the bytes before the content of the request that is being written
}

// flight is a slot for one request in flight. When the response has arrived, the next request uses the slot. The index in
// conn.flights is the request id modulo len(conn.flights), so all connections use the same ids.
type flight struct {
	id   uint32
	size int // bytes of content
	sent time.Duration
}

// The stamp is the start of each request's content. No two requests have the same stamp.
const stampSize = 8 // bytes

func (h *conn) stamp(id uint32) (b [stampSize]byte) {
	binary.BigEndian.PutUint32(b[:], h.number)
	binary.BigEndian.PutUint32(b[4:], id)
	return b
}

// Opened counts the connection. When all connections are open, Opened starts the load.
func (h *conn) Opened(c *loop.Conn) {
	h.conn = c
	if h.client.opened++; h.client.opened == h.client.spec.Conns {
		h.client.allOpen()
	}
}

func (h *conn) send(f *flight) {
	c := h.client
	f.size = c.spec.Least + c.random.IntN(c.spec.Most-c.spec.Least+1)
	f.sent = time.Since(c.start)
	stamp := h.stamp(f.id)
	stamped := min(stampSize, f.size)
	h.start = append(appendRequest(h.start[:0], f.id, f.size), stamp[:stamped]...)
	h.conn.Write(h.start)
	h.conn.Write(c.content[stamped:f.size])
	c.inFlight++
}

// Data handles the complete responses in p, and sends one request for each of them.
func (h *conn) Data(_ *loop.Conn, p []byte) int {
	now := time.Since(h.client.start)
	done := 0
	for {
		f, err := next(p[done:])
		if err == nil && f.size == 0 {
			return done
		}
		if err == nil {
			err = h.take(&f, now)
		}
		if err != nil {
			h.client.fail(fmt.Errorf("connection %d: %w", h.number, err))
			return len(p)
		}
		done += f.size
	}
}

// take handles a response.
func (h *conn) take(r *received, now time.Duration) error {
	if err := r.responseError(); err != nil {
		return err
	}
	c := h.client
	f := &h.flights[r.id%uint32(len(h.flights))]
	if f.id != r.id {
		return fmt.Errorf("a response to request %d, which is not in flight", r.id)
	}
	stamp := h.stamp(f.id)
	stamped := min(stampSize, f.size)
	if len(r.content) != f.size || !bytes.Equal(r.content[:stamped], stamp[:stamped]) || !bytes.Equal(r.content[stamped:], c.content[stamped:f.size]) {
		return fmt.Errorf("request %d with %d bytes of content was answered with %d others: % x", f.id, f.size, len(r.content), r.content[:min(16, len(r.content))])
	}
	c.report.All++
	if c.counting {
		c.times = append(c.times, now-f.sent)
	}
	f.id += uint32(len(h.flights))
	if c.inFlight--; !c.ending {
		h.send(f)
	} else if c.inFlight == 0 {
		c.fail(nil)
	}
	return nil
}

var errEnded = errors.New("the proxy ended the connection")

// HalfClosed fails the measurement, as Closed does. The client never closes a connection before all responses have arrived.
func (h *conn) HalfClosed(c *loop.Conn) { h.Closed(c, errEnded) }

// Closed fails the measurement.
func (h *conn) Closed(_ *loop.Conn, err error) {
	if err == nil {
		err = errEnded
	}
	h.client.fail(fmt.Errorf("connection %d: %w", h.number, err))
}
