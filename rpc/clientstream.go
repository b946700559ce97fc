package rpc

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
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
// envelope. A stream that no server has begun, because the server drains, is opened on another connection as long as no response has
// arrived and it has sent at most 64 KiB. Otherwise it is not tried again.
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
func (s *Stream[Out, In]) CloseSend() error { return s.s.closeSend() }

// Recv returns the next message. The error is io.EOF after a call that ended with OK, otherwise a *call.Status.
func (s *Stream[Out, In]) Recv() (*Out, error) {
	out := new(Out)
	if err := s.s.recv(out); err != nil {
		return nil, err
	}
	return out, nil
}

// Header waits for the server's header.
func (s *Stream[Out, In]) Header() (call.Metadata, error) { return s.s.receiveHeader() }

// Trailer returns the server's trailer, after Recv has returned an error.
func (s *Stream[Out, In]) Trailer() call.Metadata { return s.s.current().Trailer() }

// Cancel ends the call if it has not ended.
func (s *Stream[Out, In]) Cancel() { s.s.cancel() }

// clientStream is a Stream without its types.
type clientStream struct {
	client  *Client
	method  *clientMethod
	content *envelope.Content
	options callOptions
	start   time.Duration // on the client's clock
	info    *Info         // nil without interceptors and observer
	traffic traffic
	ended   sync.Once
	head    call.Head
	ctx     context.Context             // of the stream
	stop    context.CancelFunc          // ends ctx
	aborted atomic.Pointer[call.Status] // why abort has ended ctx

	mu      sync.Mutex // guards what follows
	conn    *conn
	stream  call.ClientStream
	unwatch func() bool // stops watching ctx
	opens   int         // attempts to open
	replay  replay
}

// replay has what a stream has sent, while the stream may be opened elsewhere: until the first response, or until it has sent more than
// maxReplay bytes.
type replay struct {
	messages [][]byte
	size     int
	closed   bool // CloseSend was called
	over     bool // nothing is kept any more
}

const maxReplay = 64 << 10

// keep adds a message that is sent.
func (r *replay) keep(message []byte) {
	if r.size += len(message); r.over || r.size > maxReplay {
		r.end()
		return
	}
	r.messages = append(r.messages, slices.Clone(message))
}

func (r *replay) end() { r.over, r.messages = true, nil }

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
	s.head = call.Head{
		Method: s.method.name, Content: s.content.Type, Deadline: deadline,
		Metadata: metadata, Compression: s.options.compression,
	}
	s.ctx, s.stop = context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.openOn(nil)
}

// openOn opens the stream on a connection of another endpoint than avoid, if there is one. It needs mu.
func (s *clientStream) openOn(avoid *balance.Endpoint) error {
	c := s.client
	for {
		s.opens++
		conn, status := c.pick(s.ctx, s.head.Deadline, s.options.wait, avoid)
		if status != nil {
			return status
		}
		stream, err := conn.Open(s.ctx, &s.head)
		if err == nil {
			s.conn, s.stream = conn, stream
			s.unwatch = context.AfterFunc(s.ctx, func() { s.end(call.StatusOf(s.ctx.Err())) })
			return nil
		}
		status = call.StatusOf(err)
		if status.Code == call.Unavailable {
			conn.giveUp()
		}
		conn.done(balance.Canceled, 0, c.now())
		avoid = &conn.endpoint.Endpoint
		if status.Code != call.Unavailable || s.opens > maxRefused || s.ctx.Err() != nil {
			return status
		}
	}
}

// reopen opens the stream elsewhere if no server has begun it as old, and sends again what was sent. It reports whether the stream goes on.
func (s *clientStream) reopen(old call.ClientStream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	unbegun, ok := old.(call.Unbegun)
	switch {
	case s.stream != old: // Send and Recv may both notice
		return true
	case !ok || !unbegun.Unbegun() || s.replay.over || s.opens > maxRefused || s.ctx.Err() != nil || s.conn == nil || s.conn.relayed:
		return false
	}
	s.unwatch()
	conn := s.conn
	s.conn = nil
	conn.giveUp()
	conn.done(balance.Canceled, 0, s.client.now())
	if s.openOn(&conn.endpoint.Endpoint) != nil {
		return false
	}
	for _, m := range s.replay.messages {
		if s.stream.Send(m) != nil {
			return true // Recv says why
		}
	}
	if s.replay.closed {
		_ = s.stream.CloseSend() // as above
	}
	return true
}

// current returns the stream, which reopen may replace.
func (s *clientStream) current() call.ClientStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stream
}

// responded ends the time in which the stream may be opened elsewhere.
func (s *clientStream) responded() {
	s.mu.Lock()
	s.replay.end()
	s.mu.Unlock()
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
	s.mu.Lock()
	stream := s.stream
	s.replay.keep(buf.B)
	s.mu.Unlock()
	if err := stream.Send(buf.B); err == nil || !s.reopen(stream) {
		return err
	}
	return nil
}

func (s *clientStream) closeSend() error {
	s.mu.Lock()
	stream := s.stream
	s.replay.closed = true
	s.mu.Unlock()
	return stream.CloseSend()
}

func (s *clientStream) receiveHeader() (call.Metadata, error) {
	for {
		stream := s.current()
		md, err := stream.Header()
		if err == nil {
			s.responded()
			return md, nil
		}
		if !s.reopen(stream) {
			return nil, err
		}
	}
}

// next returns the next message of the server.
func (s *clientStream) next() ([]byte, error) {
	for {
		stream := s.current()
		data, err := stream.Recv()
		if err == nil {
			s.responded()
			return data, nil
		}
		if errors.Is(err, io.EOF) || !s.reopen(stream) {
			return nil, err
		}
	}
}

func (s *clientStream) recv(out any) error {
	data, err := s.next()
	if errors.Is(err, io.EOF) {
		s.setMetadata()
		s.end(nil)
		return io.EOF
	} else if err != nil {
		s.setMetadata()
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
		*s.options.header, _ = s.current().Header()
	}
	if s.options.trailer != nil {
		*s.options.trailer = s.current().Trailer()
	}
}

func (s *clientStream) cancel() {
	s.abort(&call.Status{Code: call.Canceled, Message: "the client has cancelled the stream"})
}

// abort cancels the call, and counts it as ended with status.
func (s *clientStream) abort(status *call.Status) {
	s.aborted.CompareAndSwap(nil, status)
	s.stop() // so that reopen gives up
	if stream := s.current(); stream != nil {
		stream.Cancel()
	}
	s.end(status)
}

// end counts the call. Only the first end counts. It may run while connect returns, when ctx ends.
func (s *clientStream) end(status *call.Status) {
	s.ended.Do(func() {
		if why := s.aborted.Load(); why != nil {
			status = why
		}
		c := s.client
		now := c.now()
		s.mu.Lock()
		conn, stream, opens := s.conn, s.stream, s.opens
		if s.conn = nil; s.unwatch != nil {
			s.unwatch()
		}
		s.mu.Unlock()
		if conn != nil {
			o := conn.outcome(status)
			if u, ok := stream.(call.Unbegun); ok && status != nil && status.Code == call.Unavailable && u.Unbegun() {
				o = balance.Canceled // a server that drains has not failed
			}
			conn.done(o, -1, now) // how long a stream lasts says nothing about its endpoint
		}
		s.method.stats.ended(status, now-s.start, &s.traffic)
		if s.info != nil {
			s.info.ended(s.traffic.end(status, now-s.start, opens), c.cfg.Log)
		}
		if s.stop != nil {
			s.stop()
		}
	})
}
