package native

import (
	"context"
	"fmt"
	"sync"

	"example.com/ferry/internal/peer"
	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/internal/workers"
)

// Node is a client's connection to a node that passes calls between its clients: *stream.Client.
type Node interface {
	// ServeCalls makes calls serve on the present connection and on all later ones.
	ServeCalls(calls peer.Calls) (detach func(), err error)
}

// Serve offers services to the other clients of a node, and serves their calls over the connection of n. If the connection is lost,
// it offers them again on the next one. When ctx ends, the node sends no further calls; Serve completes those in progress and returns
// nil. The error is a *wire.Error if the node refuses an offer, and otherwise the reason why n has no further connection.
func (p Protocol) Serve(ctx context.Context, n Node, services []string, service call.Service) error {
	cfg := p.resolved()
	limits := peer.DefaultCallLimits // the client has said so in HELLO
	cfg.MaxCalls, cfg.Window, cfg.StreamWindow = int(limits.Calls), int(limits.Window), int(limits.StreamWindow)
	v := &serving{cfg: cfg, service: service, names: services, sessions: map[*offering]struct{}{}, failed: make(chan error, 1)}
	defer v.workers.Close()
	detach, err := n.ServeCalls(v)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case err = <-v.failed:
	}
	detach()
	for _, o := range v.stop() {
		o.finish()
	}
	return err
}

// serving is a Serve that has not returned.
type serving struct {
	cfg     *Protocol
	service call.Service
	names   []string // of the services
	workers workers.Pool
	failed  chan error // of capacity 1

	mu       sync.Mutex
	stopped  bool
	sessions map[*offering]struct{}
}

var _ peer.Calls = (*serving)(nil)

// offering is one connection of a serving.
type offering struct {
	session
	serving   *serving
	withdrawn int           // RESULTs of withdrawn offers; the session's lock guards it
	left      chan struct{} // closed when all offers are withdrawn, or the connection is lost
	leave     sync.Once     // closes left
}

// Connected offers the services on a new connection.
func (v *serving) Connected(c *peer.Conn, w wire.WelcomeFrame) peer.CallSession {
	o := &offering{serving: v, left: make(chan struct{})}
	o.init(v.cfg, w.Limits, 1)
	o.peer, o.service, o.workers, o.handlers = c, v.service, &v.workers, &sync.WaitGroup{}
	o.remote = call.Peer{Addr: c.RemoteAddr(), TLS: c.TLS()}
	o.prepare(int(w.MaxFrame))
	if c.Version() < wire.CallVersion {
		v.fail(fmt.Errorf("rpc: the node speaks version %d of the protocol: calls need %d", c.Version(), wire.CallVersion))
		return o
	}
	v.mu.Lock()
	stopped := v.stopped
	if !stopped {
		v.sessions[o] = struct{}{}
	}
	v.mu.Unlock()
	if !stopped {
		o.offer(false)
	}
	return o
}

// Ended notes that there will be no further connection.
func (v *serving) Ended(why error) { v.fail(why) }

func (v *serving) fail(err error) {
	select {
	case v.failed <- err:
	default:
	}
}

// stop returns the connections on which services are offered. There will be no further one.
func (v *serving) stop() (all []*offering) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stopped = true
	for o := range v.sessions {
		all = append(all, o)
	}
	return all
}

// offer offers the services, or withdraws them.
func (o *offering) offer(withdraw bool) {
	o.peer.Tell(func(b []byte) []byte {
		for i, name := range o.serving.names {
			b = wire.AppendOffer(b, wire.OfferFrame{ID: uint32(i + 1), Withdraw: withdraw, Service: name})
		}
		return b
	})
}

// finish withdraws the services, waits until the node knows it, and then until the calls in progress have ended.
func (o *offering) finish() {
	o.offer(true)
	<-o.left
	o.mu.Lock()
	o.draining = true // on transports with streams, a call may arrive behind the RESULT
	o.mu.Unlock()
	o.handlers.Wait()
}

// NewReceiver returns what handles the frames of one stream.
func (o *offering) NewReceiver() peer.CallReceiver { return o.newReceiver() }

// Result handles the RESULT of an offer, or of its end.
func (o *offering) Result(v wire.ResultFrame) {
	if v.Value == wire.Withdrawn {
		o.mu.Lock()
		o.withdrawn++
		all := o.withdrawn == len(o.serving.names)
		o.mu.Unlock()
		if all {
			o.leave.Do(func() { close(o.left) })
		}
		return
	}
	if v.Code != wire.CodeOK && v.Ref > 0 && int(v.Ref) <= len(o.serving.names) {
		o.serving.fail(fmt.Errorf("rpc: serve %s: %w", o.serving.names[v.Ref-1], &wire.Error{Code: v.Code, Reason: v.Reason}))
	}
}

// Drain does nothing: the node passes no further calls on, and waits for those in progress.
func (o *offering) Drain() {}

// Closing ends the calls of the connection.
func (o *offering) Closing(why error) {
	o.serving.mu.Lock()
	delete(o.serving.sessions, o)
	o.serving.mu.Unlock()
	o.onClosing(why)
	o.leave.Do(func() { close(o.left) })
}
