package link

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"example.com/ferry/internal/redial"
	"example.com/ferry/link/spool"
)

// Conn is one connection of a Line.
type Conn interface {
	Wire

	// Serve runs the connection until it ends, and returns the reason. The end of ctx ends it.
	Serve(ctx context.Context) error

	// Finish waits until the other side has confirmed what was sent, and ends the connection. If ctx or the connection ends before, it
	// returns an error.
	Finish(ctx context.Context) error

	// RemoteAddr returns the address of the other side.
	RemoteAddr() net.Addr
}

// Line makes the connections of an Outbox, one after the other. All methods may overlap.
type Line struct {
	Box    *Outbox
	Config Config // with its defaults, and a Log that names the link

	ctx    context.Context // ends when Close is called
	cancel context.CancelFunc
	redial chan struct{} // of capacity 1: Redial was called
	ended  sync.WaitGroup

	// The lock of Box guards what follows.
	conn     Conn   // nil while there is none
	changes  uint64 // calls of Redial
	connects uint64
	down     error // why there is no connection
	reported bool  // down is logged
	since    time.Time
}

// Open opens the spool, whose messages of an earlier process come first, and returns a Line that Start connects.
func Open(cfg Config) (*Line, error) {
	cfg.fill()
	s, err := spool.Open(cfg.Spool)
	if err != nil {
		return nil, fmt.Errorf("link: %q: %w", cfg.Name, err)
	}
	l := &Line{Box: New(s, cfg), Config: cfg, redial: make(chan struct{}, 1), since: time.Now(), down: errConnecting}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l, nil
}

// Start connects in the background, again and again, until Close is called. The context of dial ends after Config.DialTimeout.
func (l *Line) Start(dial func(context.Context) (Conn, error)) {
	l.ended.Go(func() { l.connect(dial) })
}

func (l *Line) connect(dial func(context.Context) (Conn, error)) {
	pause := redial.Pause{Min: l.Config.MinBackoff, Max: l.Config.MaxBackoff}
	for l.ctx.Err() == nil {
		l.Box.Lock()
		changes := l.changes
		l.Box.Unlock()
		ctx, cancel := context.WithTimeout(l.ctx, l.Config.DialTimeout)
		c, err := dial(ctx)
		cancel()
		if err == nil {
			began := time.Now()
			l.attach(c, changes)
			err = c.Serve(l.ctx)
			l.detach(c)
			pause.Ended(time.Since(began))
		}
		l.lost(err, changes)
		pause.Wait(l.ctx, l.redial)
	}
}

// attach makes c the connection. If Redial was called since c was dialed, c ends at once.
func (l *Line) attach(c Conn, changes uint64) {
	l.Box.Lock()
	l.conn, l.down = c, nil
	l.connects++
	reported, outage := l.reported, time.Since(l.since)
	l.reported, l.since = false, time.Now()
	stale := l.changes != changes
	l.Box.Unlock()
	l.Box.Attach(c)
	if stale {
		l.Leave(c)
	}
	if reported {
		l.Config.Log.Info("link: connected again", "addr", c.RemoteAddr().String(), "outage", outage)
	}
}

// detach notes that c has ended: what it has not confirmed is sent over the next connection.
func (l *Line) detach(c Conn) {
	l.Box.Lock()
	l.conn, l.since = nil, time.Now()
	l.Box.Unlock()
	l.Box.Detach(c)
}

// lost stores why there is no connection. It logs the first reason of each outage, unless Redial has ended the connection.
func (l *Line) lost(why error, changes uint64) {
	l.Box.Lock()
	l.down = why
	news := !l.reported && l.ctx.Err() == nil && l.changes == changes
	l.reported = l.reported || news
	l.Box.Unlock()
	if news {
		l.Config.Log.Warn("link: not connected, messages are stored on disk", "err", why)
	}
}

// Conn returns the connection; nil while there is none. The caller holds the lock.
func (l *Line) Conn() Conn { return l.conn }

// Redial says that the target has changed: the connection ends in good order, and the next one is dialed at once. Meanwhile messages
// go to the spool.
func (l *Line) Redial() {
	l.Box.Lock()
	l.changes++
	c := l.conn
	l.Box.Unlock()
	select {
	case l.redial <- struct{}{}:
	default:
	}
	if c != nil {
		l.Leave(c)
	}
}

// leaveWithin bounds how long a connection that is replaced waits for the other side.
const leaveWithin = 5 * time.Second

// Leave sends nothing more over c, and ends it in good order.
func (l *Line) Leave(c Conn) {
	l.Box.Pause(c)
	go func() {
		ctx, cancel := context.WithTimeout(l.ctx, leaveWithin)
		defer cancel()
		_ = c.Finish(ctx) // what is not confirmed is sent over the next connection
	}()
}

// Await calls done once all messages up to a position are safe.
func (l *Line) Await(position uint64, done func()) { l.Box.Await(position, done) }

// Full reports whether messages wait for the connection, or for the disk.
func (l *Line) Full() bool { return l.Box.Full() }

// AwaitRoom calls resume once Full is false. cancel releases resume.
func (l *Line) AwaitRoom(resume func()) (cancel func()) { return l.Box.AwaitRoom(resume) }

// Close ends the Line. What the other side has not confirmed is written to the spool, where the next Line finds it. Messages that
// arrive later are dropped, and counted in the result of Stats. The error is that of ctx if the other side did not confirm the last
// messages before; they are in the spool.
func (l *Line) Close(ctx context.Context) error {
	l.Box.Stop()
	l.Box.Lock()
	c := l.conn
	l.Box.Unlock()
	var err error
	if c != nil {
		if e := c.Finish(ctx); e != nil && ctx.Err() != nil { // otherwise the connection was lost
			err = fmt.Errorf("link: %q: the other side has not confirmed the last messages, which stay in the spool: %w", l.Config.Name, e)
		}
	}
	l.cancel()
	l.ended.Wait()
	if e := l.Box.Close(); err == nil && e != nil {
		err = fmt.Errorf("link: %q: %w", l.Config.Name, e)
	}
	return err
}

// Stats returns the counters of the Outbox, and the state of the connection.
func (l *Line) Stats() Stats {
	s := l.Box.Stats()
	l.Box.Lock()
	defer l.Box.Unlock()
	s.Name, s.Connected, s.Err, s.Since, s.Connects = l.Config.Name, l.conn != nil, l.down, l.since, l.connects
	return s
}
