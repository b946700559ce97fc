package http2

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"example.com/ferry/internal/bufpool"
)

// memoryOutput keeps the written bytes until the test delivers them. Shared bytes are copied only then.
type memoryOutput struct {
	parts     []outputPart
	size      int
	highWater int
	held      int // memory of the streams' queues
	crowded   bool
	account   *windowAccount // nil: the windows are not checked
}

type outputPart struct {
	p []byte
	b *bufpool.Buf // nil: p is a copy
}

func (o *memoryOutput) Write(p []byte) {
	o.parts = append(o.parts, outputPart{p: append([]byte(nil), p...)})
	o.size += len(p)
	if o.account != nil {
		o.account.sent.write(p)
	}
}

func (o *memoryOutput) WriteShared(b *bufpool.Buf, p []byte) {
	b.Retain()
	o.parts = append(o.parts, outputPart{p, b})
	o.size += len(p)
	if o.account != nil {
		o.account.sent.write(p)
	}
}

func (o *memoryOutput) Full() bool { return o.highWater > 0 && o.size >= o.highWater }
func (o *memoryOutput) Hold(n int) { o.held += n }

func (o *memoryOutput) Crowded() bool { return o.crowded }

// take removes up to n bytes.
func (o *memoryOutput) take(n int) (out []byte) {
	for n > 0 && len(o.parts) > 0 {
		part := &o.parts[0]
		k := min(n, len(part.p))
		out = append(out, part.p[:k]...)
		part.p = part.p[k:]
		n -= k
		o.size -= k
		if len(part.p) == 0 {
			if part.b != nil {
				part.b.Release()
			}
			o.parts = o.parts[1:]
		}
	}
	return out
}

// frameScanner calls each for every frame of a stream of bytes.
type frameScanner struct {
	skip int // bytes before the first frame
	buf  []byte
	each func(h frameHeader, payload []byte)
}

func (f *frameScanner) write(p []byte) {
	n := min(f.skip, len(p))
	f.skip -= n
	f.buf = append(f.buf, p[n:]...)
	for len(f.buf) >= frameHeaderSize {
		h := parseFrameHeader(f.buf)
		if len(f.buf) < frameHeaderSize+h.length {
			return
		}
		f.each(h, f.buf[frameHeaderSize:frameHeaderSize+h.length])
		f.buf = f.buf[frameHeaderSize+h.length:]
	}
}

// windowAccount computes the send windows of one side anew, from the frames that it has received and sent.
type windowAccount struct {
	sent, received frameScanner
	conn           int
	initial        int
	streams        map[uint32]int
}

func newWindowAccount(t *testing.T) *windowAccount {
	a := &windowAccount{conn: initialWindow, initial: initialWindow, streams: make(map[uint32]int)}
	a.sent.each = func(h frameHeader, _ []byte) {
		if h.kind != frameData || h.length == 0 {
			return
		}
		window, ok := a.streams[h.stream]
		if !ok {
			window = a.initial
		}
		a.conn -= h.length
		a.streams[h.stream] = window - h.length
		if a.conn < 0 || window < h.length {
			t.Fatalf("a DATA frame of %d bytes leaves the windows %d and %d", h.length, a.conn, window-h.length)
		}
	}
	a.received.each = func(h frameHeader, p []byte) {
		switch {
		case h.kind == frameHeaders: // a stream opens with the initial window of that time
			if _, ok := a.streams[h.stream]; !ok {
				a.streams[h.stream] = a.initial
			}
		case h.kind == frameWindowUpdate && h.stream == 0:
			a.conn += int(binary.BigEndian.Uint32(p))
		case h.kind == frameWindowUpdate:
			if _, ok := a.streams[h.stream]; !ok {
				a.streams[h.stream] = a.initial
			}
			a.streams[h.stream] += int(binary.BigEndian.Uint32(p))
		case h.kind == frameSettings:
			for ; len(p) > 0; p = p[settingSize:] {
				if binary.BigEndian.Uint16(p) == settingInitialWindowSize {
					value := int(binary.BigEndian.Uint32(p[2:]))
					for id := range a.streams {
						a.streams[id] += value - a.initial
					}
					a.initial = value
				}
			}
		}
	}
	return a
}

// actor is one side of the model: it sends bodies whose bytes depend on the stream and the offset, and checks those it receives.
type actor struct {
	t       *testing.T
	rnd     *rand.Rand
	conn    *Conn
	out     *memoryOutput
	unread  []byte // received and not consumed by Receive
	streams []*modelStream
	lost    map[uint32]bool // tags of requests that either side has reset
	done    map[uint32]bool // tags of requests that this side has seen complete
}

type modelStream struct {
	s              *Stream
	tag            uint32
	started        bool // the head is sent
	toSend, sent   int
	trailers       bool
	received, owed int
	expected       int
	peerEnded      bool
}

func bodyByte(tag uint32, response bool, at int) byte {
	b := byte(tag)*31 + byte(at)*7 + byte(at>>8)
	if response {
		b = ^b
	}
	return b
}

func (a *actor) Headers(s *Stream, h *Head, end bool) {
	m, _ := s.User.(*modelStream)
	if h.Trailers {
		if string(h.Get("x-checksum")) != fmt.Sprint(m.received) || !end {
			a.t.Fatalf("trailers %q after %d bytes, end %v", h.Get("x-checksum"), m.received, end)
		}
		a.peerEnded(m)
		return
	}
	if !a.conn.client {
		m = &modelStream{s: s, toSend: a.rnd.IntN(100_000), trailers: a.rnd.IntN(3) == 0}
		_, _ = fmt.Sscanf(string(h.Path), "/%d", &m.tag)
		s.User = m
		a.streams = append(a.streams, m)
	}
	if h.Status == 103 {
		return
	}
	if _, err := fmt.Sscan(string(h.Get("x-length")), &m.expected); err != nil {
		a.t.Fatalf("x-length %q: %v", h.Get("x-length"), err)
	}
	if end {
		a.peerEnded(m)
	}
}

func (a *actor) Data(s *Stream, p []byte, end bool) {
	m := s.User.(*modelStream)
	for i, c := range p {
		if want := bodyByte(m.tag, a.conn.client, m.received+i); c != want {
			a.t.Fatalf("request %d: byte %d is %#x, want %#x", m.tag, m.received+i, c, want)
		}
	}
	m.received += len(p)
	m.owed += len(p)
	if end {
		a.peerEnded(m)
	}
}

func (a *actor) peerEnded(m *modelStream) {
	if m.received != m.expected {
		a.t.Fatalf("request %d: %d bytes, want %d", m.tag, m.received, m.expected)
	}
	m.peerEnded = true
}

func (a *actor) Reset(s *Stream, why StreamError) {
	m := s.User.(*modelStream)
	if !why.Remote {
		a.t.Fatalf("request %d: %v", m.tag, why)
	}
	a.lost[m.tag] = true
	a.remove(m)
}

func (a *actor) Writable(s *Stream) {
	if s.Full() || s.Ended() {
		a.t.Fatal("Writable for a stream that is full or ended")
	}
}

func (a *actor) Sent(s *Stream) {
	if s.Queued() > 0 || s.canSend() {
		a.t.Fatal("Sent for a stream whose end is not sent")
	}
}

func (a *actor) GoAway(uint32, Code) {}

func (a *actor) remove(m *modelStream) {
	m.s.Release()
	for i, each := range a.streams {
		if each == m {
			a.streams = append(a.streams[:i], a.streams[i+1:]...)
			return
		}
	}
}

// begin writes the head of a request or response.
func (a *actor) begin(m *modelStream) {
	e := m.s.BeginHeaders()
	if a.conn.client {
		e.Method([]byte("POST"))
		e.Scheme([]byte("http"))
		e.Authority([]byte("model"))
		e.Path(fmt.Appendf(nil, "/%d", m.tag))
	} else {
		if a.rnd.IntN(4) == 0 {
			e.Status(103)
			e.End(false)
			e = m.s.BeginHeaders()
		}
		e.Status(200 + a.rnd.IntN(3))
	}
	e.FieldString("x-length", fmt.Sprint(m.toSend))
	e.FieldString("user-agent", fmt.Sprint("agent ", a.rnd.IntN(3)))
	if a.rnd.IntN(50) == 0 {
		e.FieldString("x-large", string(make20k))
	}
	e.End(m.toSend == 0 && !m.trailers)
	m.started = true
}

var make20k = func() []byte {
	b := make([]byte, 20<<10)
	for i := range b {
		b[i] = 'x'
	}
	return b
}()

// write sends a piece of a body, or the trailers.
func (a *actor) write(m *modelStream, most int) {
	if !m.started {
		a.begin(m)
		return
	}
	if m.s.Full() || m.sent == m.toSend && !m.trailers {
		return
	}
	p := make([]byte, min(most, m.toSend-m.sent))
	for i := range p {
		p[i] = bodyByte(m.tag, !a.conn.client, m.sent+i)
	}
	m.sent += len(p)
	m.s.Write(p, m.sent == m.toSend && !m.trailers)
	if m.sent == m.toSend && m.trailers {
		m.trailers = false
		e := m.s.BeginHeaders()
		e.FieldString("x-checksum", fmt.Sprint(m.sent))
		e.FieldString("server", "trailers are never indexed when they wait")
		e.End(true)
	}
}

// finished releases a stream that both sides have ended.
func (a *actor) finished(m *modelStream) {
	if m.peerEnded && m.started && m.sent == m.toSend && !m.trailers {
		a.done[m.tag] = true
		a.remove(m)
	}
}

func (a *actor) receive(p []byte) {
	if len(p) == 0 {
		return
	}
	a.out.account.received.write(p)
	a.unread = append(a.unread, p...)
	n, err := a.conn.Receive(a.unread)
	if err != nil {
		a.t.Fatalf("client %v: %v", a.conn.client, err)
	}
	a.unread = append([]byte(nil), a.unread[n:]...)
}

// act does one random thing.
func (a *actor) act(peer *actor, nextTag *uint32) {
	var m *modelStream
	if len(a.streams) > 0 {
		m = a.streams[a.rnd.IntN(len(a.streams))]
	}
	switch n := a.rnd.IntN(100); {
	case n < 15 && a.conn.client && a.conn.CanOpen() && len(a.streams) < 40:
		*nextTag++
		m = &modelStream{s: a.conn.Open(), tag: *nextTag, toSend: a.rnd.IntN(3) * a.rnd.IntN(50_000), trailers: a.rnd.IntN(4) == 0}
		m.s.User = m
		a.streams = append(a.streams, m)
	case n < 50 && m != nil:
		a.write(m, 1+a.rnd.IntN(30_000))
		a.finished(m)
	case n < 60 && m != nil:
		k := a.rnd.IntN(m.owed + 1)
		m.s.Consumed(k)
		m.owed -= k
	case n < 62 && m != nil:
		a.lost[m.tag] = true
		m.s.Reset(Cancel)
		a.remove(m)
	case n < 63:
		a.inject(a.rnd.IntN(2) * a.rnd.IntN(a.conn.cfg.StreamWindow))
	case n < 64 && a.rnd.IntN(8) == 0:
		a.conn.Ping()
	case n < 66:
		a.conn.Tick()
	case n < 70:
		a.conn.Flush()
	default:
		peer.receive(a.out.take(1 + a.rnd.IntN(1<<a.rnd.IntN(17))))
		if !a.out.Full() {
			a.conn.Flush()
		}
	}
}

// inject sends a change of the initial window. It is never larger than the window that the Conn accepts.
func (a *actor) inject(window int) {
	p := make([]byte, frameHeaderSize, 16)
	p = appendSetting(p, settingInitialWindowSize, uint32(window))
	putFrameHeader(p, settingSize, frameSettings, 0, 0)
	a.out.Write(p)
}

// TestModel lets a client and a server of this package exchange bodies in random order, cut at random places, with small windows, full
// outputs, changing initial windows and resets. All bodies must arrive whole, unless a side has reset the stream. The windows are
// computed a second time from the frames.
func TestModel(t *testing.T) {
	t.Parallel()
	rounds := 12
	if testing.Short() {
		rounds = 5
	}
	complete := 0
	for seed := range uint64(rounds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { complete += runModel(t, seed) })
	}
	if complete < 10*rounds {
		t.Errorf("%d requests were complete in %d rounds: the model tests too little", complete, rounds)
	}
}

// runModel returns the number of requests that were complete.
func runModel(t *testing.T, seed uint64) (complete int) {
	rnd := rand.New(rand.NewPCG(seed, 12))
	cfg := &Config{
		MaxStreams: 1 + rnd.IntN(50), StreamWindow: 1 + rnd.IntN(100_000), ConnWindow: initialWindow + rnd.IntN(100_000),
		QueuePerStream: 1<<10 + rnd.IntN(50_000), HeaderTable: rnd.IntN(3)*1000 - 1, AbuseBudget: 1 << 20,
		MaxHeader: 64 << 10,
	}
	lost := make(map[uint32]bool)
	side := func() *actor {
		return &actor{
			t: t, rnd: rnd, lost: lost, done: make(map[uint32]bool),
			out: &memoryOutput{highWater: 1 << (8 + rnd.IntN(9)), account: newWindowAccount(t)},
		}
	}
	client, server := side(), side()
	client.out.account.sent.skip = len(preface)
	server.out.account.received.skip = len(preface)
	client.conn, server.conn = NewClient(cfg, client, client.out), NewServer(cfg, server, server.out)
	tag := uint32(0)
	for range 4000 {
		client.out.crowded, server.out.crowded = rnd.IntN(4) == 0, rnd.IntN(4) == 0
		if rnd.IntN(2) == 0 {
			client.act(server, &tag)
		} else {
			server.act(client, &tag)
		}
	}
	client.inject(cfg.StreamWindow)
	server.inject(cfg.StreamWindow)
	for round := 0; len(client.streams)+len(server.streams) > 0 || client.out.size+server.out.size > 0; round++ {
		if round == 10_000 {
			t.Fatalf("%d and %d streams do not end", len(client.streams), len(server.streams))
		}
		for _, a := range []*actor{client, server} {
			for _, m := range append([]*modelStream(nil), a.streams...) {
				a.write(m, 20_000)
				m.s.Consumed(m.owed)
				m.owed = 0
				a.finished(m)
			}
		}
		client.receive(server.out.take(1 << 20))
		server.receive(client.out.take(1 << 20))
		client.conn.Flush()
		server.conn.Flush()
	}
	for n := uint32(1); n <= tag; n++ {
		if !lost[n] {
			complete++
			if !client.done[n] || !server.done[n] {
				t.Errorf("request %d: complete at the client %v, at the server %v", n, client.done[n], server.done[n])
			}
		}
	}
	for _, a := range []*actor{client, server} {
		c := a.conn
		if c.Streams() != 0 || c.streams.all != nil || c.streams.count != 0 || c.ready.first != nil {
			t.Errorf("client %v: %d streams are left", c.client, c.Streams())
		}
		c.Closed(nil)
		if a.out.held != 0 {
			t.Errorf("client %v: %d bytes of queues are counted at the end", c.client, a.out.held)
		}
	}
	return complete
}
