package loop

import (
	"fmt"
	"time"
)

// Dial starts to connect to an address. It gives up after timeout; zero means 10 s. The connection belongs to this loop, so
// other connections of the loop use it without a lock. Write may be called before the connection is established. After success
// the loop calls h.Opened. After a failure of any kind it calls only h.Closed. Both calls follow after Dial has returned.
func (l *Loop) Dial(to Addr, timeout time.Duration, h Handler) *Conn {
	if timeout <= 0 {
		timeout = 10 * time.Second
	}
	id, err := l.sys.dial(to)
	c := l.adopt(id, h, connecting|writeWatched)
	if err == nil {
		err = l.sys.watch(id, c.gen, true)
	}
	if err != nil {
		c.fail(fmt.Sprintf("connect to %s", to), err)
		return c
	}
	c.setTimer(internalTimer, timeout)
	return c
}

// connected is called when a connection attempt has ended.
func (l *Loop) connected(c *Conn) {
	if err := l.sys.connected(c.id); err != nil {
		c.fail("connect", err)
		return
	}
	c.state &^= connecting
	l.flushLater(c) // also with an empty queue: flushed stops watching for room to write
	if c.layered != nil {
		c.layered.start(0)
		return
	}
	c.stopTimer(internalTimer)
	c.handler.Opened(c)
}
