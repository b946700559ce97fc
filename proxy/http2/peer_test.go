package http2

import (
	"net"
	"testing"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/proxy/proxytest"

	wire "example.com/ferry/protocol/http2"
)

// peer is a client of HTTP/2 that the test drives frame by frame. It reads only within until.
type peer struct {
	tb     testing.TB
	conn   net.Conn
	h2     *wire.Conn
	out    []byte
	unread []byte
	goAway []wire.Code
	last   uint32
	ended  error // the error of the last read
	failed error // the error of Receive
	slow   bool  // do not give back windows
}

// exchangeOf is what a peer knows of one of its streams.
type exchangeOf struct {
	interims []int
	status   int
	fields   proxytest.Fields
	body     []byte
	trailers proxytest.Fields
	complete bool
	emptyEnd bool // END_STREAM came in an empty DATA frame
	reset    *wire.StreamError

	sensitive []string // names of fields that no table may index
}

func newPeer(tb testing.TB, addr string) *peer {
	tb.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	p := &peer{tb: tb, conn: conn}
	p.h2 = wire.NewClient(nil, p, p)
	return p
}

// Write queues bytes to send. It is a part of wire.Output.
func (p *peer) Write(b []byte)                       { p.out = append(p.out, b...) }
func (p *peer) WriteShared(_ *bufpool.Buf, b []byte) { p.Write(b) }
func (p *peer) Full() bool                           { return false }
func (*peer) Hold(int)                               {}
func (*peer) Crowded() bool                          { return false }
func (p *peer) Writable(*wire.Stream)                {}
func (p *peer) Sent(*wire.Stream)                    {}
func (p *peer) GoAway(last uint32, code wire.Code)   { p.goAway, p.last = append(p.goAway, code), last }

func (p *peer) Reset(s *wire.Stream, w wire.StreamError) {
	s.User.(*exchangeOf).reset = &w
	s.Release()
}

func (p *peer) Headers(s *wire.Stream, h *wire.Head, end bool) {
	x := s.User.(*exchangeOf)
	x.sensitive = append(x.sensitive, sensitiveFields(h)...)
	switch fields := proxytest.Collect(&trailerFields{h}); {
	case h.Trailers:
		x.trailers = fields
	case h.Status < 200:
		x.interims = append(x.interims, h.Status)
	default:
		x.status, x.fields = h.Status, fields
	}
	p.end(s, end)
}

func (p *peer) Data(s *wire.Stream, b []byte, end bool) {
	x := s.User.(*exchangeOf)
	x.body = append(x.body, b...)
	x.emptyEnd = end && len(b) == 0
	if !p.slow {
		s.Consumed(len(b))
	}
	p.end(s, end)
}

func (p *peer) end(s *wire.Stream, end bool) {
	if end {
		s.User.(*exchangeOf).complete = true
	}
}

// request begins a request. fields alternate names and values; those that begin with a colon replace the default.
func (p *peer) request(method, path string, end bool, fields ...string) (*wire.Stream, *exchangeOf) {
	p.tb.Helper()
	s := p.h2.Open()
	if s == nil {
		p.tb.Fatal("the proxy accepts no stream")
	}
	x := &exchangeOf{}
	s.User = x
	e := s.BeginHeaders()
	e.Method([]byte(method))
	e.Scheme([]byte("http"))
	e.Authority([]byte("a"))
	e.Path([]byte(path))
	for i := 0; i < len(fields); i += 2 {
		e.FieldString(fields[i], fields[i+1])
	}
	e.End(end)
	return s, x
}

// settle waits until both sides know each other's SETTINGS.
func (p *peer) settle() {
	p.tb.Helper()
	p.h2.Ping()
	p.until("the response to PING", func() bool { return !p.h2.PongAwaited() || len(p.goAway) > 0 })
}

// flush sends what is queued.
func (p *peer) flush() {
	p.tb.Helper()
	_ = p.conn.SetWriteDeadline(time.Now().Add(proxytest.Patience))
	if _, err := p.conn.Write(p.out); err != nil && p.ended == nil {
		p.ended = err
	}
	p.out = p.out[:0]
}

// until exchanges bytes with the proxy until is returns true.
func (p *peer) until(what string, is func() bool) {
	p.tb.Helper()
	end := time.Now().Add(proxytest.Patience)
	buf := make([]byte, 64<<10)
	for p.flush(); !is(); p.flush() {
		if p.ended != nil || p.failed != nil {
			p.tb.Fatalf("before %s: %v, %v", what, p.ended, p.failed)
		}
		_ = p.conn.SetReadDeadline(end)
		n, err := p.conn.Read(buf)
		p.ended = err
		p.unread = append(p.unread, buf[:n]...)
		used, failed := p.h2.Receive(p.unread)
		p.unread = p.unread[:copy(p.unread, p.unread[used:])]
		p.failed = failed
	}
}

// over waits until the stream has ended in either way.
func (p *peer) over(x *exchangeOf) {
	p.tb.Helper()
	p.until("the end of the response", func() bool { return x.complete || x.reset != nil })
}

// closed waits until the proxy has ended the connection.
func (p *peer) closed() {
	p.tb.Helper()
	p.until("the end of the connection", func() bool { return p.ended != nil })
}
