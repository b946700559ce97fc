package rpc

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"example.com/ferry/codec"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
)

// encodeResponse encodes c.response into c.out.
func (c *serverCall) encodeResponse() error {
	if err := c.info.message(true, c.response); err != nil {
		return err
	}
	buf := bufpool.Get(int(c.method.encoded.Load()))
	var err error
	if buf.B, err = codec.Append(c.content.Codec, buf.B, c.response); err == nil {
		c.method.encoded.Store(int64(len(buf.B)))
		err = checkSize("response", len(buf.B), c.server.cfg.MaxMessage)
	}
	if err != nil {
		buf.Release()
		var s *call.Status
		if errors.As(err, &s) {
			return err
		}
		return statusf(call.Internal, "the response cannot be encoded: %v", err)
	}
	c.out = buf
	return nil
}

// finish sends the response or the status, and counts the call. It also runs after a panic and after runtime.Goexit.
func (c *serverCall) finish() {
	if !c.returned {
		if p := recover(); p != nil {
			c.status = c.panicked(p, debug.Stack())
		} else {
			c.status = statusf(call.Internal, "the handler ended its goroutine")
		}
	}
	if c.status != nil && c.out != nil {
		c.out.Release()
		c.out = nil
	}
	c.mu.Lock()
	c.finished = true
	trailer := c.trailer
	c.mu.Unlock()
	wrapped := c.wrapResponse()
	var last []byte
	switch {
	case wrapped != nil:
		last = wrapped.B
	case c.out != nil && c.status == nil:
		last = c.out.B
	}
	if last != nil {
		c.traffic.sent(last)
	}
	c.stream.Finish(last, c.status, trailer)
	for _, buf := range []*bufpool.Buf{c.out, wrapped} {
		if buf != nil {
			buf.Release()
		}
	}
	c.server.active.Add(-1)
	took := time.Since(c.start)
	c.method.stats.ended(c.status, took, &c.traffic)
	if c.info != nil {
		c.info.ended(c.traffic.end(c.status, took, 0), c.server.cfg.Log)
	}
}

// wrapResponse puts c.out, or c.status, into the envelope. It returns nil if the content has none.
func (c *serverCall) wrapResponse() *bufpool.Buf {
	if c.content == nil || c.content.Envelope == nil {
		return nil
	}
	r := envelope.Response{Method: c.envelope.Method, ID: c.envelope.ID, Token: c.envelope.Token, Status: c.status}
	size := 256
	if c.out != nil {
		r.Body = c.out.B
		size += len(r.Body)
	}
	buf := bufpool.Get(size)
	var err error
	if buf.B, err = c.content.Envelope.AppendResponse(buf.B, r); err != nil {
		buf.Release()
		if c.status == nil {
			c.status = statusf(call.Internal, "the response cannot be put into its envelope: %v", err)
		}
		return nil
	}
	return buf
}

// panicked counts and logs a panic, and returns the status of its call.
func (c *serverCall) panicked(value any, stack []byte) *call.Status {
	c.method.stats.panics.Add(1)
	c.server.cfg.Log.Error("rpc: a handler panicked", slog.String("method", c.method.name), slog.String("panic", fmt.Sprint(value)), slog.String("stack", string(stack)))
	return statusf(call.Internal, "the handler of %s panicked", c.method.name)
}
