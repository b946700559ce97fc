package http2

import (
	"encoding/binary"
	"testing"
)

// sentRecorder responds to each request with a body of 15 bytes, and with trailers if trailers is set.
type sentRecorder struct {
	echoServer
	trailers bool
	stream   *Stream
	sent     int
}

func (r *sentRecorder) Headers(s *Stream, _ *Head, _ bool) {
	r.stream = s
	e := s.BeginHeaders()
	e.Status(200)
	e.End(false)
	s.Write(make([]byte, 15), !r.trailers)
	if r.trailers {
		e = s.BeginHeaders()
		e.FieldString("x-t", "t")
		e.End(true)
	}
}

func (r *sentRecorder) Sent(s *Stream) { r.sent++ }

// TestSent: Sent follows the END_STREAM that waited for a window, with a body or with trailers.
func TestSent(t *testing.T) {
	request := []byte{0x82, 0x86, 0x84, 0x41, 1, 'a'} // GET http / of a
	for _, trailers := range []bool{false, true} {
		r, out := &sentRecorder{trailers: trailers}, &socketOutput{}
		c := NewServer(nil, r, out)
		if !c.HeaderPending() {
			t.Error("the preface is not pending on a new connection")
		}
		in := append([]byte(preface), 0, 0, 6, frameSettings, 0, 0, 0, 0, 0, 0, settingInitialWindowSize, 0, 0, 0, 10)
		in = append(appendFrameHeader(in, len(request), frameHeaders, flagEndStream|flagEndHeaders, 1), request...)
		if _, err := c.Receive(in); err != nil || c.HeaderPending() {
			t.Fatalf("a head in one frame is pending: %v, %v", c.HeaderPending(), err)
		}
		if r.stream.Queued() != 5 || r.sent != 0 {
			t.Fatalf("%d of 15 bytes wait for a window of 10, and %d calls of Sent; want 5 and none", r.stream.Queued(), r.sent)
		}
		in = appendFrameHeader(nil, 4, frameWindowUpdate, 0, 1)
		in = binary.BigEndian.AppendUint32(in, 100)
		if _, err := c.Receive(in); err != nil || r.sent != 1 || !r.stream.Ended() {
			t.Errorf("after WINDOW_UPDATE: %d calls of Sent, ended %v, %v; want 1", r.sent, r.stream.Ended(), err)
		}
	}
}

// TestStall: a released stream is reset when nothing of its queue has left in StallTicks calls of Tick.
func TestStall(t *testing.T) {
	r := newServerRig(t, &Config{StallTicks: 2})
	r.rec.keep = true
	r.receive(frame(frameSettings, 0, 0, setting(settingInitialWindowSize, 10)...), get(1))
	s := r.rec.streams[1]
	e := s.BeginHeaders()
	e.Status(200)
	e.End(false)
	s.Write(make([]byte, 30), true)
	s.Release()
	for range 2 {
		r.conn.Tick()
		r.conn.Tick()
		r.receive(frame(frameWindowUpdate, 0, 1, number(5)...))
	}
	if r.conn.Streams() != 1 {
		t.Fatal("a stream whose queue becomes shorter has ended")
	}
	for range 3 {
		r.conn.Tick()
	}
	if r.conn.Streams() != 0 {
		t.Error("a stream whose queue does not become shorter goes on")
	}
}

// TestStallOfTurns: streams that wait for their turns on a slow connection have not stalled. One whose own window is used up has.
func TestStallOfTurns(t *testing.T) {
	const window = 60000
	r := newServerRig(t, &Config{StallTicks: 2})
	r.rec.keep = true
	r.receive(frame(frameSettings, 0, 0, setting(settingInitialWindowSize, window)...), get(1), get(3), get(5), get(7), get(9))
	body := make([]byte, window+1)
	for id := uint32(1); id < 10; id += 2 {
		s := r.rec.streams[id]
		e := s.BeginHeaders()
		e.Status(200)
		e.End(false)
		s.Write(body, true) // the first one uses up its own window, and nearly that of the connection
		s.Release()
		body = body[:window]
	}
	for range 12 {
		r.receive(frame(frameWindowUpdate, 0, 0, number(5)...)) // one frame of one stream
		r.conn.Tick()
	}
	if got := r.conn.Streams(); got != 4 {
		t.Errorf("%d streams go on beside a slow client, want the 4 that wait for their turns", got)
	}
	for range 3 {
		r.conn.Tick()
	}
	if got := r.conn.Streams(); got != 0 {
		t.Errorf("%d streams go on beside a client that takes nothing, want none", got)
	}
}
