package http2

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

// flood sends attack until the connection ends, and returns how many were accepted.
func (r *rig) flood(attack func(i int) []byte) (n int, failure *ConnError) {
	r.t.Helper()
	for i := range 100_000 {
		if _, err := r.conn.Receive(attack(i)); err != nil {
			if !errors.As(err, &failure) {
				r.t.Fatal(err)
			}
			return i, failure
		}
		if r.out.highWater == 0 {
			r.out.take(r.out.size)
		}
	}
	r.t.Fatal("the connection survives")
	return 0, nil
}

// TestAbuse floods a server with what RFC 9113, section 10.5, warns of. Each flood ends with ENHANCE_YOUR_CALM and its reason.
func TestAbuse(t *testing.T) {
	t.Parallel()
	id := func(i int) uint32 { return uint32(2*i + 3) }
	reset := func(i int) []byte { return frame(frameReset, 0, id(i), number(uint32(Cancel))...) }
	const budget = 50
	for name, row := range map[string]struct {
		setup  [][]byte
		attack func(i int) []byte
		reason Abuse
		most   int // events before the end
	}{
		"rapid reset":        {nil, func(i int) []byte { return append(post(id(i)), reset(i)...) }, AbuseResets, budget},
		"malformed requests": {nil, func(i int) []byte { return frame(frameHeaders, flagEndHeaders, id(i), 0x82) }, AbuseErrors, budget},
		"heads that are too large": {nil, func(i int) []byte {
			return frame(frameHeaders, flagEndHeaders|flagEndStream, id(i), fieldBlockOf(append(getLines, strings.Repeat("x: y ", 300)+": z")...)...)
		}, AbuseErrors, budget},
		"header bomb": {nil, func(i int) []byte { // RFC 7541, section 6.1: 0xbe is the newest entry of the table
			block := indexedBlockOf(slices.Concat(getLines, []string{"x: " + strings.Repeat("x", 900)})...)
			return frame(frameHeaders, flagEndHeaders|flagEndStream, id(i), append(block, strings.Repeat("\xbe", 500)...)...)
		}, AbuseHeaderBomb, 0},
		"windows of 0":             {nil, func(i int) []byte { return append(post(id(i)), frame(frameWindowUpdate, 0, id(i), number(0)...)...) }, AbuseWindows, budget},
		"more streams than agreed": {nil, func(i int) []byte { return post(id(i)) }, AbuseRefused, budget + 10},
		"PING":                     {nil, func(int) []byte { return frame(framePing, 0, 0, make([]byte, 8)...) }, AbusePings, budget},
		"acknowledgements of PING": {nil, func(int) []byte { return frame(framePing, flagAck, 0, make([]byte, 8)...) }, AbusePings, budget},
		"of SETTINGS":              {nil, func(int) []byte { return frame(frameSettings, flagAck, 0) }, AbuseSettings, budget},
		"SETTINGS":                 {nil, func(int) []byte { return frame(frameSettings, 0, 0) }, AbuseSettings, budget},
		"GOAWAY":                   {nil, func(int) []byte { return frame(frameGoAway, 0, 0, make([]byte, 8)...) }, AbuseSettings, budget + 1},
		"empty DATA":               {[][]byte{post(1)}, func(int) []byte { return frame(frameData, 0, 1) }, AbuseEmptyFrames, budget},
		"padding without content":  {[][]byte{post(1)}, func(int) []byte { return frame(frameData, flagPadded, 1, 0) }, AbuseEmptyFrames, budget},
		"empty CONTINUATION":       {[][]byte{frame(frameHeaders, 0, 1, 0x82)}, func(int) []byte { return frame(frameContinuation, 0, 1) }, AbuseEmptyFrames, budget},
		"large CONTINUATION":       {[][]byte{frame(frameHeaders, 0, 1, 0x82)}, func(int) []byte { return frame(frameContinuation, 0, 1, make([]byte, 100)...) }, AbuseContinuation, 21},
		"PRIORITY":                 {nil, func(int) []byte { return frame(framePriority, 0, 3, 0, 0, 0, 1, 0) }, AbuseIgnoredFrames, budget},
		"unknown frames":           {nil, func(int) []byte { return frame(0x99, 0, 0) }, AbuseIgnoredFrames, budget},
		"DATA of a closed stream":  {[][]byte{post(1), frame(frameReset, 0, 1, number(0)...)}, func(int) []byte { return frame(frameData, 0, 1, 1) }, AbuseIgnoredFrames, budget},
		"RST_STREAM of closed":     {[][]byte{post(1), frame(frameReset, 0, 1, number(0)...)}, func(int) []byte { return frame(frameReset, 0, 1, number(0)...) }, AbuseIgnoredFrames, budget},
		"WINDOW_UPDATE of 1":       {[][]byte{post(1)}, func(int) []byte { return frame(frameWindowUpdate, 0, 1, number(1)...) }, AbuseWindows, budget},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newServerRig(t, &Config{AbuseBudget: budget, MaxStreams: 10, MaxHeader: 1 << 10})
			r.receive(row.setup...)
			n, failure := r.flood(row.attack)
			if failure.Code != EnhanceYourCalm || failure.Abuse != row.reason || n > row.most || n < row.most/2 {
				t.Errorf("after %d events: %v (%s); want %s after at most %d", n, failure, failure.Abuse, row.reason, row.most)
			}
		})
	}
}

// TestRefusedBeforeSettings: a client that does not acknowledge SETTINGS has no more refused streams than another one.
func TestRefusedBeforeSettings(t *testing.T) {
	t.Parallel()
	r := &rig{t: t, rec: newRecorder(), out: &memoryOutput{}}
	r.conn = NewServer(&Config{AbuseBudget: 50, MaxStreams: 10}, r.rec, r.out)
	r.receive(clientStart())
	if n, failure := r.flood(func(i int) []byte { return post(uint32(2*i + 1)) }); failure.Abuse != AbuseRefused || n != 60 {
		t.Errorf("after %d streams: %v", n, failure)
	}
}

// TestAbuseIsForgiven: Tick gives back a part of the budget, and useful work gives back one for one.
func TestAbuseIsForgiven(t *testing.T) {
	t.Parallel()
	ping := frame(framePing, 0, 0, make([]byte, 8)...)
	r := newServerRig(t, &Config{AbuseBudget: 10})
	for range 100 {
		for range 5 {
			r.receive(ping)
		}
		if r.conn.Idle() {
			t.Fatal("the connection needs no Tick after pings")
		}
		r.conn.Tick()
	}
	if !r.conn.Idle() {
		t.Error("a budget is spent after Tick")
	}
	respond := func(s *Stream, _ bool) {
		e := s.BeginHeaders()
		e.Status(204)
		e.End(true)
	}
	for i := range uint32(200) {
		id := 4*i + 1
		r.rec.each = respond
		r.receive(get(id), ping)
		r.rec.each = nil
		cancel := number(uint32(Cancel))
		r.receive(post(id+2), frame(frameReset, 0, id+2, cancel...), frame(frameReset, 0, id, cancel...)) // one cancelled, one complete
	}
}

// TestUnread: a peer that sends and does not read makes the connection hold a bounded number of bytes.
func TestUnread(t *testing.T) {
	t.Parallel()
	const highWater = 8 << 10
	respond := func(s *Stream, _ bool) {
		e := s.BeginHeaders()
		e.Status(404)
		e.FieldString("x", "0123456789012345678901234567890123456789")
		e.End(true)
	}
	for name, row := range map[string]struct {
		attack func(i int) []byte
		most   int
	}{
		"responses": {func(i int) []byte { return get(uint32(2*i + 1)) }, highWater + 130*64},
		"PING":      {func(int) []byte { return frame(framePing, 0, 0, make([]byte, 8)...) }, highWater + maxUnreadControl + 64},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newServerRig(t, &Config{AbuseBudget: 1 << 20, MaxStreams: 10})
			r.out.highWater = highWater
			r.rec.each = respond
			_, failure := r.flood(row.attack)
			if failure.Abuse != AbuseUnread || r.out.size > row.most {
				t.Errorf("%v (%s) with %d bytes; want %s with at most %d", failure, failure.Abuse, r.out.size, AbuseUnread, row.most)
			}
		})
	}
}

// TestUnreadHonest: a client that keeps to MaxStreams and reads slowly is no attacker.
func TestUnreadHonest(t *testing.T) {
	t.Parallel()
	r := newServerRig(t, &Config{MaxStreams: 10})
	r.out.highWater = 1 << 10
	r.rec.each = func(s *Stream, _ bool) {
		e := s.BeginHeaders()
		e.Status(200)
		e.FieldString("x", "0123456789012345678901234567890123456789")
		e.End(false)
		s.Write(make([]byte, 100), true)
	}
	id, open := uint32(1), 0
	scan := frameScanner{each: func(h frameHeader, _ []byte) {
		if h.has(flagEndStream) {
			open--
		}
	}}
	for range 3000 {
		if open < 10 {
			open++
			r.receive(get(id))
			id += 2
		}
		scan.write(r.out.take(50))
		r.conn.Flush()
	}
	if id < 1000 {
		t.Errorf("%d requests only", id/2)
	}
}

// TestBlockBound: a block in many frames is passed on up to its bound.
func TestBlockBound(t *testing.T) {
	t.Parallel()
	r := newServerRig(t, nil)
	block := fieldBlockOf(slices.Concat(getLines, []string{"x: " + string(bytes.Repeat([]byte("x"), 20<<10))})...)
	r.receive(frame(frameHeaders, flagEndStream, 1, block[:10]...))
	if !r.conn.HeaderPending() {
		t.Error("no block is pending")
	}
	for rest := block[10:]; len(rest) > 0; {
		n := min(len(rest), 1000)
		flags := uint8(0)
		if n == len(rest) {
			flags = flagEndHeaders
		}
		r.receive(frame(frameContinuation, flags, 1, rest[:n]...))
		rest = rest[n:]
	}
	r.wantCalls("1 GET /, end true")
}
