package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"example.com/ferry/broker"
	"example.com/ferry/cpu"
	"example.com/ferry/edge"
	"example.com/ferry/edge/mqtt"
	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/filelock"
	"example.com/ferry/internal/pki"
	"example.com/ferry/node/admin"
	"example.com/ferry/node/config"
	"example.com/ferry/proxy"
	"example.com/ferry/stream"
	"example.com/ferry/transport"
)

// Node is one node, made by Build.
type Node struct {
	extensions    Extensions
	log           *slog.Logger
	output        *logOutput // of log; nil if the program brought its own
	certs         *certs.Store
	id            *pki.Identity
	broker        *broker.Broker // nil, as id, inside, functions and deployed, if there are no streams
	streams       *storedStreams // nil if the node stores none
	internal      transport.Listener
	inside        transport.Transport // reaches internal, within this process
	functions     *functions
	deployed      *deployed
	links         *links           // nil if there are no streams
	bridges       *bridges         // nil if there are no streams
	bridgesInside *broker.Listener // of the clients of bridges
	data          *filelock.Lock   // of what the node writes; nil if there are no streams, and once they have ended
	nodeID        string           // in the paths of forwarded messages
	pool          *cpu.Pool        // nil if no function is heavy
	adminEnded    []<-chan error   // of the servers that Build has served: the error of each, once it has ended
	ready         chan struct{}
	reloads       reloads
	drain         drain
	vitals        *vitals
	held          atomic.Int32                  // HoldReloads
	replaced      atomic.Bool                   // another process has taken over
	cfg           atomic.Pointer[config.Config] // what the node runs

	applying  sync.Mutex // held while a configuration is applied
	serving   *serving   // guarded by applying; nil before the node is ready and after it began to drain
	outside   []*outside // guarded by applying; services of other servers
	released  bool       // guarded by applying; the streams have ended
	sensors   *sensors   // guarded by applying; nil if there are none
	adminTLS  *adminTLS  // guarded by applying; nil if the admin server has none
	token     string     // of the admin server; guarded by applying
	noActions string     // why the admin server refuses actions; guarded by applying

	logins *edge.Logins // of all listeners for devices

	mu         sync.Mutex // guards the fields below, which change only with applying held, too
	identities *broker.Identities
	listeners  []*listener
	mqtt       *mqtt.Server    // nil before there is an mqtt listener
	proxy      *proxy.Proxy    // nil if there is none
	admin      *admin.Server   // nil if there is none
	metrics    *admin.Server   // nil if there is none
	running    context.Context // of Run; nil before
}

// serving is the running node: its goroutines end when ctx does.
type serving struct {
	ctx   context.Context
	stop  context.CancelCauseFunc // ends the node; with an error, because of it
	parts parts
}

// serve accepts the clients of a listener. An error ends the node.
func (s *serving) serve(name string, l server) {
	s.parts.start("listener "+name, func() {
		if err := l.Serve(s.ctx); err != nil {
			s.stop(err)
		}
	})
}

// config returns the configuration that the node runs.
func (n *Node) config() *config.Config { return n.cfg.Load() }

// Addresses returns the addresses that clients connect to, as scheme://address with the bound ports: those of streams, then
// those of the proxy, whose schemes are http1 and bolt.
func (n *Node) Addresses() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []string
	for _, l := range n.listeners {
		all = append(all, l.cfg.Scheme()+"://"+l.bound.Addr().String())
	}
	if n.proxy != nil {
		all = append(all, n.proxy.Addresses()...)
	}
	return all
}

// Admin returns the URL of the dashboard; empty if there is no admin server.
func (n *Node) Admin() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.admin == nil {
		return ""
	}
	return n.admin.URL()
}

// Metrics returns the URL of the server for scrapers; empty if there is none.
func (n *Node) Metrics() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.metrics == nil {
		return ""
	}
	return n.metrics.URL() + "metrics"
}

// Ready is closed when the node accepts traffic and its functions run.
func (n *Node) Ready() <-chan struct{} { return n.ready }

// Run serves until ctx ends, then drains: /ready fails for drain.delay, listeners close, sources finish, queues empty, requests get
// their responses, and connections close. It returns nil if that took no longer than drain.timeout, else the error of the part that
// failed. A part that does not stop is left to the end of the process, and the error names it. Run may be called once.
func (n *Node) Run(ctx context.Context) error {
	n.mu.Lock()
	n.running = ctx
	n.mu.Unlock()
	s := &serving{}
	s.ctx, s.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	defer s.stop(nil)
	unstarted := context.AfterFunc(ctx, func() { s.stop(nil) }) // a node that starts has nothing to drain
	err := n.start(s)
	if unstarted() && err == nil {
		select {
		case <-ctx.Done():
		case <-s.ctx.Done():
			err = context.Cause(s.ctx)
		}
	}
	n.applying.Lock() // a reload that began is finished first
	n.serving = nil
	if !n.replaced.Load() {
		n.phase(PhaseDraining)
	}
	n.applying.Unlock()
	if !n.replaced.Load() {
		n.setReady(false)
		if err == nil {
			n.delay(s)
		}
	}
	s.stop(nil)
	err = errors.Join(err, n.end(), n.awaitParts(s))
	if n.output != nil {
		n.output.limit.flush()
	}
	n.log.Info("node stopped")
	return err
}

// untilDrain returns a context that ends when the node begins to drain: what ends with it keeps no lock beyond that.
func (n *Node) untilDrain() context.Context {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running == nil {
		return context.Background()
	}
	return n.running
}

// start serves the listeners and starts functions, sensors and the admin server.
func (n *Node) start(s *serving) error {
	for _, l := range n.listeners {
		s.serve(l.cfg.Address, l.served)
	}
	if n.broker != nil {
		s.serve("within the process", n.broker.NewListener(n.internal, broker.ValidateFull))
	}
	s.parts.start("vitals", func() { n.vitals.run(s.ctx) })
	for _, ended := range n.adminEnded {
		s.parts.start("admin server", func() {
			if err := <-ended; err != nil {
				s.stop(err)
			}
		})
	}
	for _, o := range n.outside {
		o.start(s)
	}
	n.awaitOffers(s.ctx)
	n.functions.startAll(s.ctx)
	if err := n.serveDeployments(s); err != nil {
		return err
	}
	if live := n.config().Live; live.Sensors {
		n.sensors = n.startSensors(live.Interval, s.stop)
	}
	n.log.Info("node ready", "addresses", n.Addresses(), "admin", n.Admin())
	n.setReady(true)
	n.applying.Lock()
	n.serving = s
	n.phase(PhaseReady)
	n.applying.Unlock()
	close(n.ready)
	return nil
}

// serveAdmin serves an admin server that a reload has made, until its Shutdown. An error ends the node.
func (n *Node) serveAdmin(s *serving, a *admin.Server) {
	s.parts.start("admin server", func() {
		if err := a.Serve(); err != nil {
			s.stop(err)
		}
	})
}

func (n *Node) setReady(ready bool) {
	for _, a := range n.adminServers() {
		a.SetReady(ready)
	}
}

func (n *Node) closeListeners() {
	for _, l := range n.listeners {
		l.close()
	}
	if n.internal != nil {
		closeQuietly(n.internal)
	}
}

// cpuStats returns the function that reads the statistics of the pool of heavy functions; nil if there is no pool.
func (n *Node) cpuStats() func() cpu.Stats {
	if n.pool == nil {
		return nil
	}
	return n.pool.Stats
}

// Close releases a node that was built but is not run.
func (n *Node) Close() {
	n.closeListeners()
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nothing is in flight
	if n.broker != nil {
		gates := n.drainGates(ctx)
		_ = n.broker.Shutdown(ctx)
		_ = gates()
		_ = n.drainEdges(ctx)
	}
	for _, o := range n.outside {
		o.close()
	}
	n.links.close(ctx, n.links.all())
	n.bridges.close(ctx, n.bridges.all())
	storing, stop := context.WithTimeout(context.Background(), phaseGrace)
	defer stop()
	_ = n.streams.close(storing)
	n.unlockData()
	if n.proxy != nil {
		_ = n.proxy.Shutdown(ctx)
	}
	for _, a := range n.adminServers() {
		_ = a.Shutdown(ctx)
	}
	n.adminTLS.Close()
}

// insideAddr is the address at which the node's own clients reach it, within this process.
const insideAddr = "node"

// insideBuffer is what a connection of one of them holds in each direction, in bytes. A goroutine is woken for each that is filled.
const insideBuffer = 16 << 10

// dial connects one of the node's own clients, with the grants of the identity local.
func (n *Node) dial(ctx context.Context, name string) (*stream.Client, error) {
	return n.dialAs(ctx, name, n.id.Token())
}

// dialAs connects one of the node's own clients with a token.
func (n *Node) dialAs(ctx context.Context, name, token string) (*stream.Client, error) {
	log := slog.New(warningsOnly{n.log.With("client", name).Handler()})
	c, err := stream.Dial(ctx, n.inside, insideAddr, &stream.Config{Name: name, Token: []byte(token), Log: log})
	if err != nil {
		return nil, fmt.Errorf("node: %w", err)
	}
	return c, nil
}

// closeQuietly closes c, whose error changes nothing any more.
func closeQuietly(c io.Closer) { _ = c.Close() }
