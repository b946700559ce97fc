package edge

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/internal/newcomers"
	"example.com/ferry/loop"
)

// Loop is the part of a Listener that belongs to one event loop. Only that loop uses it, except Notify and Wake.
type Loop struct {
	*loop.Loop
	newcomers *newcomers.Set[*loop.Conn]
	first     loop.Handler // of new connections
	shaking   shaking
	closing   closing
	open      atomic.Int64
	turn      func() // run, as a value
	scratch   []byte // reused by layers

	mu      sync.Mutex
	notices []Notice
	spare   []Notice
	posted  bool
}

func newLoop(on *loop.Loop, places int) *Loop {
	l := &Loop{Loop: on, newcomers: newcomers.New(places, newcomersMemory, (*loop.Conn).Close)}
	l.shaking.newcomers, l.closing.loop, l.turn = l.newcomers, l, l.run
	return l
}

// room returns where a layer may read to before the next call.
func (l *Loop) room() []byte {
	if cap(l.scratch) < 4<<10 {
		l.scratch = make([]byte, 4<<10)
	}
	return l.scratch[:4<<10]
}

// Opened notes that a connection is open: its handshakes, of TLS and WebSocket, are complete.
func (l *Loop) Opened(*loop.Conn) { l.open.Add(1) }

// Hold notes that size bytes of a connection wait for the rest of its first packet. It may close the connection.
func (l *Loop) Hold(c *loop.Conn, size int) { l.newcomers.Hold(c, size) }

// Identified notes that the client of a connection is identified.
func (l *Loop) Identified(c *loop.Conn) { l.newcomers.Remove(c) }

// Closed notes that a connection is closed.
func (l *Loop) Closed(c *loop.Conn) {
	l.newcomers.Remove(c) // it may have been refused
	l.open.Add(-1)
}

// End closes a connection once what is queued is written, and the client has closed it or some time is over: at once, it would be reset, and the client might
// lose the last bytes (RFC 9112, section 9.6). It uses the timer 0.
func (l *Loop) End(c *loop.Conn) {
	c.SetHandler(&l.closing)
	c.ResumeReading()
	c.CloseWrite()
	c.SetTimer(0, lingerTime)
}

// lingerTime is how long the client may take to close the connection.
const lingerTime = 2 * time.Second

// Notice is what a loop is given to do.
type Notice interface{ Run() }

type noticeFunc func()

// Run calls f.
func (f noticeFunc) Run() { f() }

// Notify makes the loop call f soon. Any goroutine may call it. It never waits.
func (l *Loop) Notify(f func()) { l.Wake(noticeFunc(f)) }

// Wake is Notify for an object, which costs no allocation.
func (l *Loop) Wake(n Notice) {
	l.mu.Lock()
	l.notices = append(l.notices, n)
	post := !l.posted
	l.posted = true
	l.mu.Unlock()
	if !post {
		return
	}
	if err := l.Post(l.turn); errors.Is(err, loop.ErrBusy) {
		go func() { _ = l.PostWait(context.Background(), l.turn) }()
	}
}

// run calls what Wake was given.
func (l *Loop) run() {
	l.mu.Lock()
	taken := l.notices
	l.notices, l.spare, l.posted = l.spare[:0], nil, false
	l.mu.Unlock()
	for i, n := range taken {
		n.Run()
		taken[i] = nil
	}
	l.mu.Lock()
	l.spare = taken[:0]
	l.mu.Unlock()
}

// shaking handles the connections whose handshakes are not complete.
type shaking struct {
	loop.Base
	newcomers *newcomers.Set[*loop.Conn]
}

func (h *shaking) Closed(c *loop.Conn, _ error) { h.newcomers.Remove(c) }

// closing handles the connections whose last bytes are queued.
type closing struct {
	loop.Base
	loop *Loop
}

var _ loop.Shutdowner = (*closing)(nil)

func (h *closing) HalfClosed(*loop.Conn)        {}
func (h *closing) Timer(c *loop.Conn, _ int)    { c.Close() }
func (h *closing) Closed(c *loop.Conn, _ error) { h.loop.Closed(c) }
func (h *closing) Shutdown(*loop.Conn)          {}
