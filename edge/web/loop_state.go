package web

import (
	"crypto/sha256"
	"strconv"
	"time"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/loop"
)

// Bounds of what one loop keeps.
const (
	maxFreeRequests = 1024
	sweepInterval   = 5 * time.Second
)

// loopState is the part of a Server that belongs to one loop. Only that loop uses it, except Notify.
type loopState struct {
	*edge.Loop
	server   *Server
	idle     *idle
	batch    *broker.Batch
	messages []broker.Message // reused by publish
	ends     []int            // offsets behind the messages
	scratch  []byte           // reused by responses
	dateText []byte           // value of the Date field
	dated    time.Duration    // when it was made, as Loop.Now
	clients  map[string]*publisher
	free     []*request
	sweeper  *loop.Timer
	swept    bool // the sweeper is set
}

func newLoopState(s *Server, on *edge.Loop) *loopState {
	ls := &loopState{Loop: on, server: s, batch: broker.NewBatch(s.cfg.Broker), clients: map[string]*publisher{}}
	ls.idle = &idle{ls: ls}
	ls.sweeper = on.NewTimer(ls.sweep)
	return ls
}

// request returns a request for the connection.
func (ls *loopState) request(c *loop.Conn) *request {
	var r *request
	if n := len(ls.free); n > 0 {
		r = ls.free[n-1]
		ls.free = ls.free[:n-1]
	} else {
		r = &request{ls: ls}
	}
	r.conn = c
	return r
}

// publisher returns the client of the broker that publishes for a token, user or certificate. It is shared by the requests of a loop. The
// error is a *native.Error.
func (ls *loopState) publisher(who *credential, c *loop.Conn) (*publisher, error) {
	key := append(strconv.AppendQuote([]byte("token "), who.user), who.secret...) // no token looks like a user or certificate
	if who.proved != nil {
		key = strconv.AppendQuote([]byte("user "), who.user)
		for _, granted := range who.proved.Publish { // another login of the user may have other grants
			key = strconv.AppendQuote(key, granted)
		}
	} else if len(who.secret) == 0 {
		if state := edge.TLSState(c); state != nil && len(state.VerifiedChains) > 0 {
			sum := sha256.Sum256(state.PeerCertificates[0].Raw)
			key = append([]byte("certificate "), sum[:]...)
		}
	}
	if p := ls.clients[string(key)]; p != nil && !p.ended.Load() {
		p.used = ls.Now()
		return p, nil
	}
	p := &publisher{ls: ls, key: string(key), tags: map[string]*tag{}, used: ls.Now()}
	local, err := ls.server.connect(who, c, p)
	if err != nil {
		return nil, err
	}
	p.local = local
	ls.clients[p.key] = p
	ls.sweepLater()
	return p, nil
}

// refused logs that a message of a client is refused.
func (ls *loopState) refused(client *broker.Local, c *loop.Conn, err error) {
	ls.server.MessageRefused(client.Identity().Name, "", edge.Remote(c), err)
}

func (ls *loopState) sweepLater() {
	if !ls.swept {
		ls.swept = true
		ls.sweeper.Set(sweepInterval)
	}
}

// sweep gives back grants and clients that are not used.
func (ls *loopState) sweep() {
	ls.swept = false
	oldest := ls.Now() - ls.server.cfg.IdleTimeout
	for key, p := range ls.clients {
		for name, t := range p.tags {
			if t.used < oldest && t.requests == 0 {
				delete(p.tags, name)
				t.grant.Close()
			}
		}
		if p.requests == 0 && (p.ended.Load() || p.used < oldest && len(p.tags) == 0) {
			delete(ls.clients, key)
			p.local.Close()
		}
	}
	if len(ls.clients) > 0 {
		ls.sweepLater()
	}
}

// closeClients ends all clients that publish.
func (ls *loopState) closeClients() {
	for _, p := range ls.clients {
		p.local.Close()
	}
	clear(ls.clients)
}

// idle handles all connections of a loop that have no request.
type idle struct {
	loop.Base
	ls *loopState
}

var _ loop.Shutdowner = (*idle)(nil)

// idleTimer is the only timer of most connections; what it limits depends on their handler.
const idleTimer = 0

func (h *idle) Opened(c *loop.Conn) {
	h.ls.Opened(c)
	c.SetTimer(idleTimer, h.ls.server.cfg.IdleTimeout)
}

// Data begins a request.
func (h *idle) Data(c *loop.Conn, p []byte) int {
	if c.Full() {
		c.PauseReading() // the client sends requests but does not read the responses
		return 0
	}
	r := h.ls.request(c)
	c.SetHandler(r)
	return r.Data(c, p)
}

func (h *idle) Drained(c *loop.Conn)         { c.ResumeReading() }
func (h *idle) HalfClosed(c *loop.Conn)      { c.CloseWrite() }
func (h *idle) Timer(c *loop.Conn, _ int)    { c.Close() }
func (h *idle) Closed(c *loop.Conn, _ error) { h.ls.Closed(c) }
func (h *idle) Shutdown(c *loop.Conn)        { c.Close() }
