package h2conn

import (
	"errors"
	"fmt"
	"io"
	"time"

	"example.com/ferry/internal/bufpool"
)

// Serve reads the connection until it ends, and returns why: nil after Drain or Close(nil), and after the server's GOAWAY; io.EOF if the
// peer has closed the connection; a *http2.ConnError if one side broke the protocol. The Handler has got Reset for each stream
// that was open. Serve is called once. When it returns, all goroutines of the connection have ended.
func (c *Conn) Serve() error {
	c.Lock()
	c.begin(time.Now())
	c.Unlock()
	go func() {
		if err := c.writer.Run(c.raw); err != nil {
			c.Close(fmt.Errorf("http2: write: %w", err))
		}
	}()
	c.read()
	<-c.finished
	<-c.writer.Done()
	c.Lock()
	c.writer.Discard()
	c.writer.Unlock()
	close(c.ended)
	return c.why
}

// read passes what arrives to http2 until the socket ends. While the connection is closing, what arrives is discarded.
func (c *Conn) read() {
	defer close(c.readEnd)
	in := newReadBuffer()
	defer in.release()
	if first := c.cfg.First; len(first) > 0 {
		in.add(copy(in.room(), first))
		c.receive(in)
	}
	for {
		n, err := c.raw.Read(in.room())
		if n > 0 {
			in.add(n)
			c.receive(in)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				err = fmt.Errorf("http2: read: %w", err)
			}
			c.Close(err)
			return
		}
	}
}

// moreDiscarded is the number of bytes beside the DATA of a window that a peer may send until it has read the end.
const moreDiscarded = 64 << 10

// receive processes the bytes of in.
func (c *Conn) receive(in *readBuffer) {
	c.Lock()
	if c.state == closing {
		c.discarded += in.discard()
		flood := c.discarded > c.cfg.HTTP2.ConnWindow+moreDiscarded
		c.writer.Unlock()
		if flood {
			_ = c.raw.Close()
		}
		return
	}
	c.reads++
	n, err := c.http2.Receive(in.bytes())
	in.consume(n)
	if err != nil {
		c.Close(err) // GOAWAY is queued
	}
	if c.turn != nil {
		c.turn.Turn()
	}
	c.unlock(0)
}

const (
	smallRead = 4 << 10  // buffer size of an idle connection, in bytes
	largeRead = 64 << 10 // buffer size of a busy connection, in bytes
	quietRuns = 16       // small reads after which a large buffer is replaced by a small one
)

// readBuffer holds the bytes that http2 has not consumed, and room for the next read.
type readBuffer struct {
	buf  *bufpool.Buf
	full bool // the last read filled the buffer
	runs int  // reads in a row that a small buffer could have taken
}

func newReadBuffer() *readBuffer { return &readBuffer{buf: bufpool.Get(smallRead)} }

// room returns the memory for the next read. http2 refuses frames beyond Config.MaxFrame at their header, so the buffer is at most
// twice as large as such a frame.
func (b *readBuffer) room() []byte {
	held := len(b.buf.B)
	switch size := cap(b.buf.B); {
	case held == size:
		b.resize(2 * size)
	case b.full && size < largeRead:
		b.resize(largeRead)
	case b.runs >= quietRuns && held == 0 && size > smallRead:
		b.resize(smallRead)
	}
	return b.buf.B[len(b.buf.B):cap(b.buf.B)]
}

func (b *readBuffer) resize(size int) {
	next := bufpool.Get(size)
	next.B = append(next.B, b.buf.B...)
	b.buf.Release()
	b.buf, b.full, b.runs = next, false, 0
}

// add notes that n bytes were read.
func (b *readBuffer) add(n int) {
	b.buf.B = b.buf.B[:len(b.buf.B)+n]
	b.full = len(b.buf.B) == cap(b.buf.B)
	if b.runs++; n > smallRead {
		b.runs = 0
	}
}

func (b *readBuffer) bytes() []byte { return b.buf.B }

// consume removes the first n bytes.
func (b *readBuffer) consume(n int) { b.buf.B = b.buf.B[:copy(b.buf.B, b.buf.B[n:])] }

// discard removes all bytes and returns their number.
func (b *readBuffer) discard() int {
	n := len(b.buf.B)
	b.buf.B = b.buf.B[:0]
	return n
}

func (b *readBuffer) release() { b.buf.Release() }
