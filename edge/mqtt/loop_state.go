package mqtt

import (
	"context"
	"crypto/tls"
	"errors"
	"sync"
	"sync/atomic"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/loop"
	"example.com/ferry/loop/tlslayer"
	wire "example.com/ferry/protocol/mqtt"
)

// loopState is the part of a Listener that belongs to one loop. Only that loop uses it, except notify and wake.
type loopState struct {
	listener  *Listener
	server    *Server
	loop      *loop.Loop
	newcomers *edge.Newcomers
	shaking   *shaking
	greeting  *greeting
	checking  *checking
	closing   *closing
	batch     *broker.Batch
	run       run
	conf      *confirmation // for the next messages that have to be stored; nil if there is none yet
	open      atomic.Int64

	mu      sync.Mutex
	woken   []*conn // connections whose sessions have something for them
	notices []func()
	spare   []*conn
	posted  bool
	turn    func() // take, as a value
}

// newcomersMemory bounds the halves of CONNECT packets that a loop holds, in bytes.
const newcomersMemory = 4 << 20

func newLoopState(l *Listener, on *loop.Loop, places int) *loopState {
	ls := &loopState{
		listener: l, server: l.server, loop: on, batch: broker.NewBatch(l.server.cfg.Broker), newcomers: edge.NewNewcomers(places, newcomersMemory),
	}
	ls.shaking, ls.checking = &shaking{ls: ls}, &checking{ls: ls, logins: map[*loop.Conn]*wire.ConnectPacket{}}
	ls.greeting, ls.closing, ls.turn = &greeting{ls: ls}, &closing{ls: ls}, ls.take
	return ls
}

// wake makes the loop call c.attend soon. Any goroutine may call it. It never waits.
func (ls *loopState) wake(c *conn) {
	ls.mu.Lock()
	ls.woken = append(ls.woken, c)
	ls.post()
}

// notify makes the loop call f soon. Any goroutine may call it. It never waits.
func (ls *loopState) notify(f func()) {
	ls.mu.Lock()
	ls.notices = append(ls.notices, f)
	ls.post()
}

// post makes the loop call take. It releases the lock.
func (ls *loopState) post() {
	post := !ls.posted
	ls.posted = true
	ls.mu.Unlock()
	if !post {
		return
	}
	if err := ls.loop.Post(ls.turn); errors.Is(err, loop.ErrBusy) {
		go func() { _ = ls.loop.PostWait(context.Background(), ls.turn) }()
	}
}

// take handles what wake and notify were given.
func (ls *loopState) take() {
	ls.mu.Lock()
	woken, notices := ls.woken, ls.notices
	ls.woken, ls.spare, ls.notices, ls.posted = ls.spare[:0], nil, nil, false
	ls.mu.Unlock()
	for i, c := range woken {
		c.attend()
		woken[i] = nil
	}
	for _, f := range notices {
		f()
	}
	ls.mu.Lock()
	ls.spare = woken[:0]
	ls.mu.Unlock()
}

// tlsState returns the result of the connection's TLS handshake, or nil.
func tlsState(c *loop.Conn) *tls.ConnectionState {
	l, ok := c.Layer().(*tlslayer.Layer)
	if !ok {
		return nil
	}
	state := l.ConnectionState()
	return &state
}

// Timers of a connection.
const (
	silenceTimer  = iota // until the client must have sent something
	progressTimer        // until the connection is looked at
)

// closing handles connections whose last packet is queued. The client may still send for a while: if the connection were closed at
// once, it would be reset, and the client might lose the packet.
type closing struct {
	loop.Base
	ls *loopState
}

var _ loop.Shutdowner = (*closing)(nil)

func (h *closing) begin(c *loop.Conn) {
	c.SetHandler(h)
	c.ResumeReading()
	c.CloseWrite()
	c.StopTimer(progressTimer)
	c.SetTimer(silenceTimer, lingerTime)
}

func (h *closing) HalfClosed(*loop.Conn)     {}
func (h *closing) Timer(c *loop.Conn, _ int) { c.Close() }

func (h *closing) Closed(c *loop.Conn, _ error) {
	h.ls.newcomers.Remove(c) // it may have been refused
	h.ls.open.Add(-1)
}

func (h *closing) Shutdown(*loop.Conn) {}
