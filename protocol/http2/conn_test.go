package http2

import (
	"errors"
	"slices"
	"testing"
)

// TestConnErrors has frames that end the connection. RFC 9113, sections 4 to 6.
func TestConnErrors(t *testing.T) {
	t.Parallel()
	block := fieldBlockOf(getLines...)
	for name, row := range map[string]struct {
		frames [][]byte
		code   Code
	}{
		"DATA without a stream":              {[][]byte{frame(frameData, 0, 0, 1)}, ProtocolError},
		"DATA of an idle stream":             {[][]byte{frame(frameData, 0, 1, 1)}, ProtocolError},
		"DATA of a server's stream":          {[][]byte{frame(frameData, 0, 2, 1)}, ProtocolError},
		"DATA with too much padding":         {[][]byte{post(1), frame(frameData, flagPadded, 1, 2, 0)}, ProtocolError},
		"DATA without its padding's length":  {[][]byte{post(1), frame(frameData, flagPadded, 1)}, FrameSizeError},
		"HEADERS without a stream":           {[][]byte{get(0)}, ProtocolError},
		"HEADERS of an even stream":          {[][]byte{get(2)}, ProtocolError},
		"HEADERS of an older stream":         {[][]byte{get(3), get(1)}, StreamClosed},
		"HEADERS with too much padding":      {[][]byte{frame(frameHeaders, flagPadded|flagEndHeaders, 1, 9, 0)}, ProtocolError},
		"HEADERS too short for its priority": {[][]byte{frame(frameHeaders, flagPriority|flagEndHeaders, 1, 0)}, FrameSizeError},
		"HEADERS that depends on itself":     {[][]byte{frame(frameHeaders, flagPriority|flagEndHeaders, 1, 0, 0, 0, 1, 0)}, ProtocolError},
		"HEADERS within a block":             {[][]byte{frame(frameHeaders, 0, 1, block...), get(3)}, ProtocolError},
		"PING within a block":                {[][]byte{frame(frameHeaders, 0, 1, block...), frame(framePing, 0, 0, make([]byte, 8)...)}, ProtocolError},
		"CONTINUATION of another stream":     {[][]byte{frame(frameHeaders, 0, 1, block...), frame(frameContinuation, 0, 3)}, ProtocolError},
		"CONTINUATION alone":                 {[][]byte{frame(frameContinuation, flagEndHeaders, 1)}, ProtocolError},
		"PRIORITY without a stream":          {[][]byte{frame(framePriority, 0, 0, 0, 0, 0, 3, 0)}, ProtocolError},
		"PRIORITY of a wrong length":         {[][]byte{frame(framePriority, 0, 1, 0)}, FrameSizeError},
		"RST_STREAM without a stream":        {[][]byte{frame(frameReset, 0, 0, 0, 0, 0, 8)}, ProtocolError},
		"RST_STREAM of an idle stream":       {[][]byte{frame(frameReset, 0, 1, 0, 0, 0, 8)}, ProtocolError},
		"RST_STREAM of a wrong length":       {[][]byte{get(1), frame(frameReset, 0, 1, 0, 0, 0)}, FrameSizeError},
		"SETTINGS on a stream":               {[][]byte{frame(frameSettings, 0, 1)}, ProtocolError},
		"SETTINGS of a wrong length":         {[][]byte{frame(frameSettings, 0, 0, 1)}, FrameSizeError},
		"SETTINGS ack with a payload":        {[][]byte{frame(frameSettings, flagAck, 0, setting(1, 1)...)}, FrameSizeError},
		"SETTINGS_ENABLE_PUSH":               {[][]byte{frame(frameSettings, 0, 0, setting(settingEnablePush, 2)...)}, ProtocolError},
		"SETTINGS_INITIAL_WINDOW_SIZE":       {[][]byte{frame(frameSettings, 0, 0, setting(settingInitialWindowSize, 1<<31)...)}, FlowControlError},
		"SETTINGS_MAX_FRAME_SIZE small":      {[][]byte{frame(frameSettings, 0, 0, setting(settingMaxFrameSize, 1<<14-1)...)}, ProtocolError},
		"SETTINGS_MAX_FRAME_SIZE large":      {[][]byte{frame(frameSettings, 0, 0, setting(settingMaxFrameSize, 1<<24)...)}, ProtocolError},
		"SETTINGS_ENABLE_CONNECT_PROTOCOL":   {[][]byte{frame(frameSettings, 0, 0, setting(settingEnableConnect, 2)...)}, ProtocolError},
		"SETTINGS that overflow a window": {
			[][]byte{post(1), frame(frameWindowUpdate, 0, 1, number(maxWindow-initialWindow)...), frame(frameSettings, 0, 0, setting(settingInitialWindowSize, 1<<17)...)},
			FlowControlError,
		},
		"PUSH_PROMISE":                    {[][]byte{frame(framePushPromise, flagEndHeaders, 1, 0, 0, 0, 2)}, ProtocolError},
		"PING on a stream":                {[][]byte{frame(framePing, 0, 1, make([]byte, 8)...)}, ProtocolError},
		"PING of a wrong length":          {[][]byte{frame(framePing, 0, 0, 1)}, FrameSizeError},
		"GOAWAY on a stream":              {[][]byte{frame(frameGoAway, 0, 1, make([]byte, 8)...)}, ProtocolError},
		"GOAWAY of a wrong length":        {[][]byte{frame(frameGoAway, 0, 0, 1)}, FrameSizeError},
		"WINDOW_UPDATE of 0":              {[][]byte{frame(frameWindowUpdate, 0, 0, number(0)...)}, ProtocolError},
		"WINDOW_UPDATE of an idle one":    {[][]byte{frame(frameWindowUpdate, 0, 1, number(1)...)}, ProtocolError},
		"WINDOW_UPDATE that overflows":    {[][]byte{frame(frameWindowUpdate, 0, 0, number(maxWindow)...)}, FlowControlError},
		"WINDOW_UPDATE of a wrong length": {[][]byte{frame(frameWindowUpdate, 0, 0, 1)}, FrameSizeError},
		"a frame that is too large":       {[][]byte{frame(0x99, 0, 0, make([]byte, 1<<14+1)...)}, FrameSizeError},
		"an index beyond the table":       {[][]byte{frame(frameHeaders, flagEndHeaders, 1, 0xff, 0)}, CompressionError},
		"index 0":                         {[][]byte{frame(frameHeaders, flagEndHeaders, 1, 0x80)}, CompressionError},
		"a table size that is too large":  {[][]byte{frame(frameHeaders, flagEndHeaders, 1, 0x3f, 0xe2, 0x1f)}, CompressionError},
		"a late table size":               {[][]byte{frame(frameHeaders, flagEndHeaders, 1, 0x82, 0x20)}, CompressionError},
		"a string that ends early":        {[][]byte{frame(frameHeaders, flagEndHeaders, 1, 0, 1, 'a', 2, 'b')}, CompressionError},
		"a Huffman code with EOS":         {[][]byte{frame(frameHeaders, flagEndHeaders, 1, 0, 0x84, 0xff, 0xff, 0xff, 0xff)}, CompressionError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newServerRig(t, nil)
			_, err := r.conn.Receive(slices.Concat(row.frames...))
			var failure *ConnError
			if !errors.As(err, &failure) || failure.Code != row.code {
				t.Fatalf("got %v, want %s", err, row.code)
			}
			sent := r.sent()
			if want := "GOAWAY"; len(sent) == 0 || sent[len(sent)-1][:6] != want {
				t.Errorf("sent %q, want GOAWAY at the end", sent)
			}
			calls := len(r.rec.lines)
			if n, again := r.conn.Receive(get(9)); !errors.Is(again, err) || n != len(get(9)) || len(r.rec.lines) != calls || r.out.size > 0 {
				t.Errorf("after the error: %d bytes, %v", n, again)
			}
			r.conn.Closed(err)
			if r.conn.Streams() != 0 {
				t.Errorf("%d streams are left", r.conn.Streams())
			}
		})
	}
}

// TestPreface: a server refuses other protocols at the first byte that differs, and other frames than SETTINGS at the beginning.
func TestPreface(t *testing.T) {
	t.Parallel()
	for name, p := range map[string][]byte{
		"HTTP/1.1":      []byte("GET / HTTP/1.1\r\n"),
		"other version": []byte("PRI * HTTP/3"),
		"PING first":    append([]byte(preface), frame(framePing, 0, 0, make([]byte, 8)...)...),
		"ack first":     append([]byte(preface), frame(frameSettings, flagAck, 0)...),
	} {
		c := NewServer(nil, newRecorder(), &memoryOutput{})
		if _, err := c.Receive(p); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestStreamErrors has frames that end a stream and leave the connection as it is.
func TestStreamErrors(t *testing.T) {
	t.Parallel()
	const closed = "1 reset STREAM_CLOSED, remote false, refused false"
	for name, row := range map[string]struct {
		frames [][]byte
		sent   string
		call   string
	}{
		"DATA after the end":       {[][]byte{get(1), frame(frameData, 0, 1, 1)}, "1 RST STREAM_CLOSED", closed},
		"HEADERS after the end":    {[][]byte{get(1), get(1)}, "1 RST STREAM_CLOSED", closed},
		"WINDOW_UPDATE of 0":       {[][]byte{get(1), frame(frameWindowUpdate, 0, 1, number(0)...)}, "1 RST PROTOCOL_ERROR", "1 reset PROTOCOL_ERROR, remote false, refused false"},
		"WINDOW_UPDATE overflows":  {[][]byte{get(1), frame(frameWindowUpdate, 0, 1, number(maxWindow)...)}, "1 RST FLOW_CONTROL_ERROR", "1 reset FLOW_CONTROL_ERROR, remote false, refused false"},
		"PRIORITY of wrong length": {[][]byte{get(1), frame(framePriority, 0, 1, 1)}, "1 RST FRAME_SIZE_ERROR", "1 reset FRAME_SIZE_ERROR, remote false, refused false"},
		"RST_STREAM":               {[][]byte{get(1), frame(frameReset, 0, 1, number(uint32(Cancel))...)}, "", "1 reset CANCEL, remote true, refused false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newServerRig(t, nil)
			r.rec.keep = true
			r.receive(row.frames...)
			if row.sent != "" {
				r.wantSent(row.sent)
			}
			r.wantCalls("1 GET /, end true", row.call)
			// Frames that the peer sent before it saw the reset.
			if row.sent != "" {
				r.receive(frame(frameData, 0, 1, 1), frame(frameReset, 0, 1, number(0)...), frame(frameWindowUpdate, 0, 1, number(1)...))
				r.wantSent()
			}
			if r.conn.Streams() != 1 {
				t.Errorf("%d streams before Release", r.conn.Streams())
			}
			r.rec.streams[1].Release()
			r.receive(get(3))
			r.wantCalls("3 GET /, end true")
			if r.conn.Streams() != 1 {
				t.Errorf("%d streams", r.conn.Streams())
			}
		})
	}
}

// TestDataOfClosedStream: DATA of a stream that was complete is refused; its bytes count for the connection's window.
func TestDataOfClosedStream(t *testing.T) {
	t.Parallel()
	r := newServerRig(t, nil)
	r.rec.each = func(s *Stream, _ bool) {
		e := s.BeginHeaders()
		e.Status(204)
		e.End(true)
	}
	r.receive(get(1))
	r.wantSent("1 HEADERS end true")
	before := r.conn.recvWindow
	r.receive(frame(frameData, 0, 1, make([]byte, 100)...))
	r.wantSent("1 RST STREAM_CLOSED")
	if got := before - r.conn.recvWindow; got != 100 {
		t.Errorf("the window is smaller by %d, want 100", got)
	}
}

// TestResetsThatCross: DATA that was sent before this side's reset arrived is ignored. After the peer has reset the stream too,
// DATA is an error. RFC 9113, section 5.1.
func TestResetsThatCross(t *testing.T) {
	t.Parallel()
	r := newServerRig(t, nil)
	r.rec.each = func(s *Stream, _ bool) { s.Reset(Cancel) }
	r.receive(post(1))
	r.wantSent("1 RST CANCEL")
	r.receive(frame(frameData, 0, 1, 1))
	r.wantSent()
	r.receive(frame(frameReset, 0, 1, number(uint32(Cancel))...), frame(frameData, 0, 1, 1))
	r.wantSent("1 RST STREAM_CLOSED")
}

// TestMaxStreams: streams beyond the limit are refused, also while the driver works for a stream that the client has reset.
func TestMaxStreams(t *testing.T) {
	t.Parallel()
	r := newServerRig(t, &Config{MaxStreams: 2})
	r.rec.keep = true
	r.receive(get(1), get(3), get(5))
	r.wantSent("5 RST REFUSED_STREAM")
	r.receive(frame(frameReset, 0, 1, number(uint32(Cancel))...), get(7))
	r.wantSent("7 RST REFUSED_STREAM")
	r.rec.streams[1].Release()
	r.receive(get(9))
	r.wantSent()
	if got := r.conn.Stats(); got.Refused != 2 || got.ResetsReceived != 1 || got.StreamsOpened != 3 {
		t.Errorf("%+v", got)
	}
}

// TestGracefulServer: the first GOAWAY names no stream, so requests on their way are served; the second one names the last.
func TestGracefulServer(t *testing.T) {
	t.Parallel()
	r := newServerRig(t, nil)
	r.rec.keep = true
	r.receive(get(1))
	r.conn.GoAway(NoError)
	r.receive(get(3))
	r.conn.GoAway(NoError)
	r.conn.GoAway(NoError)
	r.receive(get(5), frame(frameData, 0, 5, 1))
	r.wantSent("GOAWAY 2147483647 NO_ERROR", "GOAWAY 3 NO_ERROR")
	r.wantCalls("1 GET /, end true", "3 GET /, end true")
	if !r.conn.Draining() || r.conn.Streams() != 2 {
		t.Errorf("draining %v, %d streams", r.conn.Draining(), r.conn.Streams())
	}
}

// TestClientGoAway: streams above the last id are refused, those without an id too, and others are served.
func TestClientGoAway(t *testing.T) {
	t.Parallel()
	r := newClientRig(t, nil)
	r.open("GET", true)
	r.open("GET", true)
	waiting := r.conn.Open()
	r.receive(frame(frameGoAway, 0, 0, slices.Concat(number(1), number(uint32(NoError)))...))
	r.wantCalls("0 reset REFUSED_STREAM, remote true, refused true", "3 reset REFUSED_STREAM, remote true, refused true", "goaway 1 NO_ERROR")
	if r.conn.CanOpen() || r.conn.Open() != nil || !r.conn.PeerGoneAway() || !waiting.Ended() {
		t.Error("the connection opens streams after GOAWAY")
	}
	r.receive(frame(frameHeaders, flagEndHeaders|flagEndStream, 1, fieldBlockOf(":status: 200")...))
	r.wantCalls("1 status 200, end true")
	if r.conn.Streams() != 0 {
		t.Errorf("%d streams", r.conn.Streams())
	}
}

// TestClientLimits: a client keeps to the server's number of streams.
func TestClientLimits(t *testing.T) {
	t.Parallel()
	r := newClientRig(t, nil, setting(settingMaxConcurrentStreams, 1), setting(settingEnableConnect, 1))
	if !r.conn.PeerReady() || !r.conn.PeerExtendedConnect() {
		t.Error("SETTINGS are not known")
	}
	s := r.open("GET", true)
	if r.conn.Open() != nil {
		t.Error("a second stream is open")
	}
	s.Reset(Cancel)
	s.Release()
	r.sent()
	if r.open("GET", true).ID() != 3 {
		t.Error("the next stream is not 3")
	}
	r.receive(frame(frameReset, 0, 3, number(uint32(RefusedStream))...))
	r.wantCalls("3 reset REFUSED_STREAM, remote true, refused true")
	unused := r.conn.Open()
	unused.Release()
	if !unused.Ended() || r.conn.Streams() != 0 {
		t.Error("a stream without a request is left")
	}
}

// TestEarlyResponse: a server that has responded stops the upload with RST_STREAM NO_ERROR, after its response.
func TestEarlyResponse(t *testing.T) {
	t.Parallel()
	r := newServerRig(t, nil)
	r.rec.each = func(s *Stream, _ bool) {
		e := s.BeginHeaders()
		e.Status(413)
		e.End(false)
		s.Write(make([]byte, initialWindow+1), true) // one byte waits
		s.Release()
	}
	r.receive(post(1), frame(frameData, 0, 1, 1))
	r.sent()
	r.receive(frame(frameWindowUpdate, 0, 1, number(1)...), frame(frameWindowUpdate, 0, 0, number(1)...))
	r.wantSent("1 DATA 1, end true", "1 RST NO_ERROR")
	r.receive(frame(frameData, flagEndStream, 1, 1))
	r.wantSent()
	r.wantCalls("1 POST /, end false")

	c := newClientRig(t, nil)
	c.rec.keep = true
	s := c.open("POST", false)
	c.receive(frame(frameHeaders, flagEndHeaders|flagEndStream, 1, fieldBlockOf(":status: 413")...), frame(frameReset, 0, 1, number(0)...))
	c.wantCalls("1 status 413, end true", "1 reset NO_ERROR, remote true, refused false")
	s.Write([]byte("a"), true)
	s.Release()
	c.sent()
	c.receive(frame(frameReset, 0, 1, number(0)...))
	c.wantSent()
}

// TestClosed: all streams are reset, and calls have no effect afterwards.
func TestClosed(t *testing.T) {
	t.Parallel()
	r := newClientRig(t, nil)
	r.rec.keep = true
	s := r.open("POST", false)
	idle := r.conn.Open()
	s.Write(make([]byte, 100<<10), false)
	if s.Queued() == 0 {
		t.Error("nothing is queued")
	}
	r.conn.Closed(errors.New("test"))
	r.wantCalls("0 reset CANCEL, remote false, refused true", "1 reset CANCEL, remote false, refused false")
	r.sent()
	s.Write([]byte("a"), true)
	s.Consumed(1)
	e := s.BeginHeaders()
	e.FieldString("a", "b")
	e.End(true)
	s.Reset(Cancel)
	s.Release()
	idle.Release()
	r.conn.Flush()
	r.conn.Ping()
	r.conn.GoAway(NoError)
	r.conn.Closed(nil)
	if r.out.size != 0 || s.Queued() != 0 || r.conn.Open() != nil || r.conn.Streams() != 0 {
		t.Errorf("%d bytes written, %d queued, %d streams", r.out.size, s.Queued(), r.conn.Streams())
	}
}

// TestPing: the acknowledgement has the payload of the PING.
func TestPing(t *testing.T) {
	t.Parallel()
	r := newServerRig(t, nil)
	r.receive(frame(framePing, 0, 0, []byte("01234567")...))
	r.conn.Ping()
	r.wantSent(`PING "01234567", ack true`, `PING "ferry\x00\x00\x00", ack false`)
	if !r.conn.PongAwaited() {
		t.Error("no acknowledgement is awaited")
	}
	r.receive(frame(framePing, flagAck, 0, []byte("ferry\x00\x00\x00")...))
	if r.conn.PongAwaited() {
		t.Error("an acknowledgement is awaited")
	}
}
