package native

import (
	"context"
	"fmt"
	"sync"
	"time"

	"example.com/ferry/internal/peer"
	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/internal/callctx"
	"example.com/ferry/rpc/internal/held"
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
	counted int // bytes of requests in session.account
	inbox   inbox
	failed  *call.Status // what Recv returns once the messages before are read
	refused *call.Status // set before started if no handler gets the call
	news    signal
	sending window // credit for responses

	current  *message // that Recv returned last
	expanded int      // what current counts in session.expanded
	header   call.Metadata
	sent     bool // the header was sent
}

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
	if int(c.Method) >= len(r.methods) || r.methods[c.Method].name == "" && !r.methods[c.Method].dropped {
		return &wire.Error{Code: wire.CodeProtocol, Reason: fmt.Sprintf("CALL of method %d, which no METHOD has named", c.Method)}
	}
	if s.service == nil {
		return s.refuse(c.Call, call.Unimplemented, "this end serves no calls")
	}
	if r.methods[c.Method].dropped {
		return s.refuse(c.Call, call.Unimplemented, fmt.Sprintf("no such method, and the names of others have %d bytes", maxNames))
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
	if number := callerNumber(c.Extension); number != 0 {
		in.head.ID = number
	}
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
	if s.lost != nil { // onClosing has ended the contexts of all calls, and would not end this one
		s.mu.Unlock()
		return nil
	}
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
	if s.handlers != nil {
		s.handlers.Add(1)
	}
	if in.single {
		in.charged = len(c.Extension)
		s.taken += len(c.Extension)
	}
	s.count(in, len(c.Extension))
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
		if s.taken > s.cfg.Window+s.cfg.MaxMessage+wire.MaxPiece+wire.MaxCallExtension { // only one call exceeds the window
			taken := s.taken
			s.mu.Unlock()
			return &wire.Error{Code: wire.CodeCredit, Reason: fmt.Sprintf("requests of %d bytes in a window of %d", taken, s.cfg.Window)}
		}
	}
	if flags&wire.FlagEnd != 0 {
		in.inbox.ended = true
	}
	complete, err := in.inbox.add(flags, piece, s.cfg.MaxMessage, window)
	if err := fatal(err); err != nil {
		s.mu.Unlock()
		return err
	}
	if s.count(in, len(piece)); err == nil && in.counted > held.Spared && s.account.Full() {
		err = call.Errorf(call.ResourceExhausted, "this connection holds more than its share of the %d bytes that the server holds for all its callers: send less at once", s.cfg.MaxServerHeld)
	}
	if err != nil {
		in.failed = call.StatusOf(err)
		in.discard()
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

// count counts n bytes of requests. It is called under the lock.
func (s *session) count(in *incoming, n int) {
	in.counted += n
	s.account.Add(n)
}

// discard discards the requests that were not read. It is called under the lock.
func (in *incoming) discard() {
	in.inbox.discard()
	in.s.count(in, -in.counted)
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
	handlers := in.s.handlers
	if in.refused != nil {
		in.Finish(nil, in.refused, nil)
	} else {
		in.s.service.Serve(in.ctx, in.method, in)
	}
	in.ctx.End(context.Canceled)
	if in.unary {
		in.recycle()
	}
	if handlers != nil {
		handlers.Done()
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
	in.discard()
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
