package http2

import (
	"bytes"
	"testing"
)

// TestSendWindow: DATA waits for the windows of its stream and of the connection, which SETTINGS may make negative.
func TestSendWindow(t *testing.T) {
	t.Parallel()
	r := newClientRig(t, nil, setting(settingInitialWindowSize, 10))
	s := r.open("POST", false)
	s.Write(make([]byte, 30), false)
	r.wantSent("1 HEADERS end false", "1 DATA 10, end false")
	r.receive(frame(frameWindowUpdate, 0, 1, number(5)...))
	r.wantSent("1 DATA 5, end false")
	r.receive(frame(frameSettings, 0, 0, setting(settingInitialWindowSize, 0)...)) // the window is -10
	r.receive(frame(frameWindowUpdate, 0, 1, number(10)...))
	r.wantSent("SETTINGS ack")
	r.receive(frame(frameWindowUpdate, 0, 1, number(1)...))
	r.wantSent("1 DATA 1, end false")
	s.Write(nil, true)
	r.wantSent()
	r.receive(frame(frameSettings, 0, 0, setting(settingInitialWindowSize, 100)...))
	r.wantSent("SETTINGS ack", "1 DATA 14, end true")
	r.wantCalls("1 sent")

	s = r.open("POST", false)
	s.Write(nil, true)
	r.wantSent("3 HEADERS end false", "3 DATA 0, end true")

	s = r.open("POST", false)
	s.Write(make([]byte, 100), false)
	r.receive(frame(frameSettings, 0, 0, setting(settingInitialWindowSize, 0)...))
	s.Write(nil, true) // needs no window
	r.wantSent("5 HEADERS end false", "5 DATA 100, end false", "SETTINGS ack", "5 DATA 0, end true")
}

// TestDataWaitsForSettings: a client sends no DATA before the server's first SETTINGS, which may allow less than the default window.
// What needs no window leaves at once.
func TestDataWaitsForSettings(t *testing.T) {
	t.Parallel()
	r := &rig{t: t, rec: newRecorder(), out: &memoryOutput{}}
	r.conn = NewClient(nil, r.rec, r.out)
	r.out.take(len(preface))
	r.open("POST", false).Write(make([]byte, 30), true)
	r.open("POST", false).Write(nil, true)
	r.wantSent("SETTINGS", "0 WINDOW_UPDATE 983041", "1 HEADERS end false", "3 HEADERS end false", "3 DATA 0, end true")
	r.receive(frame(frameSettings, 0, 0, setting(settingInitialWindowSize, 10)...))
	r.wantSent("SETTINGS ack", "1 DATA 10, end false")
	r.receive(frame(frameWindowUpdate, 0, 1, number(20)...))
	r.wantSent("1 DATA 20, end true")
	r.wantCalls("1 sent")
}

// TestConnectionWindow: the streams share the connection's window in turn, a frame at a time. Frames without DATA overtake.
func TestConnectionWindow(t *testing.T) {
	t.Parallel()
	r := newClientRig(t, nil, setting(settingInitialWindowSize, maxWindow))
	a, b := r.open("POST", false), r.open("POST", false)
	a.Write(make([]byte, 100_000), true)
	b.Write(make([]byte, 40_000), false)
	e := b.BeginHeaders()
	e.FieldString("x", "trailers wait")
	e.End(true)
	r.open("GET", true)
	r.wantSent("1 HEADERS end false", "3 HEADERS end false", "1 DATA 16384, end false", "1 DATA 16384, end false",
		"1 DATA 16384, end false", "1 DATA 16383, end false", "5 HEADERS end true")
	if !a.Full() && a.Queued() != 100_000-initialWindow || b.Full() {
		t.Errorf("%d and %d bytes are queued, full: %v, %v", a.Queued(), b.Queued(), a.Full(), b.Full())
	}
	r.receive(frame(frameWindowUpdate, 0, 0, number(50_000)...))
	r.wantSent("1 DATA 16384, end false", "3 DATA 16384, end false", "1 DATA 16384, end false", "3 DATA 848, end false")
	r.receive(frame(frameWindowUpdate, 0, 0, number(1_000_000)...))
	r.wantSent("1 DATA 1697, end true", "3 DATA 16384, end false", "3 DATA 6384, end false", "3 HEADERS end true")
	r.wantCalls("1 sent", "3 sent")
}

// TestLeastStreamWindow: a window of one byte is given back byte by byte, and never with WINDOW_UPDATE of 0.
func TestLeastStreamWindow(t *testing.T) {
	t.Parallel()
	r := newServerRig(t, &Config{StreamWindow: 1})
	r.receive(post(1), frame(frameData, 0, 1, 'x'), frame(frameData, 0, 1, 'y'))
	r.wantSent("1 WINDOW_UPDATE 1", "1 WINDOW_UPDATE 1")
}

// TestWatermarks: Full and Writable follow the stream's queue.
func TestWatermarks(t *testing.T) {
	t.Parallel()
	r := newClientRig(t, &Config{QueuePerStream: 1000 << 2}, setting(settingInitialWindowSize, 0))
	s := r.open("POST", false)
	s.Write(make([]byte, 3999), false)
	if s.Full() {
		t.Error("full below the high watermark")
	}
	s.Write(make([]byte, 1), false)
	if !s.Full() || s.Queued() != 4000 {
		t.Error("not full at the high watermark")
	}
	r.receive(frame(frameWindowUpdate, 0, 1, number(1999)...))
	r.wantCalls()
	r.receive(frame(frameWindowUpdate, 0, 1, number(1)...))
	r.wantCalls("1 writable")
	if s.Full() {
		t.Error("full at the low watermark")
	}
}

// TestCrowdedOutput: while Output is crowded, a stream's queue is full at 4 KiB. Output counts the memory of the queues.
func TestCrowdedOutput(t *testing.T) {
	t.Parallel()
	r := newClientRig(t, nil, setting(settingInitialWindowSize, 0))
	a, b := r.open("POST", false), r.open("POST", false)
	a.Write(make([]byte, 5000), false)
	b.Write(make([]byte, 5000), false)
	if a.Full() || r.out.held != 2*8192 {
		t.Errorf("full: %v, %d bytes are counted", a.Full(), r.out.held)
	}
	r.out.crowded = true
	a.Write(make([]byte, 1), false)
	if !a.Full() || b.Full() {
		t.Errorf("full: %v, %v", a.Full(), b.Full())
	}
	r.receive(frame(frameWindowUpdate, 0, 1, number(2952)...))
	r.wantCalls()
	r.receive(frame(frameWindowUpdate, 0, 1, number(1)...))
	r.wantCalls("1 writable")
	b.Reset(Cancel)
	if r.out.held != 8192 {
		t.Errorf("%d bytes are counted for one queue", r.out.held)
	}
	r.conn.Closed(nil)
	if r.out.held != 0 {
		t.Errorf("%d bytes are counted at the end", r.out.held)
	}
}

// TestQueueMemory: a stream's queue takes at most twice the bytes that it holds, and 512 bytes.
func TestQueueMemory(t *testing.T) {
	t.Parallel()
	for _, piece := range []int{5, 100, 1000, 1024, 1100, 9000, 20_000} {
		r := newClientRig(t, nil, setting(settingInitialWindowSize, 0))
		s := r.open("POST", false)
		for s.Queued() < DefaultQueuePerStream {
			s.Write(make([]byte, piece), false)
			if most := 2*s.Queued() + 512; r.out.held > most {
				t.Fatalf("%d bytes in pieces of %d take %d bytes of memory, want at most %d", s.Queued(), piece, r.out.held, most)
			}
		}
		r.conn.Closed(nil)
	}
}

// TestFullOutput: DATA waits for Output in the streams' queues, and control frames do not.
func TestFullOutput(t *testing.T) {
	t.Parallel()
	r := newClientRig(t, nil)
	r.out.highWater = 1000
	s := r.open("POST", false)
	s.Write(make([]byte, 1000), false)
	if !r.out.Full() || s.Queued() != 0 {
		t.Fatalf("%d bytes in Output, %d in the queue", r.out.size, s.Queued())
	}
	s.Write(make([]byte, 10), true)
	r.conn.Flush()
	r.conn.Ping()
	r.wantSent("1 HEADERS end false", "1 DATA 1000, end false", `PING "ferry\x00\x00\x00", ack false`)
	r.conn.Flush()
	r.wantSent("1 DATA 10, end true")
}

// TestReceiveWindows: a stream's window is given back as the driver consumes, the connection's at once.
func TestReceiveWindows(t *testing.T) {
	t.Parallel()
	r := newServerRig(t, &Config{StreamWindow: 1000, ConnWindow: initialWindow})
	r.rec.keep = true
	h := &lazyConsumer{recorder: r.rec}
	r.conn.handler = h
	r.receive(post(1), post(3))
	data := func(stream uint32, n int) []byte { return frame(frameData, 0, stream, make([]byte, n)...) }
	r.receive(data(1, 1000), data(3, 600))
	r.wantSent()
	r.rec.streams[1].Consumed(499)
	r.wantSent()
	r.rec.streams[1].Consumed(2)
	r.wantSent("1 WINDOW_UPDATE 501")
	r.rec.streams[1].Consumed(10_000) // only 499 are lent
	r.receive(data(1, 501))
	r.receive(data(1, 1))
	r.wantSent("1 RST FLOW_CONTROL_ERROR")
	r.wantCalls("1 POST /, end false", "3 POST /, end false", "1 reset FLOW_CONTROL_ERROR, remote false, refused false")
	r.rec.streams[1].Consumed(100)
	r.rec.streams[1].Release()
	r.wantSent()

	// Padding counts for both windows, and is consumed at once.
	r.receive(frame(frameData, flagPadded, 3, append([]byte{200}, make([]byte, 399)...)...))
	if s := r.rec.streams[3]; s.recvWindow != 0 || s.lent != 799 || s.unacked != 201 {
		t.Errorf("window %d, lent %d, to give back %d", s.recvWindow, s.lent, s.unacked)
	}
	// Half of the connection's window is given back without the driver.
	for i := range 40 {
		r.receive(post(uint32(5+2*i)), data(uint32(5+2*i), 1000))
	}
	if got := r.sent(); len(got) != 1 || got[0] != "0 WINDOW_UPDATE 33502" {
		t.Errorf("sent %q", got)
	}
}

// lazyConsumer consumes nothing by itself.
type lazyConsumer struct{ *recorder }

func (l *lazyConsumer) Data(*Stream, []byte, bool) {}

// TestSettingsBeforeAck: until the peer has acknowledged a smaller window or table, it may use the defaults.
func TestSettingsBeforeAck(t *testing.T) {
	t.Parallel()
	r := &rig{t: t, rec: newRecorder(), out: &memoryOutput{}}
	r.rec.keep = true
	h := &lazyConsumer{recorder: r.rec}
	r.conn = NewServer(&Config{StreamWindow: 1000, HeaderTable: 60}, h, r.out)
	fill := indexedBlockOf("x-one: 1234567890", "x-two: 1234567890")
	r.receive(clientStart(), frame(frameHeaders, flagEndHeaders, 1, append(fieldBlockOf(postLines...), fill...)...))
	r.receive(frame(frameData, 0, 1, make([]byte, 3000)...))
	r.sent()
	r.receive(frame(frameSettings, flagAck, 0))
	if got := r.rec.streams[1].recvWindow; got != 1000-3000 {
		t.Errorf("the window is %d, want -2000", got)
	}
	r.receive(frame(frameHeaders, flagEndHeaders, 3, append([]byte{0x3f, 29}, fieldBlockOf(postLines...)...)...))
	if got := r.conn.decoder.table; got.size != 47 || got.max != 60 {
		t.Errorf("the table has %d of %d bytes", got.size, got.max)
	}
	for name, block := range map[string][]byte{"no update": {0x82}, "too large": {0x3f, 30, 0x82}} {
		r := &rig{t: t, rec: newRecorder(), out: &memoryOutput{}}
		r.conn = NewServer(&Config{HeaderTable: 60}, r.rec, r.out)
		r.receive(clientStart(), frame(frameSettings, flagAck, 0))
		if _, err := r.conn.Receive(frame(frameHeaders, flagEndHeaders, 1, block...)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestPeerTable: the encoder keeps to the peer's table, and says so at the beginning of the next block. Trailers that waited do, too.
func TestPeerTable(t *testing.T) {
	t.Parallel()
	r := newClientRig(t, nil)
	d, cfg := newDecoder(4096)
	d.table.limit = 4096
	decode := func() *Head {
		t.Helper()
		var h *Head
		scan := frameScanner{each: func(f frameHeader, p []byte) {
			if f.kind == frameHeaders {
				var reason string
				if _, h, reason = fieldLines(d, cfg, p, trailersBlock); reason != "" {
					t.Fatal(reason)
				}
			}
		}}
		scan.write(r.out.take(r.out.size))
		return h
	}
	write := func(s *Stream, value string) {
		e := s.BeginHeaders()
		e.FieldString("user-agent", value)
		e.FieldString("server", value)
		e.End(false)
	}
	s := r.conn.Open()
	write(s, "first")
	decode()
	if d.table.count != 2 {
		t.Fatalf("%d entries, want 2", d.table.count)
	}
	s.Write(make([]byte, initialWindow+1), false)
	write(s, "waits") // trailers behind a byte
	r.receive(frame(frameSettings, 0, 0, append(setting(settingHeaderTableSize, 0), setting(settingHeaderTableSize, 60)...)...))
	d.setLimit(60)
	r.sent()
	r.receive(frame(frameWindowUpdate, 0, 1, number(1)...), frame(frameWindowUpdate, 0, 0, number(1)...))
	if h := decode(); string(h.Get("server")) != "waits" || d.table.count != 0 || d.table.max != 60 {
		t.Errorf("%q, %d entries, %d bytes", h.Get("server"), d.table.count, d.table.max)
	}
	for i := range 3 {
		write(r.conn.Open(), "next")
		if h := decode(); string(h.Get("user-agent")) != "next" || string(h.Get("server")) != "next" || d.table.size > 60 {
			t.Errorf("block %d: %q, %q, %d bytes", i, h.Get("user-agent"), h.Get("server"), d.table.size)
		}
	}
}

// TestSharedBuffers: DATA that waited leaves in the queue's buffers, which stay unchanged while Output holds them.
func TestSharedBuffers(t *testing.T) {
	t.Parallel()
	r := newClientRig(t, nil, setting(settingInitialWindowSize, 0))
	s := r.open("POST", false)
	r.sent()
	var want []byte
	for i := range 300 {
		p := bytes.Repeat([]byte{byte(i)}, 150)
		want = append(want, p...)
		s.Write(p, i == 299)
		if i%7 == 0 {
			r.receive(frame(frameWindowUpdate, 0, 1, number(1024)...))
		}
	}
	r.receive(frame(frameWindowUpdate, 0, 1, number(1<<20)...))
	shared := 0
	for _, part := range r.out.parts {
		if part.b != nil {
			shared += len(part.p)
		}
	}
	var got []byte
	scan := frameScanner{each: func(_ frameHeader, p []byte) { got = append(got, p...) }}
	scan.write(r.out.take(r.out.size))
	if !bytes.Equal(got, want) || shared == 0 {
		t.Errorf("%d bytes, equal: %v, shared %d", len(got), bytes.Equal(got, want), shared)
	}
}
