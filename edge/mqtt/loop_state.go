package mqtt

import (
	"sync"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/mqtt"
)

// loopState is the part of a Listener that belongs to one loop. Only that loop uses it, except Notify and wake.
type loopState struct {
	*edge.Loop
	listener *Listener
	server   *Server
	greeting *greeting
	checking *checking
	batch    *broker.Batch
	run      run
	conf     *confirmation // for the next messages that have to be stored; nil if there is none yet
	attend   func()        // attendWoken, as a value

	mu    sync.Mutex
	woken []*conn // connections whose sessions have something for them
	spare []*conn
}

func newLoopState(l *Listener, on *edge.Loop) *loopState {
	ls := &loopState{Loop: on, listener: l, server: l.server, batch: broker.NewBatch(l.server.cfg.Broker)}
	ls.greeting, ls.checking = &greeting{ls: ls}, &checking{ls: ls, logins: map[*loop.Conn]*wire.ConnectPacket{}}
	ls.attend = ls.attendWoken
	return ls
}

// wake makes the loop call c.attend soon. Any goroutine may call it. It never waits.
func (ls *loopState) wake(c *conn) {
	ls.mu.Lock()
	ls.woken = append(ls.woken, c)
	first := len(ls.woken) == 1
	ls.mu.Unlock()
	if first {
		ls.Notify(ls.attend)
	}
}

// attendWoken calls attend of the connections that wake was given.
func (ls *loopState) attendWoken() {
	ls.mu.Lock()
	woken := ls.woken
	ls.woken, ls.spare = ls.spare[:0], nil
	ls.mu.Unlock()
	for i, c := range woken {
		c.attend()
		woken[i] = nil
	}
	ls.mu.Lock()
	ls.spare = woken[:0]
	ls.mu.Unlock()
}

// Timers of a connection.
const (
	silenceTimer  = iota // until the client must have sent something
	progressTimer        // until the connection is looked at
)

// end closes a connection whose last packet is queued.
func (ls *loopState) end(c *loop.Conn) {
	c.StopTimer(progressTimer)
	ls.End(c)
}
