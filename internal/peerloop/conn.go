package peerloop

import (
	"errors"
	"io"
	"runtime"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/peer"
	"example.com/ferry/loop"
	"example.com/ferry/protocol/native"
)

// Config is shared by all connections of a listener.
type Config[R peer.Receiver] struct {
	Table            *peer.Table[R]
	MaxFrame         int // bytes, as in WELCOME
	HandshakeTimeout time.Duration
	Silence          time.Duration // longest time without a byte
	Write            time.Duration // longest time for which a full queue does not shrink to the loop's low watermark
}

// interval is the time between two looks for a lack of progress.
func (c *Config[R]) interval() time.Duration { return min(c.Silence, c.Write) / 4 }

// Client is the owner of a connection. The loop calls its methods.
type Client[R peer.Receiver] interface {
	// Identify checks the credentials of HELLO, whose Token is a view, and calls identified once, on any goroutine. It must not block.
	Identify(c *peer.Conn, h native.HelloFrame, identified func(error))
	// Welcome is called after identified(nil), if the connection is not lost. It calls c.Welcome and returns the handler of the
	// frames, or an error that refuses the client.
	Welcome(c *peer.Conn) (R, error)
}

// conn is a connection of a loop. Only its loop uses it, unless noted otherwise.
type conn[R peer.Receiver] struct {
	cfg      *Config[R]
	client   Client[R]
	c        *loop.Conn
	peer     *peer.Conn
	receiver R
	phase    phase
	heard    time.Duration // loop time of the last bytes
	full     time.Duration // loop time since when the queue is full; 0 if it is not
	flush    func()        // made once, to be posted
}

// tick is the connection's timer: it ends the handshake, and then looks for a lack of progress.
const tick = 0

var _ loop.Shutdowner = (*conn[peer.Receiver])(nil)

// New returns the handler of an accepted connection, after the handshake of its layer if it has one.
func New[R peer.Receiver](c *loop.Conn, cfg *Config[R], pc peer.Config, client Client[R]) loop.Handler {
	h := &conn[R]{cfg: cfg, client: client, c: c}
	h.flush = func() { gather(); h.write() }
	h.peer = peer.NewDriven(rawOf(c), pc, h.wake)
	c.LimitQueue() // short frames wait behind what is in the queue
	return h
}

// wake makes the loop write. Any goroutine calls it.
func (h *conn[R]) wake() { post(h.c.Loop(), h.flush) }

// Opened waits for HELLO.
func (h *conn[R]) Opened(c *loop.Conn) { c.SetTimer(tick, h.cfg.HandshakeTimeout) }

// Data handles whole frames.
func (h *conn[R]) Data(c *loop.Conn, p []byte) int {
	h.heard = c.Loop().Now()
	switch h.phase {
	case hello:
		return h.greet(p)
	case identifying: // reading is paused
		return 0
	case open:
		return h.dispatch(p)
	}
	return len(p)
}

// greet handles the first frame.
func (h *conn[R]) greet(p []byte) int {
	f, err := native.Split(p, native.MaxHandshake)
	var e *native.Error
	if errors.As(err, &e) {
		err = &native.Error{Code: native.CodeProtocol, Reason: "this is not a ferry client: " + e.Reason}
	}
	if f == nil && err == nil {
		return 0
	}
	var v native.HelloFrame
	if err == nil {
		v, err = h.peer.Hello(f)
	}
	if err != nil {
		h.refuse(err)
		return len(p)
	}
	h.phase = identifying
	h.c.PauseReading()
	h.client.Identify(h.peer, v, func(err error) { post(h.c.Loop(), func() { h.identified(err) }) })
	return len(f)
}

// identified ends the handshake.
func (h *conn[R]) identified(err error) {
	if h.phase != identifying {
		return // the connection was lost
	}
	if err != nil {
		h.refuse(err)
		return
	}
	if h.receiver, err = h.client.Welcome(h.peer); err != nil {
		h.refuse(err)
		return
	}
	h.phase = open
	h.c.SetTimer(tick, h.cfg.interval())
	h.c.ResumeReading()
	h.write()
}

// refuse ends the handshake because of err.
func (h *conn[R]) refuse(err error) {
	h.phase = done
	h.peer.Refuse(err)
	h.c.ResumeReading() // and discard
}

// dispatch passes the whole frames of p to their handlers and returns their length.
func (h *conn[R]) dispatch(p []byte) int {
	n := 0
	var err error
	for err == nil {
		var f native.Frame
		if f, err = native.Split(p[n:], h.cfg.MaxFrame); f == nil {
			break
		}
		n += len(f)
	}
	control := h.peer.Control()
	control.Rouse() // write follows
	if n > 0 && h.peer.State() < peer.Closing {
		if e := peer.Dispatch(h.peer, h.cfg.Table, h.receiver, p[:n:n], nil, false); e != nil {
			err = e
		}
		gather()
	}
	if err != nil {
		h.phase = done
		h.peer.Close(err)
		n = len(p)
	}
	h.write()
	return n
}

// gather lets handlers that have just started, or are about to end, run before write: their responses leave in one system call, and the
// loop is not woken for each of them. At 100 callers this saves a fifth of the server's writes and context switches, and with one
// caller the handler runs without waking another thread. A loop waits no longer than it would for a core after a system call.
func gather() { runtime.Gosched() }

// write moves what was appended to the loop's queue, unless that is full.
func (h *conn[R]) write() {
	if h.phase < open {
		return
	}
	control := h.peer.Control()
	for !h.c.Full() {
		n, ended := control.TakeQueued(h.queue)
		if ended {
			h.phase = done
			control.EndDriven() // the peer.Conn then closes the socket
		}
		if n == 0 {
			return
		}
	}
	if h.full == 0 {
		h.full = h.c.Loop().Now()
	}
}

func (h *conn[R]) queue(b []byte, buf *bufpool.Buf) { h.c.WriteShared(buf, b) }

// Drained continues after a full queue.
func (h *conn[R]) Drained(*loop.Conn) {
	h.full = 0
	h.write()
}

// HalfClosed ends the connection: the client has gone.
func (h *conn[R]) HalfClosed(c *loop.Conn) {
	why := io.EOF
	if len(c.Unread()) > 0 {
		why = io.ErrUnexpectedEOF
	}
	if h.phase < open {
		h.phase = done
		h.peer.Refuse(why)
		return
	}
	h.phase = done
	h.peer.Close(why)
}

// Timer closes a connection that makes no progress.
func (h *conn[R]) Timer(c *loop.Conn, _ int) {
	if h.phase < open {
		h.refuse(&native.Error{Code: native.CodeTimeout, Reason: "no HELLO in time"})
		return
	}
	now := c.Loop().Now()
	switch {
	case h.full > 0 && now-h.full > h.cfg.Write: // GOAWAY would wait behind what the client does not read
		err := &native.Error{Code: native.CodeTimeout, Reason: "the client has read too little for " + h.cfg.Write.String()}
		h.peer.Close(err)
		c.Abort(err)
		return
	case now-h.heard > h.cfg.Silence:
		h.peer.Close(&native.Error{Code: native.CodeTimeout, Reason: "nothing was heard of the client for " + h.cfg.Silence.String()})
		return
	}
	c.SetTimer(tick, h.cfg.interval())
}

// Closed ends the peer.Conn.
func (h *conn[R]) Closed(_ *loop.Conn, err error) {
	opened := h.phase >= open
	h.phase = done
	if err == nil {
		err = io.EOF
	}
	if !opened {
		h.peer.Refuse(err)
	}
	h.peer.Ended(err)
}

// Shutdown closes the connection: the owner of the loops has drained it before.
func (h *conn[R]) Shutdown(c *loop.Conn) {
	h.peer.Close(nil)
	h.write()
	c.Close()
}
