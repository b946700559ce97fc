package upstream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"example.com/ferry/loop"
)

// probe asks an endpoint whether it is well: nil if it is, else what is wrong. It ends with ctx.
type probe func(ctx context.Context, at loop.Addr) error

// newProbe returns the probe of h's kind.
func newProbe(h *Health) probe {
	switch h.Kind {
	case CheckHTTP:
		return probeHTTP(h)
	case CheckBolt:
		return probeBolt
	}
	return probeTCP
}

// startChecks checks the endpoints there are, and those that will be, by a goroutine of tasks each.
func (c *Cluster) startChecks(ctx context.Context, tasks *sync.WaitGroup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch = func(e *Endpoint) {
		var within context.Context
		within, e.unwatch = context.WithCancel(ctx)
		tasks.Go(func() { c.check(within, e) })
	}
	for _, e := range c.members.Load().all {
		c.watch(e)
	}
}

func (c *Cluster) stopChecks() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch = nil
}

// check probes an endpoint until ctx ends: at once, then after some part of the interval, so that not all are asked at the same
// moment, then after an interval each. Until enough probes have failed in a row the endpoint is believed to be well.
func (c *Cluster) check(ctx context.Context, e *Endpoint) {
	h := c.cfg.Health
	pause := rand.N(h.Interval)
	for contrary := 0; ; { // probes in a row that say other than is believed
		within, cancel := context.WithTimeout(ctx, h.Timeout)
		err := c.probe(within, e.addr)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			c.failed.checks.Add(1)
		}
		down, needed := e.down.Load(), h.Unhealthy
		if down {
			needed = h.Healthy
		}
		switch {
		case err != nil && ConnectOutcome(err) == LocalFailure:
			// The endpoint was not probed.
		case (err != nil) == down:
			contrary = 0
		default:
			if contrary++; contrary == needed {
				contrary = 0
				c.turnTo(e, err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = h.Interval
	}
}

// turnTo puts an endpoint out of use, for the reason err, or back if there is none.
func (c *Cluster) turnTo(e *Endpoint, err error) {
	if err != nil {
		e.downs.Add(1)
		c.log.Warn("upstream: an endpoint is down", "cluster", c.cfg.Name, "endpoint", e.addr.String(), "error", err)
	} else {
		c.log.Info("upstream: an endpoint is up again", "cluster", c.cfg.Name, "endpoint", e.addr.String())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e.down.Store(err != nil)
	c.rebuild(c.members.Load().all)
}

const maxAnswer = 128 << 10 // bytes a probe reads at most

// converse connects to an endpoint, sends a request and gives all that has come so far to answered, each time more has come,
// until that returns true or an error.
func converse(ctx context.Context, at loop.Addr, request []byte, answered func(data []byte) (bool, error)) error {
	conn, err := connect(ctx, at)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := conn.Write(request); err != nil {
		return because(ctx, err)
	}
	var data []byte
	buf := make([]byte, 4<<10)
	for {
		n, err := conn.Read(buf)
		data = append(data, buf[:n]...)
		if n > 0 {
			if done, err := answered(data); done || err != nil {
				return err
			}
		}
		if err != nil {
			return because(ctx, err)
		}
		if len(data) > maxAnswer {
			return fmt.Errorf("no answer in the first %d bytes", len(data))
		}
	}
}

// connect opens a connection.
func connect(ctx context.Context, at loop.Addr) (net.Conn, error) {
	var d net.Dialer
	if at.Unix != "" {
		return d.DialContext(ctx, "unix", at.Unix)
	}
	return d.DialContext(ctx, "tcp", at.TCP.String())
}

// because returns why a connection failed that the end of ctx closes.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
