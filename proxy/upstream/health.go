package upstream

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	"example.com/ferry/internal/balance"
	"example.com/ferry/loop"
)

// probe checks the health of an endpoint once. It returns nil if the endpoint is healthy. The probe is canceled when ctx
// ends.
type probe func(ctx context.Context, to probed) error

// probed is the endpoint of a probe.
type probed struct {
	addr loop.Addr
	host string      // default of the Host field
	http Protocol    // protocol of the checks of kind http: HTTP1, HTTP2 or Auto
	tls  *tls.Config // nil in cleartext
}

// newProbe returns the probe for h.Kind.
func newProbe(h *Health) probe {
	switch h.Kind {
	case HealthHTTP:
		return probeHTTP(h)
	case HealthGRPC:
		return probeGRPC(h)
	case HealthBolt:
		return probeBolt
	}
	return probeTCP
}

// startChecks starts a goroutine for each endpoint, including endpoints that are added later. tasks waits for these
// goroutines.
func (c *Cluster) startChecks(ctx context.Context, tasks *sync.WaitGroup) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.startCheck = func(e *Endpoint) {
		var within context.Context
		within, e.stopChecks = context.WithCancel(ctx)
		tasks.Go(func() { c.checkPeriodically(within, e) })
	}
	for _, e := range c.set.All() {
		c.startCheck(endpointOf(e))
	}
}

func (c *Cluster) stopChecks() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.startCheck = nil
}

// checkPeriodically probes an endpoint until ctx ends. The first probe is sent immediately, the second after a random
// part of the interval, and the others once per interval. The random delay spreads the probes of many endpoints over
// time. The endpoint is up until enough probes in a row have failed.
func (c *Cluster) checkPeriodically(ctx context.Context, e *Endpoint) {
	h := c.cfg.Health
	pause := rand.N(h.Interval)
	for contrary := 0; ; { // contrary is the number of probes in a row whose result differs from the state of e
		within, cancel := context.WithTimeout(ctx, h.Timeout)
		err := c.probe(within, e.probed())
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			c.failed.checks.Add(1)
			e.checkFailed(c.group.Now(), err)
		}
		down, needed := e.balanced.Down(), h.Unhealthy
		if down {
			needed = h.Healthy
			if e.otherCheck.Load() {
				needed = 1
			}
		}
		switch {
		case err != nil && balance.OfConnect(err) == LocalFailure:
			// The endpoint was not probed, because this machine could not connect.
		case (err != nil) == down:
			contrary = 0
		default:
			if contrary++; contrary >= needed {
				contrary = 0
				c.setHealth(e, err)
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

// setHealth marks an endpoint as down if err is not nil, otherwise as up.
func (c *Cluster) setHealth(e *Endpoint, err error) {
	if err != nil {
		c.log.Warn("upstream: an endpoint is down", "cluster", c.cfg.Name, "endpoint", e.addr.String(), "err", err)
	} else {
		c.log.Info("upstream: an endpoint is up again", "cluster", c.cfg.Name, "endpoint", e.addr.String())
	}
	e.otherCheck.Store(false)
	c.set.SetDown(&e.balanced, err != nil)
}

const maxProbeResponse = 128 << 10 // bytes of response that a probe reads at most

// probed returns e for a probe.
func (e *Endpoint) probed() probed {
	to := probed{addr: e.addr, host: authority(e.addr), http: cmp.Or(e.cluster.cfg.Protocol, HTTP1)}
	if t := e.cluster.tls; t != nil {
		to.tls = t.files.Config().Clone()
		to.tls.ServerName = e.serverName()
		to.tls.ClientSessionCache = nil // each check verifies the certificate
		if _, err := netip.ParseAddr(to.tls.ServerName); err != nil && to.tls.ServerName != "" {
			to.host = to.tls.ServerName
		}
	}
	return to
}

// roundTrip sends a request on conn. Whenever more bytes arrive, roundTrip calls done with all bytes so far. It ends when
// done returns true or an error.
func roundTrip(ctx context.Context, conn net.Conn, request []byte, done func(data []byte) (bool, error)) error {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := conn.Write(request); err != nil {
		return contextOr(ctx, err)
	}
	var data []byte
	buf := make([]byte, 4<<10)
	for {
		n, err := conn.Read(buf)
		data = append(data, buf[:n]...)
		if n > 0 {
			if ok, err := done(data); ok || err != nil {
				return err
			}
		}
		if err != nil {
			return contextOr(ctx, err)
		}
		if len(data) > maxProbeResponse {
			return fmt.Errorf("no complete response in the first %d bytes", len(data))
		}
	}
}

// connect opens a connection to an endpoint that speaks p. An empty p means any protocol.
func (to probed) connect(ctx context.Context, p Protocol) (net.Conn, error) {
	network, address := "tcp", to.addr.TCP.String()
	if to.addr.Unix != "" {
		network, address = "unix", to.addr.Unix
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil || to.tls == nil {
		return conn, err
	}
	cfg := to.tls.Clone()
	cfg.NextProtos = p.ALPN()
	cfg.VerifyConnection = func(s tls.ConnectionState) error { return p.checkALPN(s.NegotiatedProtocol) }
	secured := tls.Client(conn, cfg)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, contextOr(ctx, err)
	}
	return secured, nil
}

// negotiated returns the protocol that the server of conn has chosen by ALPN; empty if it has chosen none.
func negotiated(conn net.Conn) string {
	if secured, ok := conn.(*tls.Conn); ok {
		return secured.ConnectionState().NegotiatedProtocol
	}
	return ""
}

// contextOr returns the error of ctx if ctx has ended, otherwise err.
func contextOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// probeTCP opens and closes a connection. With TLS, the handshake is a part of the check.
func probeTCP(ctx context.Context, to probed) error {
	conn, err := to.connect(ctx, "")
	if err != nil {
		return err
	}
	return conn.Close()
}
