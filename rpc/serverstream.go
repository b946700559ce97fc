package rpc

import (
	"example.com/ferry/codec"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/rpc/call"
)

// Receiver is the handler's end of the messages that a client sends. It must not be used after the handler has returned.
type Receiver[In any] struct{ c *serverCall }

// Recv returns the next message. After the last one the error is io.EOF. Another error is a *call.Status, and the handler should
// return it.
func (r *Receiver[In]) Recv() (*In, error) {
	if r.c.over() {
		return nil, errOver(r.c)
	}
	data, err := r.c.stream.Recv()
	if err != nil {
		return nil, err
	}
	in := new(In)
	if err := r.c.decode(data, in); err != nil {
		return nil, err
	}
	return in, nil
}

// Sender is the handler's end of the messages that a server sends. It must not be used after the handler has returned.
type Sender[Out any] struct{ c *serverCall }

// Send sends a copy of out. It blocks while the client reads too slowly, until the handler's context ends. An error is a
// *call.Status, and the handler should return it.
func (s *Sender[Out]) Send(out *Out) error {
	c := s.c
	if c.over() {
		return errOver(c)
	}
	if err := c.info.message(true, out); err != nil {
		return err
	}
	buf := bufpool.Get(int(c.method.encoded.Load()))
	defer buf.Release()
	var err error
	if buf.B, err = codec.Append(c.content.Codec, buf.B, out); err != nil {
		return statusf(call.Internal, "the response cannot be encoded: %v", err)
	}
	c.method.encoded.Store(int64(len(buf.B)))
	if err := checkSize("response", len(buf.B), c.server.cfg.MaxMessage); err != nil {
		return err
	}
	c.traffic.sent(buf.B)
	return c.stream.Send(buf.B)
}

// over reports whether the handler has returned.
func (c *serverCall) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.finished
}

func errOver(c *serverCall) error {
	return statusf(call.FailedPrecondition, "the call of %s has ended: its handler has returned", c.method.name)
}
