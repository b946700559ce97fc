package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"example.com/ferry/cpu"
	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/pki"
	"example.com/ferry/node/admin"
	"example.com/ferry/node/config"
	"example.com/ferry/proxy"
	"example.com/ferry/stream"
	"example.com/ferry/stream/hop"
	"example.com/ferry/transport"
)

// Node is one node, made by Build.
type Node struct {
	cfg        *config.Config
	extensions Extensions
	log        *slog.Logger
	id         *pki.Identity
	hop        *hop.Broker // nil, as id and inside, if there are no streams
	certs      *certs.Store
	servers    []*certs.Server // those of listeners with certificate files
	listeners  []listener
	inside     endpoint // reaches the broker within this process
	near       endpoint // a listener the node's own clients may use; else inside
	functions  functions
	pool       *cpu.Pool    // nil if no function is heavy
	proxy      *proxy.Proxy // nil if there is none
	admin      *admin.Server
	ready      chan struct{}
}

// listener is a bound address.
type listener struct {
	transport.Listener
	scheme   string
	validate hop.Validation
}

// endpoint is where the node's own clients connect.
type endpoint struct {
	transport transport.Transport
	addr      string
}

// Addresses returns the addresses that clients connect to, as scheme://address with the bound ports: those of streams, then
// those of the proxy, whose schemes are http1 and bolt.
func (n *Node) Addresses() []string {
	var all []string
	for _, l := range n.listeners {
		if l.scheme != "memory" {
			all = append(all, l.scheme+"://"+l.Addr().String())
		}
	}
	if n.proxy != nil {
		all = append(all, n.proxy.Addresses()...)
	}
	return all
}

// Admin returns the URL of the dashboard; empty if there is no admin server.
func (n *Node) Admin() string {
	if n.admin == nil {
		return ""
	}
	return "http://" + n.admin.Addr().String() + "/"
}

// Ready is closed when the node accepts traffic and its functions run.
func (n *Node) Ready() <-chan struct{} { return n.ready }

// Run serves until ctx ends, then drains: it accepts no connections, sources finish, queues empty, requests get their responses,
// and connections close. It returns nil if the drain took no longer than limits.drain_timeout, else the error of the part that
// failed. Run may be called once.
func (n *Node) Run(ctx context.Context) error {
	serving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	for _, l := range n.listeners {
		wg.Go(func() {
			if err := n.hop.Serve(serving, l, l.validate); err != nil {
				stop(err)
			}
		})
	}
	if n.admin != nil {
		wg.Go(func() {
			if err := n.admin.Serve(); err != nil {
				stop(err)
			}
		})
	}
	err := n.functions.startAll(serving)
	var input sync.WaitGroup
	if err == nil {
		if n.cfg.Live.Sensors {
			input.Go(func() {
				if err := n.live(serving); err != nil && serving.Err() == nil {
					stop(fmt.Errorf("node: sensors: %w", err))
				}
			})
		}
		n.log.Info("node ready", "addresses", n.Addresses(), "admin", n.Admin())
		n.setReady(true)
		close(n.ready)
		<-serving.Done()
		if cause := context.Cause(serving); ctx.Err() == nil {
			err = cause
		}
	}
	n.log.Info("node draining", "timeout", n.cfg.Limits.DrainTimeout)
	stop(nil)
	n.setReady(false)
	input.Wait()
	err = errors.Join(err, n.drain())
	wg.Wait()
	n.log.Info("node stopped")
	return err
}

func (n *Node) setReady(ready bool) {
	if n.admin != nil {
		n.admin.SetReady(ready)
	}
}

// drain stops the parts in the order in which a message meets them, so that no message is lost between two of them.
func (n *Node) drain() error {
	ctx, cancel := context.WithTimeout(context.Background(), n.cfg.Limits.DrainTimeout)
	defer cancel()
	for _, l := range n.listeners {
		closeQuietly(l)
	}
	var proxied error
	var wg sync.WaitGroup
	if n.proxy != nil {
		wg.Go(func() { proxied = n.proxy.Shutdown(ctx) })
	}
	var err error
	if n.hop != nil {
		err = n.hop.Shutdown(ctx)
	}
	n.functions.stopAll()
	if n.pool != nil {
		n.pool.Close()
	}
	for _, s := range n.servers {
		s.Close()
	}
	wg.Wait()
	err = errors.Join(err, proxied)
	if n.admin != nil {
		grace, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err = errors.Join(err, n.admin.Shutdown(grace))
	}
	return err
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
	for _, l := range n.listeners {
		closeQuietly(l)
	}
	for _, s := range n.servers {
		s.Close()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nothing is in flight
	if n.hop != nil {
		_ = n.hop.Shutdown(ctx)
	}
	if n.proxy != nil {
		_ = n.proxy.Shutdown(ctx)
	}
	if n.admin != nil {
		_ = n.admin.Shutdown(ctx)
	}
}

// dial connects one of the node's own clients: over a listener if one is trusted, else within the process.
func (n *Node) dial(ctx context.Context, name string) (*stream.Client, error) {
	to := n.near
	if to.transport == nil {
		to = n.inside
	}
	return n.dialTo(ctx, to, name)
}

func (n *Node) dialTo(ctx context.Context, to endpoint, name string) (*stream.Client, error) {
	log := slog.New(warningsOnly{n.log.With("client", name).Handler()})
	c, err := stream.Dial(ctx, to.transport, to.addr, &stream.Config{Name: name, Token: []byte(n.id.Token()), Log: log})
	if err != nil {
		return nil, fmt.Errorf("node: %w", err)
	}
	return c, nil
}

// closeQuietly closes c, whose error changes nothing any more.
func closeQuietly(c io.Closer) { _ = c.Close() }
