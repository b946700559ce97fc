package native

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/peer"
	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/internal/callctx"
	"example.com/ferry/rpc/internal/held"
	"example.com/ferry/rpc/internal/workers"
)

// maxPiece is the longest part of a message in one frame, in bytes. The frame fits into a buffer of 64 KiB.
const maxPiece = wire.MaxPiece - 512

// session has the calls of one connection, in both directions.
type session struct {
	peer    *peer.Conn
	cfg     *Protocol
	remote  call.Peer
	service call.Service  // nil: this end serves no calls
	workers *workers.Pool // nil without service
	parity  uint32        // lowest bit of the numbers of calls that this end makes
	node    bool          // the other end is a node, which passes calls on with other numbers
	theirs  wire.CallLimits
	piece   int // longest piece that this end sends

	streamWindow int // credit for the messages of a stream that this end sends, at first

	// ended is called once when the connection has begun to close; nil on a client.
	ended func(*session)

	// left, if not nil, is closed in the place of asking the peer to close the connection, which has other users.
	left     chan struct{}
	leftOnce sync.Once

	// handlers has the calls that this end serves, for an end that serves calls for a while only; otherwise nil.
	handlers *sync.WaitGroup

	names []peer.MethodNumbers // indexed by data stream; the lock of the stream's FrameWriter guards an element

	mu       sync.Mutex
	outgoing map[uint32]*outgoing // calls that this end makes, until their REPLY
	nextID   uint32
	slots    int           // further calls that may be in progress
	credit   int           // bytes of the peer's window that are left
	waiting  []*waiter     // oldest first
	leaving  bool          // this end makes no further call: an end drains, or Close was called
	closing  chan struct{} // closed when leaving is set or the connection is lost
	lost     error         // why the connection ended
	incoming map[uint32]*incoming
	taken    int          // bytes of this end's window that callers use
	expanded int          // bytes of decompressed requests that handlers hold
	shrunk   signal       // fires when expanded becomes less
	draining bool         // this end serves no further call
	account  held.Account // of what this end holds for callers
}

// init is called in the handshake. theirs bounds the calls that this end makes.
func (s *session) init(cfg *Protocol, theirs wire.CallLimits, parity uint32) {
	s.cfg, s.theirs, s.parity, s.nextID = cfg, theirs, parity, 2-parity
	s.slots, s.credit = int(min(theirs.Calls, maxLimit)), int(min(theirs.Window, maxLimit))
	s.streamWindow = int(min(theirs.StreamWindow, maxLimit))
	s.closing = make(chan struct{})
	s.account = held.New(nil, math.MaxInt) // the windows are this end's limits
}

// maxLimit bounds the limits of the peer, because an int may have 32 bits.
const maxLimit = 1 << 30

// prepare is called after the handshake, before frames are handled.
func (s *session) prepare(maxFrame int) {
	s.piece = max(min(maxPiece, maxFrame-wire.CallHeaderSize), 1)
	s.names = make([]peer.MethodNumbers, max(s.peer.Streams(), 1))
}

// stream returns the data stream of a call, and its writer.
func (s *session) stream(id uint32) (int, *peer.FrameWriter) {
	i := int(id>>1) % len(s.names)
	return i, s.peer.Writer(i, nil)
}

// receiver handles the frames of one stream.
type receiver struct {
	session *session
	methods []method // by number
	named   int      // bytes of the names in methods
}

// frameHandlers are the frames of calls.
var frameHandlers = peer.Table[*receiver]{
	wire.Method:     {OnData: true, Handle: (*receiver).method},
	wire.Call:       {OnData: true, Handle: (*receiver).call},
	wire.Data:       {OnData: true, Handle: (*receiver).data},
	wire.Reply:      {OnData: true, Handle: (*receiver).reply},
	wire.Cancel:     {OnData: true, Handle: (*receiver).cancel},
	wire.CallCredit: {OnData: true, Handle: (*receiver).credit},
}

func (s *session) newReceiver() *receiver { return &receiver{session: s} }

// Handle handles a frame of frameHandlers, for a connection that has other frames too.
func (r *receiver) Handle(f wire.Frame) error { return frameHandlers[f.Kind()].Handle(r, f) }

func (r *receiver) BatchBegins()           {}
func (r *receiver) BatchEnds()             {}
func (r *receiver) BeforePong(uint64) bool { return true }

func (r *receiver) Pubs([]byte, *bufpool.Buf) (int, error) {
	return 0, &wire.Error{Code: wire.CodeProtocol, Reason: "PUB on a connection for calls"}
}

func (r *receiver) data(f wire.Frame) error {
	d, err := wire.ParseData(f)
	if err != nil {
		return err
	}
	if d.Call&1 == r.session.parity {
		return r.session.responseArrived(&d)
	}
	return r.session.requestArrived(&d)
}

func (r *receiver) credit(f wire.Frame) error {
	c, err := wire.ParseCallCredit(f)
	if err != nil {
		return err
	}
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Call&1 != s.parity {
		if in := s.incoming[c.Call]; in != nil {
			in.sending.add(int(min(c.Bytes, maxLimit)))
		}
		return nil
	}
	o := s.outgoing[c.Call]
	switch {
	case o == nil:
	case o.single:
		n := int(min(c.Bytes, uint32(o.charged)))
		o.charged -= n
		s.credit += n
		s.grant()
	default:
		o.sending.add(int(min(c.Bytes, maxLimit)))
	}
	return nil
}

// writeBuffer is how many bytes wait for a write, on each stream, until short messages wait too. A piece of a long message waits
// if there are more than a quarter, so that short messages find room at once.
const (
	writeBuffer  = 256 << 10
	pieceReserve = writeBuffer * 3 / 4
)

// lockWithRoom locks w when there is room for more than reserve bytes in its queue. The error is a *call.Status, and w is not locked
// then.
func (s *session) lockWithRoom(until wait, w *peer.FrameWriter, reserve int) error {
	for {
		w.Lock()
		if w.Closed() {
			w.Unlock()
			return s.lostStatus()
		}
		if w.Room() > reserve {
			return nil
		}
		room := w.WaitRoom()
		w.Unlock()
		if err := until.on(room); err != nil {
			return err
		}
	}
}

// lostStatus returns the status of calls of a connection that has ended.
func (s *session) lostStatus() *call.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lostStatusLocked()
}

func (s *session) lostStatusLocked() *call.Status {
	reason := "the connection is closing"
	var e *wire.Error
	switch {
	case errors.As(s.lost, &e) && e.Code == wire.CodeUnauthenticated:
		return &call.Status{Code: call.Unauthenticated, Message: e.Error()}
	case s.lost != nil && !peer.IsClean(s.lost):
		reason = s.lost.Error()
	case errors.Is(s.lost, io.EOF):
		reason = "the other end closed it"
	}
	return &call.Status{Code: call.Unavailable, Message: fmt.Sprintf("connection with %v: %s", s.remote.Addr, reason)}
}

// sendPieces sends a message, or its first part, in DATA frames. flags and ext are for the first one. more says that the message
// continues behind data. The error is errEnded or a *call.Status.
func (s *session) sendPieces(until wait, w *peer.FrameWriter, d wire.DataFrame, more bool) error {
	reserve := 0
	if more || len(d.Message) > s.piece {
		reserve = pieceReserve
	}
	for data := d.Message; ; {
		d.Message = data[:min(len(data), s.piece)]
		data = data[len(d.Message):]
		if more || len(data) > 0 {
			d.Flags |= wire.FlagMore
		} else {
			d.Flags &^= wire.FlagMore
		}
		if until.call != nil && s.hasEnded(until.call) {
			return errEnded
		}
		if err := s.lockWithRoom(until, w, reserve); err != nil {
			return err
		}
		w.SetTail(wire.AppendData(w.Tail(wire.DataHeaderSize+8+len(d.Extension)+len(d.Message)), d))
		w.Unlock()
		if len(data) == 0 {
			return nil
		}
		d.Flags, d.Extension = 0, nil
	}
}

// sendMessage sends the message of d, compressed, once w has credit for it. ended is set if w is closed. The error is errEnded or a
// *call.Status.
func (s *session) sendMessage(until wait, to *peer.FrameWriter, w *window, d wire.DataFrame, compression string) (ended bool, err error) {
	packed := newMessage()
	defer packed.free()
	if d.Message, err = pack(packed, compression, d.Message); err != nil {
		return false, err
	}
	if packed.compressed {
		d.Flags |= wire.FlagCompressed
	}
	if len(d.Message) > s.piece {
		s.hold(len(d.Message))
		defer s.hold(-len(d.Message))
	}
	if ended, err = s.take(until, w, len(d.Message)+wire.MessageOverhead); ended || err != nil {
		return ended, err
	}
	return false, s.sendPieces(until, to, d, false)
}

// hold counts n bytes of a message of several pieces while it is sent.
func (s *session) hold(n int) {
	s.mu.Lock()
	s.account.Add(n)
	s.mu.Unlock()
}

// errEnded means that a call has ended before its message was sent.
var errEnded = errors.New("native: the call has ended")

func (s *session) hasEnded(o *outgoing) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return o.ended
}

// onClosing ends all calls of the connection.
func (s *session) onClosing(why error) {
	s.mu.Lock()
	s.lost = why
	if why == nil {
		s.lost = io.EOF
	}
	s.stopCalling()
	status := s.lostStatusLocked()
	var ended []*outgoing
	for id, o := range s.outgoing {
		delete(s.outgoing, id)
		if !o.abandoned {
			o.end(status)
			ended = append(ended, o)
		}
	}
	var lost []*callctx.Context
	for _, in := range s.incoming {
		lost = append(lost, in.ctx)
		if !in.started {
			in.discard() // no handler finishes the call
		}
		if s.handlers != nil && !in.started { // its request will not be complete
			in.started = true
			s.handlers.Done()
		}
	}
	s.mu.Unlock()
	for _, o := range ended {
		o.notify()
	}
	for _, ctx := range lost {
		ctx.End(context.Canceled)
	}
	if s.ended != nil {
		s.ended(s)
	}
}

// leave makes no further call, and tells the peer when the last one has ended. It is also called when the peer drains.
func (s *session) leave() {
	s.mu.Lock()
	s.stopCalling()
	idle := len(s.outgoing) == 0 && s.lost == nil
	s.mu.Unlock()
	if idle {
		s.sayLeave()
	}
}

// leaveTimeout is how long the peer may take to close the connection after this end has left.
const leaveTimeout = 5 * time.Second

// sayLeave asks the peer to close the connection.
func (s *session) sayLeave() {
	if s.left != nil {
		s.leftOnce.Do(func() { close(s.left) })
		return
	}
	s.peer.Leave()
	time.AfterFunc(leaveTimeout, func() { s.peer.Close(nil) })
}

// stopCalling is called under the lock.
func (s *session) stopCalling() {
	if !s.leaving {
		s.leaving = true
		close(s.closing)
	}
	s.grant()
}
