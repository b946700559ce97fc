package http1

import (
	"bytes"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/traffic"

	wire "example.com/ferry/protocol/http1"
)

// tunnel joins two connections that have changed to another protocol. The proxy passes the bytes without reading
// them. A tunnel replaces both sides of its request, because the sides need more memory.
type tunnel struct {
	loopState *loopState
	settings  *settings
	pool      *pool
	exchange  exchange.Exchange
	client    tunnelEnd
	server    tunnelEnd
	open      int              // number of ends that are not closed
	entry     *traffic.Entry   // access log entry; nil if the access log does not sample the request
	frames    *exchange.Tunnel // follows the client's frames; nil if the tunnel is no WebSocket
}

// tunnelEnd handles one of the two connections of a tunnel.
type tunnelEnd struct {
	tunnel *tunnel
	conn   *loop.Conn
	other  *tunnelEnd
	client bool
	queued int // queued bytes of both ends when the timer was set
	unsent int // unacknowledged bytes of both ends when the timer last expired; 0 if bytes have moved since
}

var (
	_ loop.Shutdowner      = (*tunnelEnd)(nil)
	_ exchange.TunnelEnder = (*tunnelEnd)(nil)
)

// becomeTunnel makes a tunnel of the two connections of a request. behind is the bytes after the head of the
// response.
func (u *upstreamSide) becomeTunnel(behind []byte) {
	d, ok := u.relay.Downstream().(*downstreamSide)
	if !ok {
		u.malformed() // only HTTP/1.1 clients can ask for an upgrade
		return
	}
	conn, pool := u.conn, u.pool
	x := u.relay.Detach()
	d.loopState.edit = wire.ResponseEdit{Via: d.settings.Via, Fields: d.relay.Route.ResponseEdits, Upgrade: true}
	d.writeHead(wire.AppendResponse(d.loopState.scratch[:0], u.responseHead.data, u.responseHead.head, &d.loopState.edit))
	x.Out = d.relay.Out
	d.client.StopTimer(idleTimer)
	t := &tunnel{loopState: d.loopState, settings: d.settings, pool: pool, exchange: x, open: 2}
	if t.settings.plan.Log != nil {
		t.keepEntry(d)
	}
	if d.relay.WebSocket() {
		t.frames = &exchange.Tunnel{}
	}
	t.client = tunnelEnd{tunnel: t, conn: d.client, other: &t.server, client: true}
	t.server = tunnelEnd{tunnel: t, conn: conn, other: &t.client}
	t.client.conn.SetHandler(&t.client)
	t.server.conn.SetHandler(&t.server)
	t.server.Data(conn, behind)
	if d.halfClosed {
		conn.CloseWrite()
	}
	resume(t.client.conn)
	u.release()
	d.release()
}

// keepEntry copies the request's data for the access log.
func (t *tunnel) keepEntry(d *downstreamSide) {
	d.useReplayHead()
	e := exchange.NewEntry(&d.requestHead, d.ClientAddr(), 101)
	for _, view := range []*[]byte{&e.Method, &e.Host, &e.Path, &e.Trace} {
		*view = bytes.Clone(*view)
	}
	t.entry = &e
}

// Opened does nothing: both connections are open.
func (e *tunnelEnd) Opened(*loop.Conn) {}

// Data passes bytes to the other end.
func (e *tunnelEnd) Data(c *loop.Conn, p []byte) int {
	frames := e.tunnel.frames
	switch {
	case !e.client || frames == nil:
		e.other.conn.Write(p)
	case frames.Pass(p):
		e.other.conn.Write(p)
		e.tunnel.close()
	}
	if e.client {
		e.tunnel.exchange.In += int64(len(p))
	} else {
		e.tunnel.exchange.Out += int64(len(p))
	}
	if e.other.conn.Full() {
		c.PauseReading()
	}
	e.tunnel.restartTimer()
	return len(p)
}

// Drained resumes reading from the other end.
func (e *tunnelEnd) Drained(*loop.Conn) {
	e.other.conn.ResumeReading()
	e.tunnel.restartTimer()
}

// HalfClosed closes the write side of the other end.
func (e *tunnelEnd) HalfClosed(*loop.Conn) { e.other.conn.CloseWrite() }

// Timer closes a tunnel in which no byte has moved for BodyTimeout.
func (e *tunnelEnd) Timer(*loop.Conn, int) {
	switch unsent := e.tunnel.unsent(); {
	case e.tunnel.queued() != e.queued:
		e.startTimer()
	case unsent > 0 && (e.unsent == 0 || unsent < e.unsent):
		e.unsent = unsent
		setTimer(e.conn, moveTimer, e.tunnel.settings.BodyTimeout)
	default:
		e.conn.Close()
		e.other.conn.Close()
	}
}

// Shutdown lets the bytes of the tunnel go on until one of its ends closes it, or EndTunnels does.
func (e *tunnelEnd) Shutdown(*loop.Conn) {}

// EndTunnels ends a WebSocket by a Close frame to the server, between two messages of the client. Another tunnel goes on: the proxy cannot tell where a
// message ends.
func (e *tunnelEnd) EndTunnels() {
	if e.tunnel.frames != nil {
		e.tunnel.frames.End()
		e.tunnel.close()
	}
}

// close sends the server a Close frame, if it is time for that.
func (t *tunnel) close() {
	if frame := t.frames.Close(); frame != nil {
		t.server.conn.Write(frame)
	}
}

// Closed closes the other end too.
func (e *tunnelEnd) Closed(c *loop.Conn, err error) {
	t := e.tunnel
	if err != nil {
		e.other.conn.Abort(err)
	} else {
		e.other.conn.CloseWrite()
		e.other.startTimer()
	}
	if t.open--; t.open == 0 {
		if code := traffic.HTTP(101); t.entry != nil && t.exchange.Logs(code) {
			t.exchange.Log(t.entry, code)
		}
		t.exchange.End(traffic.HTTP(101))
	}
	if e.client {
		t.loopState.closed(c)
	} else {
		t.pool.closed()
	}
}

// startTimer starts the timer. Bytes have to move before it expires.
func (e *tunnelEnd) startTimer() {
	e.queued, e.unsent = e.tunnel.queued(), 0
	setTimer(e.conn, moveTimer, e.tunnel.settings.BodyTimeout)
}

// restartTimer restarts the timer of the tunnel. The client's connection has the timer until it is closed.
func (t *tunnel) restartTimer() { t.client.startTimer() }

// queued returns the number of bytes queued for both ends.
func (t *tunnel) queued() int { return t.client.conn.Queued() + t.server.conn.Queued() }

// unsent returns the number of bytes that the two ends have not acknowledged.
func (t *tunnel) unsent() int { return t.client.conn.Unsent() + t.server.conn.Unsent() }
