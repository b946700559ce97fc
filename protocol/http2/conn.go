package http2

import (
	"encoding/binary"
	"strings"
)

// Conn is one end of an HTTP/2 connection. It has no socket, goroutine or clock: a driver passes received bytes to Receive, and
// gets the bytes to send through Output. A Conn belongs to one goroutine.
type Conn struct {
	cfg     Config
	handler Handler
	out     Output
	client  bool
	phase   connPhase
	err     *ConnError // set in the phase failed

	streams streamTable
	ready   readyList // streams with queued DATA and a positive window
	unused  *Stream   // recycled streams
	depth   int       // methods of Conn on the stack that may use streams
	resets  resetRing

	encoder Encoder
	decoder decoder
	block   fieldBlock // the field block that CONTINUATION frames complete
	data    dataFrame  // the DATA frame whose payload arrives

	sendWindow  int    // bytes that the peer accepts on the connection; 0 before its SETTINGS
	moved       bool   // DATA has left since the last Tick
	recvWindow  int    // bytes that the peer may still send on the connection
	recvUnacked int    // bytes received and not yet given back
	lastID      uint32 // highest id of a stream that the peer has opened
	nextID      uint32 // a client's next id
	active      int    // streams that count against the limit

	peer        peerSettings
	settingsAck bool // the peer has acknowledged this side's SETTINGS
	pongAwaited bool

	// scratch has the control frame or the DATA header that is written. A local array would be allocated for Output.
	scratch [frameHeaderSize + 8]byte

	goAway goAwayState
	abuse  abuseBudgets
	unread unreadOutput
	stats  Stats
}

// connPhase is the progress of a connection:
//
//	awaitingPreface ──► awaitingSettings ──► established ──► failed
//	  (server only)            │                               ▲
//	        └──────────────────┴───────── connection error ────┤
//	                                      or Closed            │
//
// GOAWAY does not change the phase: goAwayState has the progress of a graceful end.
type connPhase uint8

const (
	awaitingPreface connPhase = iota
	awaitingSettings
	established
	failed
)

// lastUsedID is the highest id after which a client still opens streams. Streams that are open and have no id find one above it.
const lastUsedID = maxStreamID - 1<<24

// NewServer returns the server's end of a connection. Receive parses the client's preface. SETTINGS are written at once.
func NewServer(cfg *Config, h Handler, out Output) *Conn {
	c := newConn(cfg, h, out)
	c.phase = awaitingPreface
	c.writeFirstSettings()
	return c
}

// NewClient returns the client's end of a connection. It writes the preface and SETTINGS at once.
func NewClient(cfg *Config, h Handler, out Output) *Conn {
	c := newConn(cfg, h, out)
	c.client, c.phase, c.nextID = true, awaitingSettings, 1
	c.out.Write([]byte(preface))
	c.writeFirstSettings()
	return c
}

func newConn(cfg *Config, h Handler, out Output) *Conn {
	c := &Conn{cfg: cfg.withDefaults(), handler: h, out: out}
	c.recvWindow = c.cfg.ConnWindow
	c.peer = peerSettings{initialWindow: initialWindow, maxFrame: minMaxFrame, maxStreams: DefaultMaxStreams}
	c.decoder.table.limit = max(c.cfg.HeaderTable, DefaultHeaderTable)
	c.decoder.table.max = DefaultHeaderTable
	c.encoder.conn = c
	c.encoder.table.max = DefaultHeaderTable
	return c
}

// Streams returns the number of streams that count against the limit. A client's stream counts until it has ended. A server's stream
// counts until it has ended and the driver has released it.
func (c *Conn) Streams() int { return c.active }

// Idle reports whether no stream is open and no event of abuse is counted. Tick has no effect then.
func (c *Conn) Idle() bool { return c.active == 0 && c.abuse.idle() }

// HeaderPending reports whether the client's preface, or a field block of several frames, is incomplete. The driver bounds the
// time of both.
func (c *Conn) HeaderPending() bool { return c.phase == awaitingPreface || c.block.open }

// Stats returns what was counted.
func (c *Conn) Stats() Stats { return c.stats }

// Tick gives back half of each abuse budget, and resets streams by Config.StallTicks. The driver calls it once a second while Idle is
// false.
func (c *Conn) Tick() {
	c.abuse.refill(c.cfg.AbuseBudget)
	if c.cfg.StallTicks == 0 {
		return
	}
	moved := c.moved
	c.moved = false
	for s := c.streams.all; s != nil; {
		next := s.allNext
		if s.is(released) && s.queue.size > 0 && (!moved || s.sendWindow <= 0) { // otherwise its turn has not come
			if s.stalled++; s.stalled > c.cfg.StallTicks {
				s.Reset(Cancel)
			}
		}
		s = next
	}
}

// Each calls f for each stream that the driver has not released.
func (c *Conn) Each(f func(*Stream)) {
	for s := c.streams.all; s != nil; {
		next := s.allNext
		if !s.is(released) {
			f(s)
		}
		s = next
	}
}

// PeerReady reports whether the peer's SETTINGS have arrived. A client then knows how many streams the server accepts, and whether
// it accepts extended CONNECT.
func (c *Conn) PeerReady() bool { return c.peer.known }

// PeerExtendedConnect reports whether the server accepts extended CONNECT requests. RFC 8441, section 3.
func (c *Conn) PeerExtendedConnect() bool { return c.peer.extendedConnect }

// Ping sends PING. PongAwaited is true until the peer has acknowledged it.
func (c *Conn) Ping() {
	if c.phase == failed {
		return
	}
	p := c.control(pingSize, framePing, 0, 0)
	copy(p, "ferry\x00\x00\x00")
	c.writeControl(p)
	c.pongAwaited = true
}

// PongAwaited reports whether the last PING is not acknowledged.
func (c *Conn) PongAwaited() bool { return c.pongAwaited }

// CanOpen reports whether Open returns a stream: the server accepts another concurrent stream, ids are left, and neither side has
// sent GOAWAY. Until the server's SETTINGS arrive, it accepts 100 streams.
func (c *Conn) CanOpen() bool {
	return c.client && c.phase != failed && c.active < c.peer.maxStreams && c.nextID <= lastUsedID && !c.Draining() && !c.PeerGoneAway()
}

// Open returns a new stream of a client, or nil if CanOpen is false. Its id is allocated when its request's head is written. The
// driver calls Release in the end, also if it writes no request.
func (c *Conn) Open() *Stream {
	if !c.CanOpen() {
		return nil
	}
	if c.depth == 0 {
		c.reuse()
	}
	return c.newStream()
}

// Closed releases all streams and buffers, after the driver has lost the socket. The Handler gets Reset for each stream that is
// not ended. Calls of Conn and Stream have no effect afterwards. err is the reason, or nil.
func (c *Conn) Closed(err error) {
	c.depth++
	c.phase = failed
	why := StreamError{Code: Cancel, Reason: "the connection ended"}
	if err != nil {
		why.Reason += ": " + err.Error()
	}
	for c.streams.all != nil {
		s := c.streams.all
		why.Refused = s.state == idle
		c.endStream(s, receiveReset, why)
	}
	c.block.drop()
	c.data = dataFrame{}
	c.depth--
	if c.depth == 0 {
		c.reuse()
	}
}

// endStream closes s by the event and tells the Handler.
func (c *Conn) endStream(s *Stream, e streamEvent, why StreamError) {
	s.enter(e)
	if !s.is(released) {
		c.handler.Reset(s, why)
	}
}

// fail ends the connection. GOAWAY has the highest id that this side may have processed. RFC 9113, section 5.4.1.
func (c *Conn) fail(code Code, reason string) *ConnError { return c.failFor(code, reason, NoAbuse) }

func (c *Conn) failFor(code Code, reason string, a Abuse) *ConnError {
	if c.phase != failed {
		c.writeGoAway(min(c.lastID, c.goAway.limit()), code)
		c.phase = failed
		c.err = &ConnError{Code: code, Reason: reason, Abuse: a}
	}
	return c.err
}

// spend counts an event of abuse. It returns an error if the budget is exhausted.
func (c *Conn) spend(a Abuse) *ConnError {
	if c.abuse.spend(a, c.cfg.AbuseBudget) {
		return nil
	}
	return c.failFor(EnhanceYourCalm, "too many "+strings.ReplaceAll(a.String(), "_", " "), a)
}

// sendResetFrame writes RST_STREAM, unless the stream has no id. window is the number of bytes that the peer may still have sent.
func (c *Conn) sendResetFrame(id uint32, code Code, window int) {
	if id == 0 || c.phase == failed {
		return
	}
	p := c.control(4, frameReset, 0, id)
	binary.BigEndian.PutUint32(p, uint32(code))
	c.writeControl(p)
	c.resets.add(id, window)
	c.stats.ResetsSent++
}
