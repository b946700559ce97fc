package rpc

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"example.com/ferry/codec"
	"example.com/ferry/internal/balance"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
)

// Open begins a call whose client, server or both send any number of messages:
//
//	s, err := rpc.Open[Out, In](ctx, c, "greeter.Greeter.Chat")
//	err = s.Send(&In{...})
//	err = s.CloseSend()
//	out, err := s.Recv() // until io.EOF
//
// The stream holds resources until Recv has returned an error, Cancel was called, or ctx has ended. The content type must have no
// envelope. A stream is not retried once it is open.
func Open[Out, In any](ctx context.Context, c *Client, method string, opts ...CallOption) (*Stream[Out, In], error) {
	s := &clientStream{client: c, method: c.methods.get(c.cfg, method), start: c.now()}
	if err := s.open(ctx, opts); err != nil {
		return nil, err
	}
	return &Stream[Out, In]{s}, nil
}

// Stream is a client's end of a call with streams. One goroutine may call Recv while another calls Send and CloseSend. Cancel may be
// called by any.
type Stream[Out, In any] struct{ s *clientStream }

// Send sends a copy of in. It blocks while the server reads too slowly. After the call has ended it returns io.EOF, and Recv says why.
// Another error is a *call.Status: in cannot be sent.
func (s *Stream[Out, In]) Send(in *In) error { return s.s.send(in) }

// CloseSend says that no message follows.
func (s *Stream[Out, In]) CloseSend() error { return s.s.stream.CloseSend() }

// Recv returns the next message. The error is io.EOF after a call that ended with OK, otherwise a *call.Status.
func (s *Stream[Out, In]) Recv() (*Out, error) {
	out := new(Out)
	if err := s.s.recv(out); err != nil {
		return nil, err
	}
	return out, nil
}

// Header waits for the server's header.
func (s *Stream[Out, In]) Header() (call.Metadata, error) { return s.s.stream.Header() }

// Trailer returns the server's trailer, after Recv has returned an error.
func (s *Stream[Out, In]) Trailer() call.Metadata { return s.s.stream.Trailer() }

// Cancel ends the call if it has not ended.
func (s *Stream[Out, In]) Cancel() { s.s.cancel() }

// clientStream is a Stream without its types.
type clientStream struct {
	client  *Client
	method  *clientMethod
	content *envelope.Content
	options callOptions
	start   time.Duration // on the client's clock
	conn    *conn
	stream  call.ClientStream
	info    *Info // nil without interceptors and observer
	traffic traffic
	opens   int         // attempts to open
	unwatch func() bool // stops watching ctx
	ended   sync.Once
}

func (s *clientStream) open(ctx context.Context, opts []CallOption) error {
	s.method.stats.inFlight.Add(1)
	err := s.intercepted(ctx, opts)
	switch {
	case err == nil && s.stream != nil:
		return nil
	case err == nil:
		err = statusf(call.Internal, "an interceptor has returned no error, and the stream is not open")
	}
	status := call.StatusOf(err)
	if s.stream != nil {
		s.stream.Cancel() // an interceptor has refused what was open
		s.unwatch()
	}
	s.end(status)
	return status
}

func (s *clientStream) intercepted(ctx context.Context, opts []CallOption) error {
	c := s.client
	content, status := c.apply(&s.options, opts)
	if status != nil {
		return status
	}
	if content.Envelope != nil {
		return statusf(call.InvalidArgument, "the content type %s has an envelope, which is for unary calls only: use another one for streams", content.Type)
	}
	s.content = content
	if !c.watched() {
		return s.connect(ctx)
	}
	ctx, s.info = c.begin(ctx, s.method.name, content, true, true)
	return intercept(ctx, c.cfg.Interceptors, s.info, s.connect)
}

// connect opens the stream on a connection.
func (s *clientStream) connect(ctx context.Context) error {
	c := s.client
	metadata, status := outgoing(ctx)
	if status != nil {
		return status
	}
	deadline, _ := c.deadline(ctx, &s.options)
	head := call.Head{
		Method: s.method.name, Content: s.content.Type, Deadline: deadline,
		Metadata: metadata, Compression: s.options.compression,
	}
	var avoid *balance.Endpoint
	for {
		s.opens++
		conn, status := c.pick(ctx, head.Deadline, s.options.wait, avoid)
		if status != nil {
			return status
		}
		stream, err := conn.Open(ctx, &head)
		if err == nil {
			s.conn, s.stream = conn, stream
			s.unwatch = context.AfterFunc(ctx, func() { s.end(call.StatusOf(ctx.Err())) })
			return nil
		}
		status = call.StatusOf(err)
		if status.Code == call.Unavailable {
			conn.giveUp()
		}
		conn.done(balance.Canceled, 0, c.now())
		avoid = &conn.endpoint.Endpoint
		if status.Code != call.Unavailable || s.opens > maxRefused || ctx.Err() != nil {
			return status
		}
	}
}

func (s *clientStream) send(in any) error {
	if err := s.info.message(true, in); err != nil {
		s.abort(call.StatusOf(err))
		return err
	}
	buf := bufpool.Get(int(s.method.encoded.Load()))
	defer buf.Release()
	var err error
	if buf.B, err = codec.Append(s.content.Codec, buf.B, in); err != nil {
		return statusf(call.InvalidArgument, "the request cannot be encoded: %v", err)
	}
	s.method.encoded.Store(int64(len(buf.B)))
	if err := checkSize("request", len(buf.B), s.client.cfg.MaxMessage); err != nil {
		return err
	}
	s.traffic.sent(buf.B)
	return s.stream.Send(buf.B)
}

func (s *clientStream) recv(out any) error {
	data, err := s.stream.Recv()
	if errors.Is(err, io.EOF) {
		s.setMetadata()
		s.unwatch()
		s.end(nil)
		return io.EOF
	} else if err != nil {
		s.setMetadata()
		s.unwatch()
		s.end(call.StatusOf(err))
		return call.StatusOf(err)
	}
	s.traffic.received(data)
	if err = checkSize("response", len(data), s.client.cfg.MaxMessage); err == nil {
		if err = s.content.Codec.Unmarshal(data, out); err != nil {
			err = statusf(call.Internal, "the response cannot be decoded: %v", err)
		} else {
			err = s.info.message(false, out)
		}
	}
	if err != nil {
		s.abort(call.StatusOf(err))
	}
	return err
}

// setMetadata serves the options ReceiveHeader and ReceiveTrailer.
func (s *clientStream) setMetadata() {
	if s.options.header != nil {
		*s.options.header, _ = s.stream.Header()
	}
	if s.options.trailer != nil {
		*s.options.trailer = s.stream.Trailer()
	}
}

func (s *clientStream) cancel() {
	s.abort(&call.Status{Code: call.Canceled, Message: "the client has cancelled the stream"})
}

// abort cancels the call, and counts it as ended with status.
func (s *clientStream) abort(status *call.Status) {
	s.stream.Cancel()
	s.unwatch()
	s.end(status)
}

// end counts the call. Only the first end counts. It may run while connect returns, when ctx ends.
func (s *clientStream) end(status *call.Status) {
	s.ended.Do(func() {
		c := s.client
		now := c.now()
		if s.conn != nil {
			s.conn.done(s.conn.outcome(status), -1, now) // how long a stream lasts says nothing about its endpoint
		}
		s.method.stats.ended(status, now-s.start, &s.traffic)
		if s.info != nil {
			s.info.ended(s.traffic.end(status, now-s.start, s.opens), c.cfg.Log)
		}
	})
}
