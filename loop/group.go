package loop

import (
	"context"
	"errors"
	"math"
	"net"
	"sync"
	"time"
)

// ErrShutdown is the cause that Closed gets for connections still open when the context of Shutdown ended.
var ErrShutdown = errors.New("loop: shut down")

// Group is a set of loops that share listeners. Any goroutine may call its methods. Code on a loop must not, because the
// methods wait for the loops.
type Group struct {
	cfg   Config
	loops []*Loop
	start time.Time

	mu        sync.Mutex
	listeners []*Listener
	closed    bool
}

// New starts the loops. A nil c means defaults. Shutdown ends the loops.
func New(c *Config) (*Group, error) {
	cfg, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	g := &Group{cfg: cfg, start: time.Now()}
	for i := range cfg.Loops {
		l, err := newLoop(g, i)
		if err != nil {
			for _, l := range g.loops {
				l.sys.release()
			}
			return nil, err
		}
		g.loops = append(g.loops, l)
	}
	for _, l := range g.loops {
		go l.run()
	}
	return g, nil
}

// Loops returns all loops. The caller must not change the slice.
func (g *Group) Loops() []*Loop { return g.loops }

// SetMaxConns replaces Config.MaxConns, the number of accepted connections that one loop holds. If there are more, they
// stay, and none is accepted until they are fewer.
func (g *Group) SetMaxConns(n int) {
	for _, l := range g.loops {
		l.maxConns.Store(int64(n))
	}
}

// Now returns the time since the group was created. Loop.Now lags by at most one turn.
func (g *Group) Now() time.Duration { return time.Since(g.start) }

// Stats returns the counters of each loop, and their sum. A loop that has ended keeps its last counters.
func (g *Group) Stats() (sum Stats, each []Stats) {
	for _, l := range g.loops {
		var s Stats
		l.do(func() { s = l.Stats() })
		sum.add(s)
		each = append(each, s)
	}
	return sum, each
}

// Turn returns nil once every loop has called a function, or has ended. It returns the error of ctx if that ends first: a loop
// is then busy, or blocked by a handler. Code on a loop must not call it.
func (g *Group) Turn(ctx context.Context) error {
	for _, l := range g.loops {
		turned := make(chan struct{})
		switch err := l.PostWait(ctx, func() { close(turned) }); {
		case errors.Is(err, net.ErrClosed):
			continue
		case err != nil:
			return err
		}
		select {
		case <-turned:
		case <-l.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Each calls f on every loop, one after the other, and waits for it. For a loop that has ended, it calls f directly. Code on a loop must not
// call it.
func (g *Group) Each(f func(l *Loop)) {
	for _, l := range g.loops {
		l.do(func() { f(l) })
	}
}

// do runs f on the loop and waits until f returns. If the loop has ended, do calls f directly.
func (l *Loop) do(f func()) {
	ran := make(chan struct{})
	if err := l.post(func() { f(); close(ran) }, math.MaxInt); err != nil {
		<-l.done
		f()
		return
	}
	<-ran
}

// Shutdown closes the listeners, asks the handler of every connection to finish (Shutdowner), and waits until all connections
// are closed. When ctx ends, it resets the remaining connections and returns the error of ctx. When Shutdown returns, all
// loops have ended.
func (g *Group) Shutdown(ctx context.Context) error {
	g.mu.Lock()
	listeners := g.listeners
	g.listeners, g.closed = nil, true
	g.mu.Unlock()
	for _, ln := range listeners {
		ln.close()
	}
	for _, l := range g.loops {
		l.do(l.shutdown)
	}
	var err error
	for _, l := range g.loops {
		select {
		case <-l.done:
			continue
		case <-ctx.Done():
		}
		select {
		case <-l.done:
			continue
		default:
			err = ctx.Err()
		}
		l.do(l.abortAll)
		<-l.done
	}
	return err
}

// shutdown asks all handlers to finish. The loop ends when its last connection is closed.
func (l *Loop) shutdown() {
	l.stopping = true
	for c, handler := range l.All() {
		if h, ok := handler.(Shutdowner); ok {
			h.Shutdown(c)
		} else {
			c.Close()
		}
	}
}

func (l *Loop) abortAll() {
	for _, c := range l.conns {
		if c != nil {
			c.Abort(ErrShutdown)
		}
	}
}
