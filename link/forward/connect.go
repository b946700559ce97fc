package forward

import (
	"context"
	"errors"
	"time"

	"example.com/ferry/internal/peer"
	"example.com/ferry/internal/redial"
)

// connect dials the other node and serves the connection, again and again, until Close is called.
func (l *Link) connect() {
	pause := redial.Pause{Min: l.cfg.MinBackoff, Max: l.cfg.MaxBackoff}
	for l.ctx.Err() == nil {
		c, err := l.dial()
		if err == nil {
			began := time.Now()
			l.attach(c)
			err = c.serve()
			l.detach(c)
			pause.Ended(time.Since(began))
		}
		l.lost(err)
		pause.Wait(l.ctx, l.redial)
	}
}

// dial connects to the other node and does the handshake.
func (l *Link) dial() (*conn, error) {
	ctx, cancel := context.WithTimeout(l.ctx, l.cfg.DialTimeout)
	defer cancel()
	l.mu.Lock()
	to, updates := l.target, l.updates
	l.mu.Unlock()
	raw, err := to.Dialer.Dial(ctx, to.Addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	c, err := l.handshake(raw, to.Token)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = raw.Close()
		if ctx.Err() != nil {
			err = errors.Join(ctx.Err(), err)
		}
		return nil, err
	}
	c.updates = updates
	return c, nil
}

// serve runs the connection until it ends, and returns the reason.
func (c *conn) serve() error {
	stop := context.AfterFunc(c.link.ctx, func() { c.peer.Close(errClosed) })
	defer stop()
	go c.peer.Beat(c.heartbeat)
	go c.confirmations()
	err := peer.Serve(c.peer, &frameHandlers, func() receiver { return receiver{c} })
	if peer.IsClean(err) {
		err = errors.New("forward: the other node closed the connection")
	}
	return err
}

// attach makes c the connection. What the spool has is sent first. If Update has replaced the target since c was dialed, c ends at once.
func (l *Link) attach(c *conn) {
	l.mu.Lock()
	l.conn, l.down = c, nil
	l.stats.Connects++
	reported := l.reported
	l.reported = false
	outage := time.Since(l.since)
	l.since = time.Now()
	l.reset()
	stale := c.updates != l.updates
	c.draining = c.draining || stale
	l.mu.Unlock()
	signal(l.wake)
	if stale {
		go c.leave()
	}
	if reported {
		l.cfg.Log.Info("forward: link is up again", "link", l.cfg.Name, "addr", c.peer.RemoteAddr().String(), "outage", outage)
	}
}

// detach notes that c has ended: what it has not confirmed is sent over the next connection.
func (l *Link) detach(c *conn) {
	l.mu.Lock()
	if l.conn == c {
		l.conn, l.since = nil, time.Now()
		l.reset()
	}
	l.unlock()
	signal(l.wake)
}

// reset forgets what was sent over the connection before. The caller holds the lock.
func (l *Link) reset() {
	l.spooling = true
	l.tags = map[string]*Tag{}
	l.sentIndex, l.sentRecords, l.movedIndex, l.uncounted = 0, 0, 0, 0
	l.records = peer.FIFO[sentRecord]{}
}

// lost stores why there is no connection. It logs the first reason of each outage.
func (l *Link) lost(why error) {
	l.mu.Lock()
	l.down = why
	news := !l.reported && l.ctx.Err() == nil
	l.reported = l.reported || news
	l.mu.Unlock()
	if news {
		l.cfg.Log.Warn("forward: link is down, messages are stored on disk", "link", l.cfg.Name, "err", why)
	}
}
