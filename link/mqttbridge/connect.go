package mqttbridge

import (
	"context"
	"errors"
	"time"

	"example.com/ferry/internal/redial"
)

// connect dials the other broker and serves the connection, again and again, until Close is called.
func (b *Bridge) connect() {
	pause := redial.Pause{Min: b.cfg.MinBackoff, Max: b.cfg.MaxBackoff}
	for b.ctx.Err() == nil {
		b.lost(b.serve(&pause))
		pause.Wait(b.ctx, b.redial)
	}
}

// serve makes one connection, and returns why it has ended or could not be made. It tells pause how long the connection was.
func (b *Bridge) serve(pause *redial.Pause) error {
	b.mu.Lock()
	to, updates, before := b.target, b.updates, b.subscribed
	b.mu.Unlock()
	c, err := b.dial(&to, before)
	if err != nil {
		return err
	}
	began := time.Now()
	b.attach(c, updates, to.In)
	<-c.ctx.Done()
	b.detach(c)
	pause.Ended(time.Since(began))
	c.end()
	return context.Cause(c.ctx)
}

// attach makes c the connection. What the spool has is sent first. If the target has changed since c was dialed, c ends at once.
func (b *Bridge) attach(c *conn, updates uint64, subscribed []string) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		c.fail(errClosed)
		return
	}
	b.conn, b.down, b.subscribed = c, nil, subscribed
	b.stats.Connects++
	reported, outage := b.reported, time.Since(b.since)
	b.reported, b.since = false, time.Now()
	stale := b.updates != updates
	b.mu.Unlock()
	signal(b.sendSoon)
	if stale {
		c.fail(errChanged)
	}
	if reported {
		b.cfg.Log.Info("bridge: connected again", "bridge", b.cfg.Name, "addr", c.net.RemoteAddr().String(), "outage", outage)
	}
}

// detach notes that c has ended: what is not confirmed is sent over the next connection.
func (b *Bridge) detach(c *conn) {
	b.mu.Lock()
	if b.conn == c {
		b.conn, b.since, b.spooling = nil, time.Now(), true
		for b.flights.Len() > 0 {
			b.flights.Pop()
		}
	}
	b.unlock()
	signal(b.storeSoon)
	signal(b.sendSoon)
}

// lost stores why there is no connection. It logs the first reason of each outage.
func (b *Bridge) lost(why error) {
	b.mu.Lock()
	b.down = why
	news := !b.reported && b.ctx.Err() == nil && !errors.Is(why, errChanged)
	b.reported = b.reported || news
	b.mu.Unlock()
	if news {
		b.cfg.Log.Warn("bridge: the other broker is not connected, messages to it are stored on disk", "bridge", b.cfg.Name, "err", why)
	}
}
