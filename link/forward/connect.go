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
	l.box.Lock()
	to, updates := l.target, l.updates
	l.box.Unlock()
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

// attach makes c the connection. If Update has replaced the target since c was dialed, c ends at once.
func (l *Link) attach(c *conn) {
	l.box.Lock()
	l.conn, l.down, l.tags = c, nil, map[string]*Tag{}
	l.stats.Connects++
	reported := l.reported
	l.reported = false
	outage := time.Since(l.since)
	l.since = time.Now()
	stale := c.updates != l.updates
	l.box.Unlock()
	l.box.Attach(c)
	if stale {
		l.box.Pause(c)
		go c.leave()
	}
	if reported {
		l.cfg.Log.Info("forward: link is up again", "link", l.cfg.Name, "addr", c.peer.RemoteAddr().String(), "outage", outage)
	}
}

// detach notes that c has ended: what it has not confirmed is sent over the next connection.
func (l *Link) detach(c *conn) {
	l.box.Lock()
	if l.conn == c {
		l.conn, l.since, l.tags = nil, time.Now(), map[string]*Tag{}
	}
	l.box.Unlock()
	l.box.Detach(c)
}

// lost stores why there is no connection. It logs the first reason of each outage.
func (l *Link) lost(why error) {
	l.box.Lock()
	l.down = why
	news := !l.reported && l.ctx.Err() == nil
	l.reported = l.reported || news
	l.box.Unlock()
	if news {
		l.cfg.Log.Warn("forward: link is down, messages are stored on disk", "link", l.cfg.Name, "err", why)
	}
}
