package h2conn

import (
	"errors"
	"io"
	"time"

	"example.com/ferry/protocol/http2"
)

// drainTime is how long a server waits for the PONG that shows that the client has read the first GOAWAY.
const drainTime = time.Second

// Drain ends the connection after its streams. A server sends GOAWAY, accepts streams that were on their way, and sends the final
// GOAWAY after a round trip. A client opens no more streams. Drain returns at once; Serve returns when all streams have ended. There is no
// bound: call Close after the time that you allow.
func (c *Conn) Drain() {
	c.Lock()
	c.drain(time.Now())
	c.unlock(0)
}

// drain begins to drain. It needs the lock.
func (c *Conn) drain(now time.Time) {
	if c.state != serving {
		return
	}
	c.http2.GoAway(http2.NoError)
	if c.client {
		c.enter(draining)
		return
	}
	c.enter(announced)
	c.drainBy = now.Add(drainTime)
}

// advance takes the next step of a connection that drains. It needs the lock.
func (c *Conn) advance() {
	if c.state == announced && !c.http2.PongAwaited() {
		if c.drainPinged {
			c.finalGoAway()
		} else {
			c.http2.Ping() // an earlier PING does not show that GOAWAY was read
			c.drainPinged = true
		}
	}
	if c.state == draining && c.http2.Streams() == 0 {
		c.Close(nil)
	}
}

func (c *Conn) finalGoAway() {
	c.enter(draining)
	c.http2.GoAway(http2.NoError)
}

// Close ends the connection: the Handler gets Reset for each open stream, the queue and GOAWAY are written within Config.Linger, and
// the net.Conn is closed. why is what Serve returns; nil means an end in order. Close returns at once. The first call
// decides. It may be called with or without the lock.
func (c *Conn) Close(why error) {
	c.once.Do(func() {
		c.why = why
		close(c.closing)
		go c.finish()
	})
}

// finish is the goroutine that ends the connection.
func (c *Conn) finish() {
	defer close(c.finished)
	c.Lock()
	c.sayGoAway()
	c.enter(closing)
	c.stopChecks()
	c.http2.Closed(c.why)
	c.writer.Unlock()
	c.writer.Close()

	linger := time.NewTimer(c.cfg.Linger)
	defer linger.Stop()
	select {
	case <-c.writer.Done():
		// An end of the socket while bytes of the peer are unread could reset the connection before the peer has read the last bytes.
		if half, ok := c.raw.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
			select {
			case <-c.readEnd:
			case <-linger.C:
			}
		}
	case <-linger.C:
	}
	_ = c.raw.Close()
}

// sayGoAway writes the final GOAWAY, from which the peer learns which of its streams were not processed. It has no effect if the
// final GOAWAY was written before.
func (c *Conn) sayGoAway() {
	if c.why != nil && !errors.Is(c.why, io.EOF) {
		c.http2.GoAway(http2.InternalError)
		return
	}
	if !c.client && !c.http2.Draining() {
		c.http2.GoAway(http2.NoError)
	}
	c.http2.GoAway(http2.NoError)
}
