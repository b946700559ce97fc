package native

import (
	"encoding/binary"
	"math"
	"sync"
	"time"

	"example.com/ferry/internal/peer"
	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
)

// outgoing is a call that this end makes. The session's lock guards what the receiver changes.
type outgoing struct {
	id        uint32
	single    bool // CALL has the only request, whose bytes are charged to the connection's window
	charged   int
	abandoned bool // the caller has gone, and REPLY is still to come. Only placeholders in session.outgoing are abandoned
	ended     bool // the caller gets status; the receiver does not know this object any more
	notBegun  bool // no handler has seen the call
	responded bool // DATA has arrived, so header is complete

	inbox           inbox
	header, trailer call.Metadata
	status          *call.Status
	wake            chan struct{} // Call: gets an element when the call has ended. nil for streams
	news            signal        // streams: something has arrived, or the call has ended
	sending         window        // streams: credit for requests

	// For Call:
	response *message
	timer    *time.Timer
	free     func() // releases response and o
}

// unaries are the outgoing of calls that have ended.
var unaries sync.Pool

func newUnary() *outgoing {
	if o, ok := unaries.Get().(*outgoing); ok {
		return o
	}
	o := &outgoing{single: true, wake: make(chan struct{}, 1)}
	o.free = func() {
		o.response.free()
		o.response = nil
		o.recycle()
	}
	return o
}

// recycle makes o available for another call. The receiver must not know o any more, and wake must be empty.
func (o *outgoing) recycle() {
	o.inbox.discard()
	o.inbox = inbox{}
	o.id, o.charged, o.ended, o.notBegun, o.responded = 0, 0, false, false, false
	o.header, o.trailer, o.status = nil, nil, nil
	unaries.Put(o)
}

// end notes how the call has ended. It is called under the lock; notify follows without the lock, unless the caller itself ends the
// call.
func (o *outgoing) end(status *call.Status) {
	o.ended, o.status = true, status
	o.sending.close()
	o.news.fire()
}

// notify wakes the caller.
func (o *outgoing) notify() {
	if o.wake != nil {
		o.wake <- struct{}{}
	}
}

// register gives o the number id, or one of its own if id is 0. After an error, a *call.Status, what acquire took is returned.
func (s *session) register(o *outgoing, id uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving {
		s.release(o.charged)
		return s.lostStatusLocked()
	}
	if s.outgoing == nil {
		s.outgoing = map[uint32]*outgoing{}
	}
	o.id = uint32(id)
	if id == 0 {
		o.id = s.number()
	} else if id > math.MaxUint32 || o.id&1 != s.parity || s.outgoing[o.id] != nil {
		s.release(o.charged)
		return call.Errorf(call.InvalidArgument, "call number %d, which NextID has not returned or another call has", id)
	}
	s.outgoing[o.id] = o
	return nil
}

// NextID returns a number for a call.
func (s *session) NextID() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return uint64(s.number())
}

// number returns a number that no call has. It is called under the lock.
func (s *session) number() (id uint32) {
	for id == 0 || s.outgoing[id] != nil {
		id = s.nextID
		s.nextID += 2
	}
	return id
}

// forget removes a call of which nothing was sent.
func (s *session) forget(o *outgoing) {
	s.mu.Lock()
	known := !o.ended
	if known {
		delete(s.outgoing, o.id)
		s.release(o.charged)
	}
	leave := known && s.leaving && len(s.outgoing) == 0
	s.mu.Unlock()
	if !known && o.wake != nil {
		<-o.wake
	}
	if leave {
		s.sayLeave()
	}
}

// abandon ends the call with status, leaves a placeholder for its REPLY, and sends CANCEL. It returns false if the call has ended
// before.
func (s *session) abandon(o *outgoing, status *call.Status) bool {
	s.mu.Lock()
	if o.ended {
		s.mu.Unlock()
		return false
	}
	s.abandonLocked(o, status)
	s.mu.Unlock()
	s.sendCancel(o.id, status.Code)
	return true
}

func (s *session) abandonLocked(o *outgoing, status *call.Status) {
	s.outgoing[o.id] = &outgoing{id: o.id, single: o.single, charged: o.charged, abandoned: true}
	o.inbox.discard()
	o.end(status)
}

func (s *session) sendCancel(id uint32, code call.Code) {
	_, w := s.stream(id)
	w.Lock()
	if !w.Closed() {
		w.SetTail(wire.AppendCancel(w.Tail(wire.HeaderSize+8), wire.CancelFrame{Call: id, Code: uint32(code)}))
	}
	w.Unlock()
}

// callFrame returns the frame of a call without its message. The error is a *call.Status.
func (s *session) callFrame(head *call.Head, at time.Time, ext []byte) (c wire.CallFrame, err error) {
	if c.Extension, err = appendMetadata(ext, wire.TLVMetadata, head.Metadata); err != nil {
		return c, err
	}
	if s.node && head.ID != 0 { // an envelope in the message may repeat it
		c.Extension = wire.AppendTLV(c.Extension, wire.TLVNumber, binary.BigEndian.AppendUint32(nil, uint32(head.ID)))
	}
	var ok bool
	if c.Timeout, ok = timeout(at); !ok {
		return c, &call.Status{Code: call.DeadlineExceeded, Message: "the deadline has passed before the call began"}
	}
	if c.Compression, ok = compressionNumber(head.Compression); !ok {
		return c, call.Errorf(call.InvalidArgument, "compression %q: want gzip or zstd", head.Compression)
	}
	if len(head.Method) == 0 || len(head.Method) > wire.MaxMethodName || len(head.Content) > wire.MaxMethodName {
		return c, call.Errorf(call.InvalidArgument, "method %.80q with content type %.80q: names have 1 to %d bytes", head.Method, head.Content, wire.MaxMethodName)
	}
	return c, nil
}

// sendCall appends CALL with the first piece of c.Message, and METHOD if necessary. rest is what remains of the message.
func (s *session) sendCall(until wait, c wire.CallFrame, stream int, w *peer.FrameWriter, head *call.Head) (rest []byte, err error) {
	if err := s.lockWithRoom(until, w, 0); err != nil {
		return nil, err
	}
	c.Method = s.names[stream].Announce(w, head.Method, head.Content)
	if len(c.Message) > s.piece {
		c.Message, rest = c.Message[:s.piece], c.Message[s.piece:]
		c.Flags |= wire.FlagMore
	}
	w.SetTail(wire.AppendCall(w.Tail(wire.CallHeaderSize+8+len(c.Extension)+len(c.Message)), c))
	w.Unlock()
	return rest, nil
}

// reply handles REPLY: a call has ended.
func (r *receiver) reply(f wire.Frame) error {
	v, err := wire.ParseReply(f)
	if err != nil {
		return err
	}
	var header, trailer call.Metadata
	if len(v.Extension) > 0 {
		if header, err = parseMetadata(v.Extension, wire.TLVMetadata); err == nil {
			trailer, err = parseMetadata(v.Extension, wire.TLVTrailer)
		}
	}
	if err := fatal(err); err != nil {
		return err
	}
	s := r.session
	s.mu.Lock()
	o := s.outgoing[v.Call]
	if o == nil {
		s.mu.Unlock()
		return nil
	}
	delete(s.outgoing, v.Call)
	s.release(o.charged)
	leave := s.leaving && len(s.outgoing) == 0
	if !o.abandoned {
		o.trailer, o.notBegun = trailer, v.Flags&wire.FlagNotBegun != 0
		o.header = append(o.header, header...)
		if v.Flags&wire.FlagNoMessage != 0 {
			o.inbox.dropPartial()
		}
		if err == nil {
			_, err = o.inbox.add(v.Flags, v.Message, s.cfg.MaxMessage, maxLimit)
		}
		status := parseStatus(&v)
		if err != nil && status == nil {
			status = call.StatusOf(err)
		}
		o.end(status)
	}
	s.mu.Unlock()
	if !o.abandoned {
		o.notify()
	}
	if leave {
		s.sayLeave()
	}
	return fatal(err)
}

// fatal returns err if it ends the connection, and not only a call.
func fatal(err error) error {
	if e, ok := err.(*wire.Error); ok { //nolint:errorlint // the errors of this package's parsers are not wrapped
		return e
	}
	return nil
}

// responseArrived handles DATA of a call that this end makes.
func (s *session) responseArrived(d *wire.DataFrame) error {
	header, err := parseMetadata(d.Extension, wire.TLVMetadata)
	s.mu.Lock()
	o := s.outgoing[d.Call]
	if o == nil || o.abandoned {
		s.mu.Unlock()
		return fatal(err)
	}
	if !o.responded { // a header in each DATA would need memory without a bound
		o.header, o.responded = header, true
	}
	if err == nil {
		_, err = o.inbox.add(d.Flags, d.Message, s.cfg.MaxMessage, s.cfg.StreamWindow)
	}
	if err == nil {
		o.news.fire()
		s.mu.Unlock()
		return nil
	}
	if err := fatal(err); err != nil {
		s.mu.Unlock()
		return err
	}
	status, id := call.StatusOf(err), o.id
	s.abandonLocked(o, status)
	s.mu.Unlock()
	o.notify()
	s.sendCancel(id, call.Canceled)
	return nil
}
