package broker

import (
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// maxMethodNumbers bounds the method numbers that the node uses on a stream: a client stores at most 64 KiB of names.
const maxMethodNumbers = (64 << 10) / (2*native.MaxMethodName + 2)

// leg carries one direction of a call to the connection at its end. Frames wait in it while the stream's queue is full, so that a
// slow connection delays only its own calls. The lock of stream guards the fields after id.
type leg struct {
	stream  *subscriberStream
	id      uint32 // the call's number at the connection
	method  string // for CALL
	content string

	frames    peer.Queue
	scheduled bool // the leg is in stream.legs
	begun     bool // a frame was sent
}

// push sends or queues a frame, whose call number it sets. full means that the frame was not taken because the frames of calls that
// wait for the stream reach limit bytes.
func (l *leg) push(f native.Frame, limit int, u *peer.Unflushed) (full bool) {
	s := l.stream
	f.SetCall(l.id)
	s.Lock()
	defer s.unlockLater(u)
	switch {
	case s.Closed():
	case l.frames.Bytes() == 0 && s.Room() > 0:
		l.send(f)
	case s.heldBytes+len(f) > limit:
		return true
	default:
		l.frames.Push(f, nil)
		s.heldBytes += len(f)
		if !l.scheduled {
			l.scheduled = true
			s.legs.Push(l)
			s.Nudge()
		}
	}
	return false
}

// send appends a frame to the next write.
func (l *leg) send(f native.Frame) {
	if f.Kind() == native.Call {
		f.SetMethod(l.stream.methods.Announce(l.stream.wire, l.method, l.content))
	}
	l.begun = true
	l.stream.wire.Append(f)
}

// flush moves up to limit bytes of queued frames, or one frame, to the next write.
func (l *leg) flush(limit int) {
	for limit > 0 && l.frames.Bytes() > 0 {
		p := l.frames.Front()
		f := native.Frame(p.Frames[:native.Size(p.Frames)])
		l.send(f)
		limit -= len(f)
		l.stream.heldBytes -= len(f)
		l.frames.Cut(len(f))
	}
}

// drop discards the queued frames. It reports whether a frame was sent before: otherwise the connection has never seen the call.
func (l *leg) drop() (begun bool) {
	l.stream.Lock()
	defer l.stream.Unlock()
	l.stream.heldBytes -= l.frames.Bytes()
	l.frames.Clear(func([]byte) {})
	return l.begun
}

// tell appends a frame that does not wait for its turn: it ends the call, or returns credit.
func (l *leg) tell(u *peer.Unflushed, appendTo func([]byte) []byte) {
	l.stream.Lock()
	if !l.stream.Closed() {
		l.stream.wire.SetTail(appendTo(l.stream.wire.Tail(maxTold)))
	}
	l.stream.unlockLater(u)
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
