package rpc

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"

	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/native"
)

// Serve serves the methods of srv over client's connection to a node: the other clients of the node call them by name, at the node's
// address. client is a *stream.Client, whose identity may serve these services; it needs no address of its own. Several clients may
// serve one service; the node gives each call to the one with the fewest calls in progress. If the connection is lost, the
// services are offered again on the next one.
//
// When ctx ends or srv drains, the node sends no further calls. Serve completes those in progress and returns nil. The error says
// that the node refuses a service, or that the client is closed.
func Serve(ctx context.Context, client native.Node, srv *Server) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &nodeListener{stop: cancel, done: make(chan struct{})}
	srv.mu.Lock()
	err := errors.Join(srv.errs...)
	switch {
	case srv.closed:
		err = errors.New("rpc: serve calls of a node: the server is draining: make another Server")
	case err == nil:
		srv.listeners[l] = struct{}{}
	}
	srv.mu.Unlock()
	if err != nil {
		return err
	}
	defer func() {
		close(l.done)
		srv.mu.Lock()
		delete(srv.listeners, l)
		srv.mu.Unlock()
	}()
	services := srv.services()
	if len(services) == 0 {
		return errors.New("rpc: serve calls of a node: the server has no methods")
	}
	return native.Protocol{Log: srv.cfg.Log, MaxMessage: srv.cfg.MaxMessage}.Serve(ctx, client, services, srv)
}

// services returns the services of the methods, sorted by name. A node would give a call of the health service to any instance, so
// it is not one of them.
func (s *Server) services() (list []string) {
	for _, m := range s.Methods() {
		dot := strings.LastIndexByte(m.Name(), '.')
		if dot > 0 && m.Name() != HealthCheck && m.Name() != HealthWatch {
			list = append(list, m.Name()[:dot])
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// nodeListener ends a Serve when its Server drains.
type nodeListener struct {
	stop context.CancelFunc
	done chan struct{} // closed when Serve has ended
}

var _ call.Listener = (*nodeListener)(nil)

func (l *nodeListener) Addr() net.Addr { return nil }

func (l *nodeListener) Drain(ctx context.Context) error {
	l.stop()
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *nodeListener) Close() error {
	l.stop()
	return nil
}
