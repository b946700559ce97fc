package calls

import (
	"example.com/ferry/broker/internal/outlet"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// maxMethodNumbers bounds the method numbers that the node uses on a stream: a client stores at most 64 KiB of names.
const maxMethodNumbers = (64 << 10) / (2*native.MaxMethodName + 2)

// carrier is a stream to a client as calls use it. The lock of stream guards it.
type carrier struct {
	stream  *outlet.Stream
	legs    peer.FIFO[*leg] // those that have frames and wait for room
	held    int             // bytes of frames in legs
	methods peer.MethodNumbers
}

var _ outlet.Source = (*carrier)(nil)

// Carry makes s a stream that can carry calls to a client. It is called before the first frame is appended.
func Carry(s *outlet.Stream) {
	c := &carrier{stream: s}
	c.methods.Limit = maxMethodNumbers
	s.Calls = c
}

// Waiting reports whether legs wait for room.
func (c *carrier) Waiting() bool { return c.legs.Len() > 0 }

// Flush moves up to limit bytes of the frames of one leg, or one frame, to the next write.
func (c *carrier) Flush(limit int) {
	l := c.legs.Pop()
	for limit > 0 && l.frames.Bytes() > 0 {
		p := l.frames.Front()
		f := native.Frame(p.Frames[:native.Size(p.Frames)])
		l.send(f)
		limit -= len(f)
		c.held -= len(f)
		l.frames.Cut(len(f))
	}
	if l.scheduled = l.frames.Bytes() > 0; l.scheduled {
		c.legs.Push(l)
	}
}

// Discard discards the frames of all legs.
func (c *carrier) Discard() {
	for c.legs.Len() > 0 {
		l := c.legs.Pop()
		l.scheduled = false
		l.frames.Clear(func([]byte) {})
	}
	c.held = 0
}

// leg carries one direction of a call to the connection at its end. Frames wait in it while the stream's queue is full, so that a
// slow connection delays only its own calls. The lock of the stream guards the fields after id.
type leg struct {
	on     *carrier
	id     uint32 // the call's number at the connection
	method method // for CALL

	frames    peer.Queue
	scheduled bool // the leg is in on.legs
	begun     bool // a frame was sent
}

// push sends or queues a frame, whose call number it sets. full means that the frame was not taken because the frames of calls that
// wait for the stream reach limit bytes.
func (l *leg) push(f native.Frame, limit int, u *peer.Unflushed) (full bool) {
	c, s := l.on, l.on.stream
	f.SetCall(l.id)
	s.Lock()
	defer s.Release(u)
	switch {
	case s.Closed():
	case l.frames.Bytes() == 0 && s.Room() > 0:
		l.send(f)
	case c.held+len(f) > limit:
		return true
	default:
		l.frames.Push(f, nil)
		c.held += len(f)
		if !l.scheduled {
			l.scheduled = true
			c.legs.Push(l)
			s.Nudge()
		}
	}
	return false
}

// send appends a frame to the next write.
func (l *leg) send(f native.Frame) {
	w := l.on.stream.Wire
	if f.Kind() == native.Call {
		f.SetMethod(l.on.methods.Announce(w, l.method.name, l.method.content))
	}
	l.begun = true
	w.Append(f)
}

// drop discards the queued frames. It reports whether a frame was sent before: otherwise the connection has never seen the call.
func (l *leg) drop() (begun bool) {
	l.on.stream.Lock()
	defer l.on.stream.Unlock()
	l.on.held -= l.frames.Bytes()
	l.frames.Clear(func([]byte) {})
	return l.begun
}

// tell appends a frame that does not wait for its turn: it ends the call, or returns credit.
func (l *leg) tell(u *peer.Unflushed, appendTo func([]byte) []byte) {
	s := l.on.stream
	s.Lock()
	if !s.Closed() {
		s.Wire.SetTail(appendTo(s.Wire.Tail(maxTold)))
	}
	s.Release(u)
}

// maxTold bounds the length of a frame for tell, in bytes.
const maxTold = 1 << 10

// heldFrames are the frames of a call that waits for an instance.
type heldFrames struct{ peer.Queue }

// each passes the frames to take, in order, and removes them.
func (h *heldFrames) each(take func(native.Frame)) {
	h.Clear(func(frames []byte) {
		for len(frames) > 0 {
			f := native.Frame(frames[:native.Size(frames)])
			take(f)
			frames = frames[len(f):]
		}
	})
}
