package peer

import (
	"context"
	"fmt"

	"example.com/ferry/protocol/native"
	"example.com/ferry/transport"
)

// Writer returns the writer of data stream i, and opens the stream if necessary. setUp, if not nil, is called with a
// new writer before its first use. Without data streams Writer returns the control stream's writer. If the connection
// is closing, a new writer is already closed.
func (c *Conn) Writer(i int, setUp func(*FrameWriter)) *FrameWriter {
	if c.multi == nil {
		return c.control
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.data[i]; w != nil {
		return w
	}
	w := NewFrameWriter(c.cfg.WriteBuffer)
	w.Gather = c.cfg.Gather
	if setUp != nil {
		setUp(w)
	}
	if c.sealed {
		w.Close()
		return w
	}
	c.data[i] = w
	go func() {
		if err := writeDataStream(c.ctx, c.multi, i, w); err != nil {
			c.Close(err)
		}
	}()
	return w
}

// Gather sets FrameWriter.Gather for all streams: the connection now also carries short frames of many producers.
func (c *Conn) Gather() {
	c.mu.Lock()
	c.cfg.Gather = true
	c.mu.Unlock()
	for _, w := range c.Writers() {
		w.Lock()
		w.Gather = true
		w.Unlock()
	}
}

// Writers returns the writers of all streams in use, beginning with the control stream.
func (c *Conn) Writers() []*FrameWriter {
	c.mu.Lock()
	defer c.mu.Unlock()
	writers := make([]*FrameWriter, 1, 1+len(c.data))
	writers[0] = c.control
	for _, w := range c.data {
		if w != nil {
			writers = append(writers, w)
		}
	}
	return writers
}

// writeDataStream opens data stream i of a connection and writes to it until w is closed.
func writeDataStream(ctx context.Context, conn transport.Multi, i int, w *FrameWriter) error {
	stream, err := conn.OpenStream(ctx)
	if err == nil {
		_, err = stream.Write(native.AppendJoin(nil, uint32(i)))
	}
	if err != nil {
		w.end()
		return fmt.Errorf("data stream %d: %w", i, err)
	}
	if err = w.Run(stream); err != nil {
		return fmt.Errorf("data stream %d: %w", i, err)
	}
	return stream.Close()
}

// acceptStreams reads the data streams that the peer opens, up to the number in WELCOME.
func acceptStreams[R Receiver](c *Conn, table *Table[R], newReceiver func() R) {
	defer c.readers.Done()
	for accepted := 0; ; accepted++ {
		stream, err := c.multi.AcceptStream(c.ctx)
		if err != nil {
			return // the connection has ended; the control stream's error says why
		}
		if accepted >= len(c.data) {
			_ = stream.Close()
			c.Close(&native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("more than %d data streams", len(c.data))})
			return
		}
		c.readers.Add(1)
		go readDataStream(c, table, newReceiver(), NewFrameReader(stream, native.MaxHandshake)) // until JOIN
	}
}
