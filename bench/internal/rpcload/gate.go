package rpcload

import (
	"sync"
	"sync/atomic"
)

// gate holds the handlers of a server's process back, so that their calls stay in progress.
type gate struct {
	waiting atomic.Int64
	opened  chan struct{}
	once    sync.Once
}

// closedGate is where handlers wait; nil if they do not.
var closedGate atomic.Pointer[gate]

// pass waits while the gate is closed.
func pass() {
	if g := closedGate.Load(); g != nil {
		g.waiting.Add(1)
		<-g.opened
	}
}

// operate executes an order of a server.
func operate(o order) (r report) {
	g := closedGate.Load()
	switch {
	case o.Do == closeGate && g == nil:
		closedGate.Store(&gate{opened: make(chan struct{})})
	case o.Do == countHeld && g != nil:
		r.Calls = int(g.waiting.Load())
	case o.Do == openGate && g != nil:
		closedGate.Store(nil)
		g.once.Do(func() { close(g.opened) })
	default:
		r.Err = "a server does not " + o.Do
	}
	return r
}
