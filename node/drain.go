package node

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.com/ferry/node/admin"
)

// drain is how a node ends, and how far it is. The phases follow each other, and each has a bound:
//
//	unready    /ready responds 503, and everything else goes on as before     drain.delay
//	requests   listeners are closed; requests, calls and messages end         drain.timeout
//	functions  functions stop; links to other nodes store what they have      phaseGrace
//	storing    the engine stores what was published                           phaseGrace
type drain struct {
	mu    sync.Mutex
	phase admin.DrainPhase

	delayed func(time.Duration) <-chan time.Time // nil means time.After
}

// phaseGrace is the least time of a phase behind the clients', which may have taken all of drain.timeout.
const phaseGrace = 2 * time.Second

// enter begins a phase.
func (n *Node) enter(p admin.DrainPhase, bound time.Duration) {
	n.drain.mu.Lock()
	n.drain.phase = p
	n.drain.mu.Unlock()
	n.log.Info("node draining", "phase", p.String(), "at_most", bound)
}

// drainPhase returns the phase of the node.
func (n *Node) drainPhase() admin.DrainPhase {
	n.drain.mu.Lock()
	defer n.drain.mu.Unlock()
	return n.drain.phase
}

// delay lets load balancers see that the node is not ready, while it goes on serving. It ends early if the node fails.
func (n *Node) delay(s *serving) {
	d := n.config().Drain.Delay
	if d <= 0 {
		return
	}
	n.enter(admin.DrainUnready, d)
	after := time.After
	if n.drain.delayed != nil {
		after = n.drain.delayed
	}
	select {
	case <-after(d):
	case <-s.ctx.Done():
	}
}

// end stops the parts in the order in which a message meets them, so that no message is lost between two of them.
func (n *Node) end() error {
	timeout := n.config().Drain.Timeout
	n.enter(admin.DrainRequests, timeout)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var proxied, streamed error
	var wg sync.WaitGroup
	if n.proxy != nil {
		wg.Go(func() { proxied = n.stop(ctx, "proxy", func() error { return n.proxy.Shutdown(ctx) }) })
	}
	if !n.released {
		streamed = n.endClients(ctx)
	}
	wg.Wait()
	err := errors.Join(streamed, proxied)
	if !n.released {
		err = errors.Join(err, n.endStreams(ctx))
	} else if n.broker != nil {
		n.broker.CloseKept() // if no node replaces this one, LeaveTo was not called
	}
	for _, a := range n.adminServers() {
		err = errors.Join(err, n.stop(canceled, "admin server", func() error { return endAdmin(a) }))
	}
	n.adminTLS.Close()
	return err
}

// endClients ends the sensors, closes the listeners and ends the clients of streams.
func (n *Node) endClients(ctx context.Context) error {
	err := n.stop(ctx, "sensors", func() error { n.sensors.stop(); return nil })
	err = errors.Join(err, n.stop(ctx, "listeners", func() error { n.closeListeners(); return nil }))
	if n.broker == nil {
		return err
	}
	gates := n.drainGates(ctx)
	end := n.broker.Shutdown
	if n.released {
		end = n.broker.HandOver
	}
	err = errors.Join(err, n.stop(ctx, "broker", func() error { return end(ctx) }))
	err = errors.Join(err, n.stop(ctx, "listeners of gRPC", gates))
	return errors.Join(err, n.stop(ctx, "listeners of HTTP and MQTT", func() error { return n.drainEdges(ctx) }))
}

// endStreams stops what is behind the clients. before had the time of their phase.
func (n *Node) endStreams(before context.Context) error {
	ctx, cancel := n.grace(before, admin.DrainFunctions)
	defer cancel()
	err := n.stop(ctx, "functions", func() error { n.functions.stopAll(); return nil })
	err = errors.Join(err, n.stop(ctx, "links and bridges", func() error {
		n.links.close(ctx, n.links.all())
		n.bridges.close(ctx, n.bridges.all())
		return nil
	}))
	if n.pool != nil {
		err = errors.Join(err, n.stop(ctx, "heavy functions", func() error { n.pool.Close(); return nil }))
	}
	storing, cancel := n.grace(ctx, admin.DrainStoring)
	defer cancel()
	err = errors.Join(err, n.stop(storing, "engine", func() error { return n.streams.close(storing) }))
	n.unlockData()
	return err
}

// grace begins a phase that has what the one before has left of its time, and at least phaseGrace.
func (n *Node) grace(before context.Context, p admin.DrainPhase) (context.Context, context.CancelFunc) {
	bound := phaseGrace
	if deadline, ok := before.Deadline(); ok {
		bound = max(bound, time.Until(deadline))
	}
	n.enter(p, bound.Round(time.Millisecond))
	return context.WithTimeout(context.WithoutCancel(before), bound)
}
