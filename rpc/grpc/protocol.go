package grpc

import (
	"cmp"
	"context"
	"fmt"

	"example.com/ferry/internal/grpcwire"
	"example.com/ferry/rpc/call"
	"example.com/ferry/transport"
)

// Protocol is gRPC. The zero value works.
type Protocol struct {
	// Config is copied by Dial and Listen. Nil means the zero value.
	Config *Config
}

var _ call.Protocol = Protocol{}

// Name returns grpc.
func (Protocol) Name() string { return "grpc" }

// Dial connects to addr. It returns when the server has shown that it speaks HTTP/2. A transport with TLS offers h2.
func (p Protocol) Dial(ctx context.Context, t transport.Transport, addr string) (call.Conn, error) {
	cfg, err := p.config()
	if err != nil {
		return nil, err
	}
	nc, err := negotiating(t).Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return newClientConn(ctx, nc, addr, cfg)
}

// Listen serves calls on addr. A transport with TLS chooses h2.
func (p Protocol) Listen(ctx context.Context, t transport.Transport, addr string, s call.Service) (call.Listener, error) {
	cfg, err := p.config()
	if err != nil {
		return nil, err
	}
	inner, err := negotiating(t).Listen(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("grpc: listen on %s: %w", addr, err)
	}
	cfg.IdleTimeout = cmp.Or(cfg.IdleTimeout, DefaultIdleTimeout)
	return newListener(inner, cfg, s), nil
}

func (p Protocol) config() (*Config, error) {
	if p.Config != nil {
		if err := p.Config.Check(); err != nil {
			return nil, err
		}
	}
	cfg := p.Config.withDefaults()
	return &cfg, nil
}

// negotiating returns a transport that agrees with the peer on HTTP/2, if t can do so.
func negotiating(t transport.Transport) transport.Transport {
	if n, ok := t.(transport.Negotiator); ok {
		return n.WithALPN(grpcwire.ALPN)
	}
	return t
}
