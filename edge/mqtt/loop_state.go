package mqtt

import (
	"example.com/ferry/broker"
	"example.com/ferry/edge"
	"example.com/ferry/loop"
	wire "example.com/ferry/protocol/mqtt"
)

// loopState is the part of a Listener that belongs to one loop. Only that loop uses it, except Notify and Wake.
type loopState struct {
	*edge.Loop
	listener *Listener
	server   *Server
	greeting *greeting
	checking *checking
	batch    *broker.Batch
	run      run
	conf     *confirmation // for the next messages that have to be stored; nil if there is none yet
}

func newLoopState(l *Listener, on *edge.Loop) *loopState {
	ls := &loopState{Loop: on, listener: l, server: l.server, batch: broker.NewBatch(l.server.cfg.Broker)}
	ls.greeting, ls.checking = &greeting{ls: ls}, &checking{ls: ls, logins: map[*loop.Conn]*wire.ConnectPacket{}}
	return ls
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
