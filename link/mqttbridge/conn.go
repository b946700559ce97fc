package mqttbridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"example.com/ferry/internal/peer"
	"example.com/ferry/link"
	"example.com/ferry/protocol/mqtt"
)

// conn is one connection to the other broker. The goroutine that dials reads from it, and Send writes to it.
type conn struct {
	bridge    *Bridge
	target    *Target
	ctx       context.Context // ends with the connection; its cause says why
	fail      context.CancelCauseFunc
	net       net.Conn
	version   mqtt.Version
	in        *inlet
	keepAlive time.Duration
	inflight  int  // messages that may be on their way to the broker
	largest   int  // bytes of the largest packet that the broker takes
	retains   bool // the broker takes messages with the retain flag

	buf  []byte // that were read
	at   int    // buf[:at] is handled
	acks []mqtt.AckPacket

	out     *peer.FrameWriter
	settled chan struct{} // of capacity 1: nothing is on its way
	skipped chan struct{} // of capacity 1: skip was called

	// The lock of the outbox guards what follows.
	flights    peer.FIFO[flight]
	landed     uint64 // flights that were removed
	passed     uint64 // messages that the broker has, or that need no PUBACK
	topic      []byte // scratch
	properties mqtt.Properties
}

// flight is a message that was sent and has no PUBACK yet, or whose predecessors have none.
type flight struct {
	acked  bool
	behind int // messages behind it that need no PUBACK
}

var (
	_ link.Conn = (*conn)(nil)

	errClosed    = errors.New("bridge: closed")
	errServerEnd = errors.New("bridge: the broker has closed the connection")
)

const readSize = 16 << 10

// next returns the next packet, whose body is valid until the next call. Before it waits, it notes the PUBACKs that have come.
func (c *conn) next() (mqtt.Packet, error) {
	limits := mqtt.Limits{Version: c.version, FromServer: true, MaxPacket: c.bridge.cfg.MaxPacket}
	for {
		p, need, err := mqtt.Next(c.buf[c.at:], limits)
		if err != nil || need == 0 {
			c.at += p.Size
			return p, err
		}
		if len(c.acks) > 0 {
			c.confirm(c.acks)
			c.acks = c.acks[:0]
		}
		rest := copy(c.buf, c.buf[c.at:])
		if c.buf, c.at = c.buf[:rest], 0; cap(c.buf) < max(need, readSize) {
			c.buf = append(make([]byte, 0, max(need, readSize)), c.buf...)
		} else if rest == 0 && cap(c.buf) > 4*readSize {
			c.buf = make([]byte, 0, readSize) // a large packet has passed
		}
		_ = c.net.SetReadDeadline(time.Now().Add(3 * c.keepAlive / 2))
		n, err := c.net.Read(c.buf[rest:cap(c.buf)])
		if c.buf = c.buf[:rest+n]; n == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				err = errServerEnd
			}
			return mqtt.Packet{}, err
		}
	}
}

// handle handles a packet that is no response to a request.
func (c *conn) handle(p mqtt.Packet) error {
	switch p.Kind {
	case mqtt.Publish:
		m, err := mqtt.ParsePublish(p)
		if err != nil {
			return err
		}
		return c.in.push(&m)
	case mqtt.Puback:
		a, err := mqtt.ParseAck(p)
		a.Properties = nil
		c.acks = append(c.acks, a)
		return err
	case mqtt.Pingresp:
		return nil
	case mqtt.Disconnect:
		d, err := mqtt.ParseDisconnect(p)
		if err == nil {
			err = fmt.Errorf("%w: %v", errServerEnd, d.Code)
		}
		return err
	}
	return &mqtt.Error{Code: mqtt.ProtocolError, Kind: p.Kind, Close: true, Reason: "the bridge has not asked for it"}
}

// Serve runs the connection until it ends, and returns the reason.
func (c *conn) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { c.fail(errClosed) })
	defer stop()
	go c.beat()
	for {
		p, err := c.next()
		if err == nil {
			err = c.handle(p)
		}
		if err != nil {
			return c.close(err)
		}
	}
}

// beat sends PINGREQ often enough for the broker, and for the deadline of reads.
func (c *conn) beat() {
	tick := time.NewTicker(max(c.keepAlive/2, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			c.write(mqtt.AppendPingreq(nil))
		case <-c.skipped:
			c.confirm(nil)
		case <-c.ctx.Done():
			return
		}
	}
}

// write appends packets to those that are written.
func (c *conn) write(packets []byte) {
	c.out.Lock()
	if !c.out.Closed() {
		c.out.Append(packets)
	}
	c.out.Unlock()
}

// timedWriter writes to a connection, and gives each write a limit.
type timedWriter struct {
	net.Conn
	limit time.Duration
}

func (w timedWriter) Write(b []byte) (int, error) {
	_ = w.SetWriteDeadline(time.Now().Add(w.limit))
	return w.Conn.Write(b)
}

// run writes until the connection ends.
func (c *conn) run() {
	if err := c.out.Run(timedWriter{c.net, c.bridge.cfg.DialTimeout}); err != nil {
		c.fail(fmt.Errorf("bridge: %w", err))
	}
}

// end writes what waits, and a last packet.
func (c *conn) end(packet []byte) {
	c.write(packet)
	c.out.Close()
	<-c.out.Done()
}

// close ends the connection, releases what it holds, and returns the first reason for its end. A broker that has violated the standard is
// told so.
func (c *conn) close(why error) error {
	if e := (*mqtt.Error)(nil); c.ctx.Err() != nil {
		why = context.Cause(c.ctx)
	} else if errors.As(why, &e) {
		c.end(e.AppendResponse(nil, c.version, true))
	}
	c.fail(why)
	c.out.Close()
	<-c.out.Done()
	c.in.close()
	return why
}

// Finish waits until the broker has confirmed what is on its way, and ends the connection by DISCONNECT.
func (c *conn) Finish(ctx context.Context) error {
	defer c.fail(errClosed)
	for {
		c.bridge.Box.Lock()
		left := c.flights.Len()
		c.bridge.Box.Unlock()
		if left == 0 {
			c.confirm(nil)
			c.end(mqtt.AppendDisconnect(nil, c.version, mqtt.DisconnectPacket{}))
			return nil
		}
		select {
		case <-c.settled:
		case <-ctx.Done():
			return ctx.Err()
		case <-c.ctx.Done():
			return context.Cause(c.ctx)
		}
	}
}

// RemoteAddr returns the address of the broker.
func (c *conn) RemoteAddr() net.Addr { return c.net.RemoteAddr() }

// signal wakes the goroutine that reads ch, a channel of capacity 1.
func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
