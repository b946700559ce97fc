package loop

import (
	"errors"
	"net"
)

// AcceptFunc returns the handler of a connection that was accepted, which is open already: Opened follows. A nil handler
// resets it.
type AcceptFunc func(c *Conn) Handler

// entrance is one loop's share of a Listener.
type entrance struct {
	loop     *Loop
	listener *Listener
	id       int32
	gen      uint32
	shut     bool
	more     bool // there may be more to accept
	waiting  bool // accepting is paused: no descriptors are left, or MaxConns is reached
	retry    *Timer
}

// open has the loop accept connections of nl.
func (l *Loop) open(ln *Listener, nl net.Listener) error {
	in := &entrance{loop: l, listener: ln, gen: l.nextGen()}
	in.retry = l.NewTimer(in.accept)
	id, err := l.sys.listen(nl, in.gen)
	if err != nil {
		return err
	}
	in.id = id
	l.listeners[id] = in
	return nil
}

// accept takes the connections that wait.
func (in *entrance) accept() {
	l := in.loop
	if in.shut {
		return
	}
	in.waiting = false
	for range acceptBatch {
		if l.accepted >= l.cfg.MaxConns {
			in.pause()
			return
		}
		again, err := in.one()
		if err != nil {
			in.pause()
			return
		}
		if !again {
			return
		}
	}
	in.later()
}

// later has the loop accept more in its next turn.
func (in *entrance) later() { in.more, in.loop.entering = true, true }

// enter gives the listeners that have more their turn.
func (l *Loop) enter() {
	l.entering = false
	for _, in := range l.listeners {
		if in.more {
			in.more = false
			in.accept()
		}
	}
}

// one accepts one connection. It returns false if none waits, and an error if none can be accepted now.
func (in *entrance) one() (again bool, err error) {
	l := in.loop
	id, err := l.sys.accept(in.id)
	if errors.Is(err, errAgain) {
		return false, nil
	}
	if err != nil {
		l.stats.AcceptErrors++
		return false, err
	}
	c := l.adopt(id, Base{}, accepted)
	h := in.listener.accepted(c)
	if h == nil {
		c.Abort(nil)
		return true, nil
	}
	if err := l.sys.watch(id, c.gen, false); err != nil {
		c.fail("watch", err) // and h hears of it neither here nor at its end
		return true, nil
	}
	c.handler = h
	h.Opened(c)
	return true, nil
}

// pause stops accepting until a connection is closed, or for a while: what is missing may be another's to give back.
func (in *entrance) pause() {
	in.waiting = true
	in.loop.stats.AcceptPauses++
	in.retry.Set(acceptPause)
}

// close accepts what waits already, so that nobody is turned away who was let in, and closes the socket.
func (in *entrance) close() {
	if in.shut {
		return
	}
	for range acceptBatch {
		if again, err := in.one(); err != nil || !again {
			break
		}
	}
	in.shut = true
	in.retry.Stop()
	delete(in.loop.listeners, in.id)
	in.loop.sys.close(in.id, false)
}
