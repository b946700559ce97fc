package node

import (
	"context"
	"errors"
	"net"

	"example.com/ferry/loop"
	"example.com/ferry/node/admin"
	"example.com/ferry/node/config"
)

// ReleaseStreams ends the streams of a running node, for a process that replaces this one: clients are told to leave, what they have
// published is delivered, the functions stop, and the engine is closed. Proxy and admin server go on. Reloads are refused from then on.
// The error says what took longer than drain.timeout, and was ended.
func (n *Node) ReleaseStreams() error {
	n.applying.Lock()
	defer n.applying.Unlock()
	if n.serving == nil {
		return errors.New("node: release the streams: the node does not run, or is stopping")
	}
	n.serving = nil
	timeout := n.config().Drain.Timeout
	n.log.Info("node releases its streams")
	n.enter(admin.DrainRequests, timeout)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	n.released = true
	err := errors.Join(n.endClients(ctx), n.endStreams(ctx))
	if err != nil {
		n.log.Warn("node has released its streams, and some clients or parts had not ended", "err", err)
		return err
	}
	n.log.Info("node has released its streams")
	return nil
}

// LeaveTo makes Run drain for a node that takes over, in another process or in this one: /ready does not fail, drain.delay is left out, and
// Extensions.Phases is not called. If ReleaseStreams has ended more than 100 connections, the sockets of most are still open: LeaveTo closes
// one each millisecond, so that the clients do not all dial at the same time. The channel is closed after the last one. A process that ends
// before closes the others at once.
func (n *Node) LeaveTo() (left <-chan struct{}) {
	n.replaced.Store(true)
	if n.broker == nil {
		none := make(chan struct{})
		close(none)
		return none
	}
	return n.broker.CloseKept()
}

// Config returns what the node runs, as the last reload has left it. The caller must not change it.
func (n *Node) Config() *config.Config { return n.config() }

// listenUDP is Security.ListenUDP.
func (n *Node) listenUDP(address string) (conn *net.UDPConn, released func(), err error) {
	conn, release, err := n.extensions.Sockets.ListenUDP(address)
	return conn, func() { release() }, err
}

// loopSockets returns Extensions.Sockets for event loops.
func (n *Node) loopSockets() loop.Sockets {
	if n.extensions.Sockets == nil {
		return nil
	}
	return n.extensions.Sockets
}
