package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"example.com/ferry/broker"
	"example.com/ferry/edge"
	streamweb "example.com/ferry/edge/web"
	"example.com/ferry/node/config"
)

// newEdge binds a listener whose clients speak another protocol than the native one.
func (n *Node) newEdge(c config.Listener, cfg *config.Config) (_ *listener, err error) {
	l := &listener{cfg: c}
	secured, err := n.certificates(c)
	if err != nil {
		return nil, err
	}
	l.tls.Store(secured)
	defer func() {
		if err != nil {
			secured.Close()
		}
	}()
	validate, err := broker.ParseValidation(string(c.Validate))
	if err != nil {
		return nil, fmt.Errorf("node: listener %s: %w", c.Address, err)
	}
	_, addr, _ := strings.Cut(c.Address, "://")
	limits := cfg.Limits
	at := edge.Config{
		Address: addr, Validate: validate, Anonymous: c.Anonymous, Sockets: n.loopSockets(), Origins: c.HTTP.Origins,
		MaxConnections: limits.MaxConnections, HandshakeTimeout: limits.HandshakeTimeout, WriteTimeout: limits.WriteTimeout,
	}
	if c.Encrypted() {
		at.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: l.handshakeConfig} // which has the version that is configured
	}
	if c.MQTT() {
		if err := n.listenMQTT(l, at, cfg); err != nil {
			return nil, fmt.Errorf("node: listener %s: %w", c.Address, err)
		}
		return l, nil
	}
	s, err := streamweb.Listen(streamweb.Config{Config: at, Broker: n.broker, Logins: n.logins, Log: n.log, MaxMessage: int(limits.MaxFrame) - 1<<10})
	if err != nil {
		return nil, fmt.Errorf("node: listener %s: %w", c.Address, err)
	}
	l.bound, l.served = s, s
	return l, nil
}

// drainEdges closes the connections of clients that speak other protocols. The broker has ended these clients before.
func (n *Node) drainEdges(ctx context.Context) error {
	var errs []error
	for _, l := range n.listeners {
		if l.cfg.Edge() {
			errs = append(errs, l.served.Drain(ctx))
		}
	}
	if server := n.mqttServer(); server != nil {
		errs = append(errs, server.Close())
	}
	return errors.Join(errs...)
}

// webStats returns the counters of the listeners for HTTP.
func (n *Node) webStats() []streamweb.Stats {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []streamweb.Stats
	for _, l := range n.listeners {
		if s, ok := l.served.(*streamweb.Server); ok {
			all = append(all, s.Stats())
		}
	}
	return all
}
