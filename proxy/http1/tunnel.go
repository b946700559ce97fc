package http1

import (
	"bytes"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"

	wire "example.com/ferry/protocol/http1"
)

// tunnel is two connections that have changed to a protocol the proxy does not look into.
type tunnel struct {
	share *share
	rules *rules
	pool  *pool
	x     exchange.Exchange
	down  side           // the client's connection
	up    side           // the server's
	open  int            // sides
	entry *traffic.Entry // for the access log; nil if there is none
}

// side is a tunnel as the handler of one of its connections.
type side struct {
	tunnel *tunnel
	conn   *loop.Conn
	other  *side
	client bool
	queued int // when the timer was set
	unsent int // when the timer last went off; 0 if it has not since bytes moved
}

var _ loop.Shutdowner = (*side)(nil)

// change makes a tunnel of the session's connections: head is the answer that says so, rest what has come behind it.
func (s *session) change(head, rest []byte) {
	s.x.Answered(upstream.Success)
	s.share.response = wire.ResponseEdit{Via: s.rules.Via, Fields: s.x.Route.ResponseEdits.HTTP1(), Upgrade: true}
	s.write(wire.AppendResponse(s.share.scratch[:0], head, &s.answer, &s.share.response))
	for which := range loop.Timers {
		s.client.StopTimer(which)
	}
	t := &tunnel{share: s.share, rules: s.rules, pool: s.pool, x: s.x, open: 2}
	if t.rules.plan.Log != nil {
		t.entry = &traffic.Entry{}
		*t.entry = s.logEntry(101)
		for _, view := range []*[]byte{&t.entry.Method, &t.entry.Host, &t.entry.Path, &t.entry.Trace} {
			*view = bytes.Clone(*view)
		}
	}
	t.down = side{tunnel: t, conn: s.client, other: &t.up, client: true}
	t.up = side{tunnel: t, conn: s.up, other: &t.down}
	t.down.conn.SetHandler(&t.down)
	t.up.conn.SetHandler(&t.up)
	t.up.Data(t.up.conn, rest)
	if s.ended {
		t.up.conn.CloseWrite()
	}
	resume(t.down.conn)
	s.release()
}

// Opened does nothing: both connections are open.
func (d *side) Opened(*loop.Conn) {}

// Data passes bytes on to the other side.
func (d *side) Data(c *loop.Conn, p []byte) int {
	d.other.conn.Write(p)
	if d.client {
		d.tunnel.x.In += int64(len(p))
	} else {
		d.tunnel.x.Out += int64(len(p))
	}
	if d.other.conn.Full() {
		c.PauseReading()
	}
	d.tunnel.move()
	return len(p)
}

// Drained has the other side go on.
func (d *side) Drained(*loop.Conn) {
	d.other.conn.ResumeReading()
	d.tunnel.move()
}

// HalfClosed ends what is sent to the other side.
func (d *side) HalfClosed(*loop.Conn) { d.other.conn.CloseWrite() }

// Timer closes a tunnel in which nothing moves.
func (d *side) Timer(*loop.Conn, int) {
	switch unsent := d.tunnel.unsent(); {
	case d.tunnel.queued() != d.queued:
		d.wait()
	case unsent > 0 && (d.unsent == 0 || unsent < d.unsent):
		d.unsent = unsent
		setTimer(d.conn, moveTimer, d.tunnel.rules.BodyTimeout)
	default:
		d.Shutdown(nil)
	}
}

// Shutdown closes both sides behind what is queued: nobody can tell where a message of theirs ends.
func (d *side) Shutdown(*loop.Conn) {
	d.conn.Close()
	d.other.conn.Close()
}

// Closed ends the other side too.
func (d *side) Closed(c *loop.Conn, err error) {
	t := d.tunnel
	if err != nil {
		d.other.conn.Abort(err)
	} else {
		d.other.conn.CloseWrite()
		d.other.wait()
	}
	if t.open--; t.open == 0 {
		if code := traffic.HTTP(101); t.entry != nil && t.x.Logs(code) {
			t.x.Log(t.entry, code)
		}
		t.x.End(traffic.HTTP(101))
	}
	if d.client {
		t.share.gone(c)
	} else {
		t.pool.gone()
	}
}

// wait begins the time in which bytes have to move.
func (d *side) wait() {
	d.queued, d.unsent = d.tunnel.queued(), 0
	setTimer(d.conn, moveTimer, d.tunnel.rules.BodyTimeout)
}

// move is wait for both: the client's connection has the timer until it is closed.
func (t *tunnel) move() { t.down.wait() }

// queued is how many bytes wait for either side to take them.
func (t *tunnel) queued() int { return t.down.conn.Queued() + t.up.conn.Queued() }

// unsent is how many bytes the two sides have not acknowledged.
func (t *tunnel) unsent() int { return t.down.conn.Unsent() + t.up.conn.Unsent() }
