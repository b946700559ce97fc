package node

import (
	"context"

	"example.com/ferry/edge/mqtt"
	streamweb "example.com/ferry/edge/web"
	"example.com/ferry/proxy"
)

// Phase is a stage of a running node. A program that starts the node may report it to a supervisor, such as systemd.
type Phase int

// The values of Phase.
const (
	PhaseReady     Phase = iota // the node accepts traffic, or has ended a reload, whether it was applied or refused
	PhaseReloading              // a configuration is about to be applied
	PhaseDraining               // the node stops: Run has begun to drain
)

// phase calls Extensions.Phases, if there is one. The caller holds n.applying, so the calls do not overlap.
func (n *Node) phase(p Phase) {
	if n.extensions.Phases != nil {
		n.extensions.Phases(p)
	}
}

// reloadEnded calls Extensions.Phases for a reload that read no valid configuration: a supervisor that sent the signal awaits both phases.
func (n *Node) reloadEnded() {
	n.applying.Lock()
	defer n.applying.Unlock()
	if n.serving != nil {
		n.phase(PhaseReloading)
		n.phase(PhaseReady)
	}
}

// turner is a part of the node with event loops of its own. Turn returns nil once each of them has called a function, or has ended.
type turner interface {
	Turn(ctx context.Context) error
}

var (
	_ turner = (*proxy.Proxy)(nil)
	_ turner = (*mqtt.Listener)(nil)
	_ turner = (*streamweb.Server)(nil)
)

// Turn returns nil once each part of the node that carries traffic has made a step: the broker's lock was free, and every event
// loop, of the proxy and of listeners, has called a function. A deadlocked or spinning part makes Turn wait. Turn returns the error of ctx
// if that ends while a loop is awaited.
func (n *Node) Turn(ctx context.Context) error {
	n.mu.Lock()
	var parts []turner
	if n.proxy != nil {
		parts = append(parts, n.proxy)
	}
	for _, l := range n.listeners {
		if t, ok := l.served.(turner); ok {
			parts = append(parts, t)
		}
	}
	n.mu.Unlock()
	if n.broker != nil {
		n.broker.Turn()
	}
	for _, part := range parts {
		if err := part.Turn(ctx); err != nil {
			return err
		}
	}
	return nil
}
