package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"example.com/ferry/format"
	"example.com/ferry/internal/bytesize"
	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/membudget"
	"example.com/ferry/loop"
	"example.com/ferry/loop/tlslayer"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/limit"
	"example.com/ferry/proxy/overload"
	"example.com/ferry/proxy/traffic"
)

// Proxy is a running proxy, created by New. Any goroutine may call its methods.
type Proxy struct {
	formats []format.Format
	log     *slog.Logger
	group   *loop.Group
	metrics *traffic.Metrics
	certs   *certs.Store
	layers  *tlslayer.Layers
	conns   limit.Total

	compressors []*exchange.Compressor // of the loops

	overload    *overload.Manager
	stopManager context.CancelFunc
	shedder     shedder

	nodeCertificate func() (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error)

	inherited State // of the process before, until the first configuration is in place

	reloading sync.Mutex // held from Prepare to Commit or Abort, and by Shutdown while it sets closed

	mu     sync.Mutex // guards the fields below, which change only with reloading held, too
	parts  parts
	closed bool
}

// New binds the listeners of cfg and serves them until Shutdown. formats are the formats
// that payload conditions may name. A nil log means slog.Default. If cfg is invalid, the error is an Errors with all
// errors in cfg. A failure of the system, such as a port in use, is another error. The Proxy refers to cfg, which
// must not be changed afterwards.
func New(cfg *Config, formats []format.Format, log *slog.Logger) (*Proxy, error) {
	compiled, err := cfg.CompileAfter(formats, nil)
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.Default()
	}
	allowed, source := membudget.Find()
	budget := allowed
	if cfg.Overload.Memory > 0 {
		budget, source = int64(cfg.Overload.Memory), "proxy.overload.memory"
	}
	maxConns := cfg.maxConnections(allowed)
	group, err := loop.New(cfg.loops(maxConns))
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	store := cfg.Certificates
	if store == nil {
		store = certs.NewStore(log)
	}
	log.Info("connections that are accepted", "max_connections", maxConns, "memory", bytesize.Size(budget), "from", source)
	p := &Proxy{
		formats: formats, log: log, group: group, metrics: traffic.NewMetrics(len(group.Loops())), certs: store, layers: tlslayer.New(len(group.Loops()), nil),
		parts: parts{Compiled: &Compiled{cfg: &Config{}}}, nodeCertificate: cfg.NodeCertificate, inherited: cfg.State,
	}
	for _, l := range group.Loops() {
		p.compressors = append(p.compressors, exchange.NewCompressor(l))
	}
	p.conns.SetMax(maxConns)
	p.newManager(&cfg.Overload, allowed)
	p.reloading.Lock()
	first, err := p.build(compiled)
	if err != nil {
		p.reloading.Unlock()
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = p.Shutdown(ended) // the only possible error is the cancellation of the context
		return nil, err
	}
	first.Commit()
	p.inherit()
	return p, nil
}

// Addresses returns the bound addresses of the listeners as protocol://address, in the order of the configuration.
func (p *Proxy) Addresses() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for _, b := range p.parts.bound() {
		all = append(all, string(b.Protocol)+"://"+b.Address)
	}
	return all
}

// Turn returns nil once every event loop of the proxy has called a function, or has ended. It returns the error of ctx if that
// ends first.
func (p *Proxy) Turn(ctx context.Context) error { return p.group.Turn(ctx) }

// Shutdown ends the proxy. It closes the listeners and the idle connections, and closes the other connections after
// their outstanding responses. When ctx ends, Shutdown aborts the remaining connections and returns the error of ctx.
func (p *Proxy) Shutdown(ctx context.Context) error {
	p.reloading.Lock()
	p.mu.Lock()
	again := p.closed
	p.closed = true
	p.mu.Unlock()
	p.reloading.Unlock()
	if again {
		return nil
	}
	p.stopManager()
	stop := p.endTunnels(ctx)
	err := p.group.Shutdown(ctx)
	stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.parts.clusters {
		c.stop()
	}
	for _, t := range p.parts.terminations {
		t.server.Close()
	}
	if p.parts.access != nil {
		err = errors.Join(err, p.parts.access.Close())
	}
	return err
}

// tunnelLead is how long before the end of a shutdown its WebSockets are ended by a Close frame: a tenth of its time, but no longer than this.
const tunnelLead = time.Second

// endTunnels ends the WebSockets that are left shortly before ctx is over. The result stops that.
func (p *Proxy) endTunnels(ctx context.Context) (stop func()) {
	until, bounded := ctx.Deadline()
	if !bounded {
		return func() {}
	}
	left := time.Until(until)
	timer := time.AfterFunc(left-min(left/10, tunnelLead), func() {
		p.group.Each(func(l *loop.Loop) {
			for _, h := range l.All() {
				if e, ok := h.(exchange.TunnelEnder); ok {
					e.EndTunnels()
				}
			}
		})
	})
	return func() { timer.Stop() }
}
