package mqtt

import (
	"cmp"
	"context"

	"example.com/ferry/edge"
	"example.com/ferry/loop"
)

// Listener serves one address of a Server. All methods may overlap.
type Listener struct {
	*edge.Listener
	server    *Server
	maxPacket int // bytes
}

// Listen binds an address. The caller calls Serve, and Drain at the end.
func (v *Server) Listen(cfg ListenerConfig) (*Listener, error) {
	l := &Listener{Listener: &edge.Listener{}, server: v, maxPacket: cmp.Or(cfg.MaxPacket, 1<<20)}
	service := edge.Service{Name: "mqtt", Broker: v.cfg.Broker, Logins: v.cfg.Logins, Log: v.cfg.Log, MaxUnread: l.maxPacket + 256<<10, First: func(on *edge.Loop) loop.Handler { return newLoopState(l, on).greeting }}
	if cfg.WebSocket {
		service.Subprotocol = "mqtt" // MQTT 5.0, section 6
	}
	if err := l.Listen(cfg.Config, service); err != nil {
		return nil, err
	}
	v.mu.Lock()
	v.listeners[l] = struct{}{}
	v.mu.Unlock()
	return l, nil
}

// Drain stops accepting, disconnects the clients, and returns when all connections are closed. If ctx ends first, it resets those that
// are left and returns the error of ctx. Sessions stay.
func (l *Listener) Drain(ctx context.Context) error {
	err := l.Listener.Drain(ctx, nil)
	l.server.mu.Lock()
	delete(l.server.listeners, l)
	l.server.mu.Unlock()
	return err
}

// ListenerStats is a copy of the counters of a Listener.
type ListenerStats struct {
	Address     string
	Connections int // accepted connections that are open
}

func (l *Listener) stats() ListenerStats {
	return ListenerStats{Address: l.Addr().String(), Connections: l.Connections()}
}
