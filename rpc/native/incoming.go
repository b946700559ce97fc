package native

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"example.com/ferry/internal/peer"
	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/internal/callctx"
)

// incoming is a call that this end serves. The session's lock guards what the receiver changes. Its handler runs on one goroutine;
// Recv and Send may overlap.
type incoming struct {
	s       *session
	w       *peer.FrameWriter
	id      uint32
	head    call.Head
	method  call.Method
	unary   bool // one request, in CALL, and one response: the object is used again
	ctx     *callctx.Context
	started bool

	single  bool // CALL has the only request, whose bytes are charged to the connection's window
	charged int
	inbox   inbox
	failed  *call.Status // what Recv returns once the messages before are read
	refused *call.Status // set before started if no handler gets the call
	news    signal
	sending window // credit for responses

	current *message // that Recv returned last
	header  call.Metadata
	sent    bool // the header was sent
}

var _ call.ServerStream = (*incoming)(nil)

var incomings = sync.Pool{New: func() any { return &incoming{} }}

// call handles CALL.
func (r *receiver) call(f wire.Frame) error {
	c, err := wire.ParseCall(f)
	if err != nil {
		return err
	}
	s := r.session
	if c.Call&1 == s.parity || c.Call == 0 {
		return &wire.Error{Code: wire.CodeProtocol, Reason: fmt.Sprintf("CALL %d: the number belongs to the other end", c.Call)}
	}
	if int(c.Method) >= len(r.methods) || r.methods[c.Method].name == "" {
		return &wire.Error{Code: wire.CodeProtocol, Reason: fmt.Sprintf("CALL of method %d, which no METHOD has named", c.Method)}
	}
	if s.service == nil {
		return s.refuse(c.Call, call.Unimplemented, "this end serves no calls")
	}
	metadata, err := parseMetadata(c.Extension, wire.TLVMetadata)
	if err == nil && int(c.Compression) >= len(compressionNames) {
		err = call.Errorf(call.Unimplemented, "compression number %d", c.Compression)
	}
	if err := fatal(err); err != nil {
		return err
	}
	if err != nil {
		status := call.StatusOf(err)
		return s.refuse(c.Call, status.Code, status.Message)
	}
	in := s.newIncoming(&c, &r.methods[c.Method])
	in.head.Metadata = metadata
	return s.begin(in, &c)
}

// newIncoming returns the object of a call.
func (s *session) newIncoming(c *wire.CallFrame, m *method) *incoming {
	in, _ := incomings.Get().(*incoming)
	in.s, in.id, in.method = s, c.Call, m.method
	_, in.w = s.stream(c.Call)
	in.single = c.Flags&wire.FlagEnd != 0
	in.unary = in.single && m.unary
	in.head.Method, in.head.Content, in.head.ID, in.head.Compression = m.name, m.content, uint64(c.Call), compressionNames[c.Compression]
	if c.Timeout > 0 {
		in.head.Deadline = time.Now().Add(time.Duration(c.Timeout) * time.Millisecond)
	}
	in.ctx = callctx.New(in.head.Deadline)
	in.sending.left = s.streamWindow
	return in
}

// begin adds a call, and starts its handler when its request is complete.
func (s *session) begin(in *incoming, c *wire.CallFrame) error {
	s.mu.Lock()
	if s.draining {
		s.mu.Unlock()
		return s.refuse(c.Call, call.Unavailable, "the server is stopping")
	}
	var err error
	bytes := len(c.Extension) + len(c.Message)
	switch {
	case s.incoming[in.id] != nil:
		err = &wire.Error{Code: wire.CodeProtocol, Reason: fmt.Sprintf("CALL %d, while a call with this number is in progress", in.id)}
	case len(s.incoming) >= s.cfg.MaxCalls:
		err = &wire.Error{Code: wire.CodeCredit, Reason: fmt.Sprintf("more than %d calls in progress", s.cfg.MaxCalls)}
	case in.single && s.taken >= s.cfg.Window && bytes > 0:
		err = &wire.Error{Code: wire.CodeCredit, Reason: fmt.Sprintf("a call begins when %d bytes of a window of %d are in use", s.taken, s.cfg.Window)}
	}
	if err != nil {
		s.mu.Unlock()
		return err
	}
	if s.incoming == nil {
		s.incoming = map[uint32]*incoming{}
	}
	s.incoming[in.id] = in
	if in.single {
		in.charged = len(c.Extension)
		s.taken += len(c.Extension)
	}
	return s.receive(in, c.Flags, c.Message)
}

// requestArrived handles DATA of a call that this end serves.
func (s *session) requestArrived(d *wire.DataFrame) error {
	s.mu.Lock()
	in := s.incoming[d.Call]
	if in == nil || in.inbox.discarding {
		s.mu.Unlock()
		return nil
	}
	if in.inbox.ended && in.inbox.partial == nil {
		s.mu.Unlock()
		return &wire.Error{Code: wire.CodeProtocol, Reason: fmt.Sprintf("DATA of call %d behind its end", d.Call)}
	}
	return s.receive(in, d.Flags, d.Message)
}

// receive adds a piece of a request to its call. It is called under the lock and unlocks.
func (s *session) receive(in *incoming, flags byte, piece []byte) error {
	window := s.cfg.StreamWindow
	if in.single {
		in.charged += len(piece)
		s.taken += len(piece)
		window = maxLimit
	}
	if flags&wire.FlagEnd != 0 {
		in.inbox.ended = true
	}
	complete, err := in.inbox.add(flags, piece, s.cfg.MaxMessage, window)
	if err := fatal(err); err != nil {
		s.mu.Unlock()
		return err
	}
	if err != nil {
		in.failed = call.StatusOf(err)
		in.inbox.discard()
	}
	start := !in.started && (complete || !in.single || err != nil || in.inbox.ended && in.inbox.partial == nil)
	if start {
		in.start()
	}
	in.news.fire()
	s.mu.Unlock()
	if start {
		s.workers.Go(in)
	}
	return nil
}

// start notes that the handler begins. It is called under the lock.
func (in *incoming) start() {
	in.started = true
	if in.single {
		in.refused = in.failed
	}
}

// Run calls the handler.
func (in *incoming) Run() {
	if in.refused != nil {
		in.Finish(nil, in.refused, nil)
	} else {
		in.s.service.Serve(in.ctx, in.method, in)
	}
	in.ctx.End(context.Canceled)
	if in.unary {
		in.recycle()
	}
}

// recycle makes in available for another unary call. The receiver does not know it any more.
func (in *incoming) recycle() {
	*in = incoming{}
	incomings.Put(in)
}

// refuse ends a call without a handler.
func (s *session) refuse(id uint32, code call.Code, message string) error {
	s.peer.Respond(func(b []byte) []byte {
		return wire.AppendReply(b, wire.ReplyFrame{
			Flags: wire.FlagNoMessage | wire.FlagNotBegun, Call: id, Code: uint32(code), Extension: wire.AppendTLV(nil, wire.TLVMessage, message),
		})
	})
	return nil
}

// cancel handles CANCEL.
func (r *receiver) cancel(f wire.Frame) error {
	c, err := wire.ParseCancel(f)
	if err != nil {
		return err
	}
	s := r.session
	s.mu.Lock()
	in := s.incoming[c.Call]
	if in == nil {
		s.mu.Unlock()
		return nil
	}
	reason := context.Canceled
	if call.Code(c.Code) == call.DeadlineExceeded {
		reason = context.DeadlineExceeded
	}
	in.inbox.discard()
	in.failed = call.StatusOf(reason)
	in.news.fire()
	start := !in.started // its request will not be complete
	if start {
		in.start()
	}
	ctx := in.ctx
	s.mu.Unlock()
	ctx.End(reason)
	if start {
		s.workers.Go(in)
	}
	return nil
}

func (in *incoming) Head() *call.Head { return &in.head }
func (in *incoming) Peer() *call.Peer { return &in.s.remote }

// Recv returns the next request.
func (in *incoming) Recv() ([]byte, error) {
	s := in.s
	in.current.free()
	in.current = nil
	for {
		s.mu.Lock()
		if m := in.inbox.take(); m != nil {
			credit := s.read(in, len(m.b))
			s.mu.Unlock()
			if credit > 0 {
				s.sendCredit(in.w, in.id, credit)
			}
			m, err := unpack(m, in.head.Compression, s.cfg.MaxMessage)
			if err != nil {
				return nil, err
			}
			in.current = m
			return m.b, nil
		}
		if in.failed != nil {
			defer s.mu.Unlock()
			return nil, in.failed
		}
		if in.inbox.ended && in.inbox.partial == nil {
			s.mu.Unlock()
			return nil, io.EOF
		}
		news := in.news.wait()
		s.mu.Unlock()
		select {
		case <-news:
		case <-in.ctx.Done():
			return nil, call.StatusOf(in.ctx.Err())
		}
	}
}

// read notes that a request of n bytes was read, and returns how many bytes of credit to return now. It is called under the lock.
func (s *session) read(in *incoming, n int) (credit int) {
	switch {
	case in.unary: // REPLY returns the credit
		return 0
	case in.single:
		n = in.charged
		in.charged = 0
		s.taken -= n
		return n
	case in.inbox.ended:
		return 0
	}
	return in.inbox.returned(n+wire.MessageOverhead, s.cfg.StreamWindow)
}

// sendCredit sends CALLCREDIT.
func (s *session) sendCredit(w *peer.FrameWriter, id uint32, bytes int) {
	w.Lock()
	if !w.Closed() {
		w.SetTail(wire.AppendCallCredit(w.Tail(wire.HeaderSize+8), wire.CallCreditFrame{Call: id, Bytes: uint32(bytes)}))
	}
	w.Unlock()
}

var (
	errHeaderSent = errors.New("native: SetHeader after the header was sent")
	errFinished   = errors.New("native: the call has ended")
)

// SetHeader adds fields to the header.
func (in *incoming) SetHeader(md call.Metadata) error {
	in.s.mu.Lock()
	defer in.s.mu.Unlock()
	if in.sent || in.sending.closed {
		return errHeaderSent
	}
	for _, f := range md {
		if err := checkField(f); err != nil {
			return err
		}
	}
	in.header = append(in.header, md...)
	return nil
}

// Send sends a response.
func (in *incoming) Send(data []byte) error {
	s := in.s
	packed := newMessage()
	defer packed.free()
	data, err := pack(packed, in.head.Compression, data)
	if err != nil {
		return err
	}
	d := wire.DataFrame{Call: in.id, Message: data}
	if packed.compressed {
		d.Flags = wire.FlagCompressed
	}
	if header := in.takeHeader(); len(header) > 0 {
		if d.Extension, err = appendMetadata(nil, wire.TLVMetadata, header); err != nil {
			return err
		}
	}
	ended, err := s.take(wait{ctx: in.ctx}, &in.sending, len(data)+wire.MessageOverhead)
	switch {
	case ended:
		return errFinished
	case err != nil:
		return err
	}
	return s.sendPieces(wait{ctx: in.ctx}, in.w, d, false)
}

// takeHeader returns the header if it was not sent, and notes that it was.
func (in *incoming) takeHeader() call.Metadata {
	in.s.mu.Lock()
	defer in.s.mu.Unlock()
	if in.sent {
		return nil
	}
	in.sent = true
	return in.header
}

// Finish ends the call.
func (in *incoming) Finish(last []byte, status *call.Status, trailer call.Metadata) {
	s := in.s
	var space [512]byte
	r, err := in.replyFrame(space[:0], status, trailer)
	packed := newMessage()
	defer packed.free()
	if err == nil && last != nil {
		r.Flags = 0
		r.Message, err = pack(packed, in.head.Compression, last)
		if packed.compressed {
			r.Flags = wire.FlagCompressed
		}
	}
	if err == nil && last != nil {
		err = in.sendFirstPieces(&r)
	}
	if err != nil {
		failed := call.StatusOf(err)
		r = wire.ReplyFrame{Flags: wire.FlagNoMessage, Call: in.id, Code: uint32(failed.Code)}
		r.Extension, _ = appendStatus(space[:0], &call.Status{Message: failed.Message})
	}
	s.mu.Lock()
	delete(s.incoming, in.id)
	s.taken -= in.charged
	in.inbox.discard()
	in.sending.close()
	lost := s.lost != nil // onClosing has ended the context, which is no cause of the caller's
	s.mu.Unlock()
	in.w.Lock()
	if !lost && !in.w.Closed() {
		in.w.SetTail(wire.AppendReply(in.w.Tail(wire.ReplyHeaderSize+8+len(r.Extension)+len(r.Message)), r))
	}
	in.w.Unlock()
	if in.unary { // last may lie in it. A handler of a stream may have left a goroutine in Recv
		in.current.free()
	}
}

// replyFrame returns REPLY without its message. The error is a *call.Status.
func (in *incoming) replyFrame(ext []byte, status *call.Status, trailer call.Metadata) (r wire.ReplyFrame, err error) {
	r = wire.ReplyFrame{Flags: wire.FlagNoMessage, Call: in.id}
	if status != nil {
		r.Code = uint32(status.Code)
	}
	header := in.header
	if !in.unary { // a handler of a stream may have left a goroutine in Send
		header = in.takeHeader()
	}
	if len(header) > 0 {
		if ext, err = appendMetadata(ext, wire.TLVMetadata, header); err != nil {
			return r, err
		}
	}
	if ext, err = appendStatus(ext, status); err == nil {
		ext, err = appendMetadata(ext, wire.TLVTrailer, trailer)
	}
	r.Extension = ext
	return r, err
}

// sendFirstPieces sends all but the last piece of r.Message, and waits until there is room for the last one.
func (in *incoming) sendFirstPieces(r *wire.ReplyFrame) error {
	s := in.s
	n := (len(r.Message) - 1) / s.piece * s.piece
	if n > 0 {
		if err := s.sendPieces(wait{ctx: in.ctx}, in.w, wire.DataFrame{Flags: r.Flags, Call: in.id, Message: r.Message[:n]}, true); err != nil {
			return err
		}
		r.Flags, r.Message = 0, r.Message[n:]
	}
	if err := s.lockWithRoom(wait{ctx: in.ctx}, in.w, 0); err != nil {
		return err
	}
	in.w.Unlock()
	return nil
}
