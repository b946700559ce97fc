package keepalive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/ferry/bench/internal/rawpoll"
)

// stream is a request and its response.
type stream struct {
	id     uint32
	number uint64        // number of the request: the mark of both bodies
	due    time.Duration // client: time when the request was due
	window int           // bytes that may be sent
	sent   int           // bytes of the body that were sent
	got    int           // bytes of the other body that were received
	owed   int           // received bytes that were not credited to the peer
	mark   [markLen]byte // server: mark of the request
	status bool          // client: the response's header was received
}

// role is the role of this end of an HTTP/2 connection. Its methods are called for what the other end sends.
type role interface {
	headers(id uint32, block []byte, end bool) error
	data(id uint32, p []byte, end bool) error
	bodySent(s *stream)
	reset(id uint32, code uint32) error
}

// http2Conn is one end of an HTTP/2 connection.
type http2Conn struct {
	socket
	role    role
	in      []byte // incomplete frame
	header  *headerReader
	block   []byte // incomplete header block
	blockID uint32 // its stream; 0: none
	blockED bool   // its END_STREAM
	body    []byte // the body that this end sends, without its mark
	other   []byte // the body that the other end sends, without its mark
	streams map[uint32]*stream
	sending []*stream // streams whose body is not sent completely, in turn

	window    int // bytes that may be sent on the connection
	initial   int // the initial window of a stream
	most      int // number of streams that the other end accepts
	tableSize uint32
	settled   bool // the other end's SETTINGS were received
	owed      int  // received bytes that were not credited on the connection
	preface   int  // server: bytes of the preface that are missing
}

func newHTTP2Conn(s socket, r role) *http2Conn {
	c := &http2Conn{
		socket: s, role: r, header: newHeaderReader(), streams: make(map[uint32]*stream),
		window: defaultWindow, initial: defaultWindow, most: 1 << 30, tableSize: 4096,
	}
	return c
}

// start queues SETTINGS and a larger window for the connection.
func (c *http2Conn) start(settings ...[2]uint32) {
	c.out = appendFrame(c.out, 6*len(settings), frameSettings, 0, 0)
	for _, s := range settings {
		c.out = appendSetting(c.out, uint16(s[0]), s[1])
	}
	c.out = appendNumber(c.out, frameWindowUpdate, 0, connWindow-defaultWindow)
}

// receive reads what has arrived, and handles all complete frames.
func (c *http2Conn) receive(buf []byte) error {
	for {
		n, err := c.read(buf)
		if errors.Is(err, rawpoll.ErrAgain) {
			return nil
		}
		if err != nil {
			return err
		}
		in := buf[:n]
		if len(c.in) > 0 {
			c.in = append(c.in, in...)
			in = c.in
		}
		used, err := c.handleAll(in)
		if err != nil {
			return err
		}
		c.in = append(c.in[:0], in[used:]...)
		if c.tls == nil {
			return nil
		}
	}
}

func (c *http2Conn) handleAll(in []byte) (used int, err error) {
	if c.preface > 0 {
		if len(in) < c.preface {
			return 0, nil
		}
		if string(in[:c.preface]) != preface {
			return 0, fmt.Errorf("%q: want HTTP/2's preface", clip(in))
		}
		used, c.preface = c.preface, 0
	}
	for {
		f, n, err := nextFrame(in[used:])
		if err != nil || n == 0 {
			return used, err
		}
		if err := c.handle(f); err != nil {
			return used, err
		}
		used += n
	}
}

func (c *http2Conn) handle(f http2Frame) error {
	if c.blockID != 0 && (f.kind != frameContinuation || f.stream != c.blockID) {
		return fmt.Errorf("a frame of type %d within a header block", f.kind)
	}
	switch f.kind {
	case frameHeaders:
		if f.flags&flagEndHeaders != 0 {
			return c.role.headers(f.stream, f.payload, f.flags&flagEndStream != 0)
		}
		c.block, c.blockID, c.blockED = append(c.block[:0], f.payload...), f.stream, f.flags&flagEndStream != 0
	case frameContinuation:
		c.block = append(c.block, f.payload...)
		if f.flags&flagEndHeaders != 0 {
			id := c.blockID
			c.blockID = 0
			return c.role.headers(id, c.block, c.blockED)
		}
	case frameData:
		c.credit(len(f.payload))
		return c.role.data(f.stream, f.payload, f.flags&flagEndStream != 0)
	case frameReset:
		if len(f.payload) == 4 {
			return c.role.reset(f.stream, binary.BigEndian.Uint32(f.payload))
		}
	case frameSettings:
		return c.settings(f)
	case framePing:
		if f.flags&flagAck == 0 {
			c.out = append(appendFrame(c.out, len(f.payload), framePing, flagAck, 0), f.payload...)
		}
	case frameWindowUpdate:
		if len(f.payload) == 4 {
			c.enlarge(f.stream, int(binary.BigEndian.Uint32(f.payload)&^(1<<31)))
		}
	case frameGoAway:
		return fmt.Errorf("GOAWAY %x", f.payload[:min(8, len(f.payload))])
	}
	return nil
}

// settings applies SETTINGS and acknowledges them.
func (c *http2Conn) settings(f http2Frame) error {
	if f.flags&flagAck != 0 {
		return nil
	}
	for p := f.payload; len(p) >= 6; p = p[6:] {
		value := binary.BigEndian.Uint32(p[2:])
		switch binary.BigEndian.Uint16(p) {
		case settingTableSize:
			c.tableSize = min(value, 4096)
		case settingStreams:
			c.most = int(min(value, 1<<30))
		case settingWindow:
			for _, s := range c.streams {
				s.window += int(value) - c.initial
			}
			c.initial = int(value)
		}
	}
	c.settled = true
	c.out = appendFrame(c.out, 0, frameSettings, flagAck, 0)
	c.send()
	return nil
}

func (c *http2Conn) enlarge(id uint32, n int) {
	if id == 0 {
		c.window += n
	} else if s := c.streams[id]; s != nil {
		s.window += n
	}
	c.send()
}

// credit returns received bytes to the connection's window once they are half of it.
func (c *http2Conn) credit(n int) {
	if c.owed += n; c.owed >= connWindow/2 {
		c.out = appendNumber(c.out, frameWindowUpdate, 0, uint32(c.owed))
		c.owed = 0
	}
}

// receiveBody compares a part of the other end's body with the expected one, from the mark on, and credits it to the stream.
func (c *http2Conn) receiveBody(s *stream, p, mark []byte, end bool) error {
	if s.got+len(p) > len(c.other) {
		return fmt.Errorf("a body of more than %d bytes", len(c.other))
	}
	for i := s.got; i < markLen && i-s.got < len(p) && mark != nil; i++ {
		if p[i-s.got] != mark[i] {
			return fmt.Errorf("a body with the mark %q: want %q", clip(p), mark)
		}
	}
	if skip := max(0, markLen-s.got); len(p) > skip && !bytes.Equal(p[skip:], c.other[s.got+skip:s.got+len(p)]) {
		return checkBody(p[skip:], c.other[s.got+skip:s.got+len(p)])
	}
	s.got += len(p)
	if s.owed += len(p); s.owed >= streamWindow/2 && !end {
		c.out = appendNumber(c.out, frameWindowUpdate, s.id, uint32(s.owed))
		s.owed = 0
	}
	if end && s.got != len(c.other) {
		return fmt.Errorf("a body of %d bytes: want %d", s.got, len(c.other))
	}
	return nil
}

// mostQueued is the number of queued bytes above which no further DATA is queued.
const mostQueued = 256 << 10

// send queues DATA of all streams, in turn, as far as the windows permit. A window that is larger than the body needs one frame.
func (c *http2Conn) send() {
	for tried := 0; tried < len(c.sending) && c.window > 0 && c.queued() < mostQueued; {
		s := c.sending[0]
		n := min(defaultFrame, c.window, s.window, len(c.body)-s.sent)
		if n <= 0 {
			tried++
			c.sending = append(c.sending[1:], s)
			continue
		}
		tried = 0
		c.sendData(s, n)
		c.sending = c.sending[1:]
		if s.sent < len(c.body) {
			c.sending = append(c.sending, s)
		}
	}
}

func (c *http2Conn) sendData(s *stream, n int) {
	flags := byte(0)
	if s.sent+n == len(c.body) {
		flags = flagEndStream
	}
	c.out = append(appendFrame(c.out, n, frameData, flags, s.id), c.body[s.sent:s.sent+n]...)
	if s.sent < markLen {
		copy(c.out[len(c.out)-n:], s.mark[s.sent:])
	}
	s.sent += n
	s.window -= n
	c.window -= n
	if s.sent == len(c.body) {
		c.role.bodySent(s)
	}
}

// drop forgets a stream.
func (c *http2Conn) drop(s *stream) {
	delete(c.streams, s.id)
	if s.sent < len(c.body) {
		c.sending = slices.DeleteFunc(c.sending, func(x *stream) bool { return x == s })
	}
}

// turn handles what has arrived and sends what is queued.
func (c *http2Conn) turn(buf []byte) error {
	if err := c.receive(buf); err != nil {
		return err
	}
	return c.finish()
}

// finish sends what is queued. What is sent makes room for more DATA.
func (c *http2Conn) finish() error {
	for {
		before := c.queued()
		if err := c.flush(); err != nil {
			return err
		}
		if c.queued() >= before || len(c.sending) == 0 {
			return nil
		}
		if c.send(); len(c.out) == 0 {
			return nil
		}
	}
}
