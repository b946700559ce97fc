package proxy

import (
	"context"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"time"

	"example.com/ferry/internal/pace"
	"example.com/ferry/loop"
	"example.com/ferry/proxy/bolt"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/http1"
	"example.com/ferry/proxy/http2"
	"example.com/ferry/proxy/limit"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// logGrace is how long the access log of a replaced configuration stays open, for requests that began before the
// reload.
const logGrace = time.Minute

// driver is the Service of a protocol: of proxy/bolt, proxy/http1 or proxy/http2.
type driver interface {
	Owns(loop.Handler) bool
	IdleUntil(*loop.Conn, loop.Handler) (until time.Duration, isIdle bool)
}

// service has the drivers of a listener's protocol: two for HTTP, whose clients choose the version.
type service struct {
	drivers []driver
	accept  loop.AcceptFunc
	use     func(*Listener, *exchange.Plan)
}

func newService(l *Listener, loops int) service {
	switch l.Protocol {
	case Bolt:
		s := bolt.New(&l.Bolt, loops)
		return service{[]driver{s}, s.Accept, func(l *Listener, p *exchange.Plan) { s.Use(&l.Bolt, p) }}
	case HTTP1:
		s := http1.New(&l.HTTP1, loops)
		return service{[]driver{s}, s.Accept, func(l *Listener, p *exchange.Plan) { s.Use(&l.HTTP1, p) }}
	case HTTP2:
		s := http2.New(l.http2(), loops)
		return service{[]driver{s}, s.Accept, func(l *Listener, p *exchange.Plan) { s.Use(l.http2(), p) }}
	}
	one, two := http1.New(&l.HTTP1, loops), http2.New(l.http2(), loops)
	return service{[]driver{one, two}, two.AcceptBoth(one.Accept), func(l *Listener, p *exchange.Plan) {
		one.Use(&l.HTTP1, p)
		two.Use(l.http2(), p)
	}}
}

// Owns reports whether h handles a client's connection of the listener.
func (s *service) Owns(h loop.Handler) bool {
	return slices.ContainsFunc(s.drivers, func(d driver) bool { return d.Owns(h) })
}

// IdleUntil returns when an unused connection of a client will be closed; 0 means never. isIdle is false if the connection is in use, or is none of s.
func (s *service) IdleUntil(c *loop.Conn, h loop.Handler) (until time.Duration, isIdle bool) {
	for _, d := range s.drivers {
		if until, isIdle = d.IdleUntil(c, h); isIdle {
			break
		}
	}
	return until, isIdle
}

// parts are the objects that a reload replaces.
type parts struct {
	*Compiled
	access    *traffic.Log
	listeners map[string]*listener      // key is the listener's name
	plans     map[string]*exchange.Plan // of the listeners, by the same key
	clusters  map[string]*cluster

	terminations []*termination // each TLS configuration of the listeners once
}

// listener is a bound address and its service.
type listener struct {
	cfg     *Listener
	service *terminator
	socket  *loop.Listener
	counts  *traffic.Listener
	limits  *limit.Connections
	rate    *limit.Rate  // nil: requests are not limited
	tls     *termination // nil for cleartext
}

// bound returns the bound addresses of the listeners, in the order of the configuration.
func (p *parts) bound() []Bound {
	var all []Bound
	for i := range p.cfg.Listeners {
		name := p.cfg.Listeners[i].name()
		l := p.listeners[name]
		all = append(all, Bound{name, l.cfg.Protocol, l.socket.Addr().String()})
	}
	return all
}

// listenerAt returns the listener that is bound to l's address, or nil. The names may differ, except on port 0:
// there, only the name identifies a listener.
func (p *parts) listenerAt(l *Listener) *listener {
	if strings.HasSuffix(l.Address, ":0") {
		if bound := p.listeners[l.name()]; bound != nil && bound.cfg.Address == l.Address {
			return bound
		}
		return nil
	}
	for _, bound := range p.listeners {
		if bound.cfg.Address == l.Address {
			return bound
		}
	}
	return nil
}

// cluster is a running cluster.
type cluster struct {
	*upstream.Cluster
	cfg  *upstream.Config
	stop context.CancelFunc // ends Run
}

// Reload replaces the configuration by cfg, which must not be changed afterwards: it is Prepare and Commit.
func (p *Proxy) Reload(cfg *Config) error {
	c, err := p.Prepare(cfg)
	if err != nil {
		return err
	}
	c.Commit()
	return nil
}

// Change is a configuration that Prepare has made ready. The caller calls either Commit or Abort, once.
type Change struct {
	proxy *Proxy
	next  parts
	plans []*exchange.Plan
	added []*listener // bound, and not started
}

// Prepare makes everything ready that another configuration needs, and leaves the running one in use: it binds new
// addresses, which accept no connections before Commit, resolves names and opens the access log. Routes that stay keep their rate limits
// and retry budgets: see Config.CompileAfter. cfg must not be changed afterwards. If it is invalid, the error is an Errors, and it names
// settings of the loops that cannot change. Another Prepare, and Shutdown, wait for Commit or Abort.
func (p *Proxy) Prepare(cfg *Config) (*Change, error) {
	compiled, err := cfg.CompileAfter(p.formats, p.Compiled())
	if err != nil {
		return nil, err
	}
	return p.PrepareCompiled(compiled)
}

// Compiled returns the configuration that the proxy runs with.
func (p *Proxy) Compiled() *Compiled {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.parts.Compiled
}

// PrepareCompiled is Prepare for a configuration that was compiled with the formats of the proxy. It is called once for each.
func (p *Proxy) PrepareCompiled(compiled *Compiled) (*Change, error) {
	p.reloading.Lock()
	c, err := p.prepare(compiled)
	if err != nil {
		p.reloading.Unlock()
		return nil, err
	}
	return c, nil
}

// prepare is Prepare with reloading held, which makes parts and closed constant.
func (p *Proxy) prepare(compiled *Compiled) (*Change, error) {
	if p.closed {
		return nil, fmt.Errorf("proxy: reload: %w", net.ErrClosed)
	}
	if err := p.parts.fixed(compiled.cfg); err != nil {
		return nil, err
	}
	return p.build(compiled)
}

// fixed returns an error for each setting in which cfg differs from p though it cannot change while the proxy runs.
func (p *parts) fixed(cfg *Config) error {
	var errs Errors
	for _, f := range []struct {
		name     string
		old, now any
	}{
		{"loops", p.cfg.Loops, cfg.Loops},
		{"reuse_port", p.cfg.ReusePort, cfg.ReusePort},
		{"goroutines", p.cfg.Goroutines, cfg.Goroutines},
	} {
		if f.old != f.now {
			errs.Add("proxy", f.name, "changed from %v to %v: that needs a restart", f.old, f.now)
		}
	}
	for i := range cfg.Listeners {
		l, field := &cfg.Listeners[i], fmt.Sprintf("listeners[%d].", i)
		if old := p.listenerAt(l); old != nil && old.cfg.Protocol != l.Protocol {
			errs.Add("proxy", field+"protocol", "changed from %s to %s at the same address: that needs a restart", old.cfg.Protocol, l.Protocol)
		}
	}
	return errs.Err()
}

// String describes the difference for a log; it is empty if there is none.
func (c *Change) String() string {
	old, next := c.proxy.parts.cfg, c.next.cfg
	var parts []string
	if !slices.EqualFunc(old.Listeners, next.Listeners, sameListener) {
		parts = append(parts, "listeners")
	}
	for _, p := range []struct {
		name     string
		old, now any
	}{
		{"error_pages", slices.Concat(c.proxy.parts.pages...), slices.Concat(c.next.pages...)}, // with the content of their files
		{"clusters", old.Clusters, next.Clusters},
		{"access_log", old.AccessLog, next.AccessLog},
		{"max_connections", old.MaxConnections, next.MaxConnections},
		{"overload", old.Overload, next.Overload},
	} {
		if !reflect.DeepEqual(p.old, p.now) {
			parts = append(parts, p.name)
		}
	}
	return strings.Join(parts, ", ")
}

// sameListener compares two listeners, whose routes may be thousands. Most are lists that both share.
func sameListener(a, b Listener) bool {
	if !slices.EqualFunc(a.VirtualHosts, b.VirtualHosts, func(a, b route.VirtualHost) bool {
		pace.Step()
		return slices.Equal(a.Hosts, b.Hosts) && sameRules(a.Routes, b.Routes)
	}) || !sameRules(a.Routes, b.Routes) {
		return false
	}
	a.VirtualHosts, a.Routes, b.VirtualHosts, b.Routes = nil, nil, nil, nil
	return reflect.DeepEqual(a, b)
}

func sameRules(a, b []route.Rule) bool {
	if len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] {
		return true
	}
	return slices.EqualFunc(a, b, func(a, b route.Rule) bool {
		pace.Step()
		return reflect.DeepEqual(&a, &b)
	})
}

// Commit puts the configuration in place. Unchanged listeners and clusters keep their connections. Requests in progress use
// the configuration before until they end.
func (c *Change) Commit() {
	p, next := c.proxy, &c.next
	for name, made := range next.clusters {
		if before := p.parts.clusters[name]; before != nil && before.Cluster != made.Cluster {
			made.Succeed(before.Cluster)
		}
	}
	for i := range next.cfg.Listeners {
		l := &next.cfg.Listeners[i]
		bound := next.listeners[l.name()]
		bound.limits.Use(&l.Limits, c.plans[i].Listener)
		bound.service.use(l, c.plans[i])
		bound.service.terminate(bound.tls, c.plans[i].Listener, l.Limits.Handshakes)
	}
	p.mu.Lock()
	old := p.parts
	p.parts = c.next
	p.mu.Unlock()
	for _, l := range c.added {
		if err := l.socket.Start(); err != nil {
			p.log.Error("a new listener does not accept connections: reload again", "listener", l.cfg.name(), "err", err)
		}
	}
	p.shedder.use(&c.next)
	p.setMaxConnections(c.next.cfg)
	p.overload.Use(&c.next.cfg.Overload)
	p.drainOutdated(&old)
	p.giveUp(old, c.next)
	p.keep(c.plans)
	p.reloading.Unlock()
}

// Abort releases what Prepare has made.
func (c *Change) Abort() {
	c.proxy.giveUp(c.next, c.proxy.parts)
	c.proxy.reloading.Unlock()
}

// Reopen closes the access log's file and opens the path again. It is called after the file was moved.
func (p *Proxy) Reopen() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.parts.access == nil {
		return nil
	}
	return p.parts.access.Reopen()
}

// build creates the objects that a configuration adds. The caller holds reloading.
func (p *Proxy) build(compiled *Compiled) (_ *Change, err error) {
	old, cfg := p.parts, compiled.cfg
	next := parts{Compiled: compiled, access: old.access, listeners: map[string]*listener{}, plans: map[string]*exchange.Plan{}, clusters: map[string]*cluster{}}
	defer func() {
		if err != nil {
			p.giveUp(next, old)
		}
	}()
	if cfg.AccessLog != old.cfg.AccessLog {
		if next.access, err = traffic.OpenLog(&cfg.AccessLog, p.log); err != nil {
			return nil, fmt.Errorf("proxy: access_log: %w", err)
		}
	}
	known := map[string]*upstream.Cluster{}
	for i := range cfg.Clusters {
		c := &cfg.Clusters[i]
		made := old.clusters[c.Name]
		if made == nil || !reflect.DeepEqual(made.cfg, c) {
			if made, err = p.newCluster(c, made, p.inherited.Clusters[c.Name]); err != nil {
				return nil, err
			}
		}
		next.clusters[c.Name], known[c.Name] = made, made.Cluster
	}
	plans := make([]*exchange.Plan, len(cfg.Listeners))
	staying, leaving := map[*listener]bool{}, []*loop.Listener{}
	for i := range cfg.Listeners {
		staying[old.listenerAt(&cfg.Listeners[i])] = true
	}
	for _, l := range old.listeners {
		if !staying[l] {
			leaving = append(leaving, l.socket)
		}
	}
	var added []*listener
	for i := range cfg.Listeners {
		l := &cfg.Listeners[i]
		plans[i] = exchange.NewPlan(old.plans[l.name()], l.name(), compiled.tables[i], known, p.metrics, next.access)
		next.plans[l.name()] = plans[i]
		plans[i].MaxDuration, plans[i].Overload = l.Limits.MaxDuration, p.overload.State()
		plans[i].Dates, plans[i].AsIs, plans[i].ReasonHeader = true, l.Path == route.AsIs, l.ReasonHeader
		plans[i].Compression, plans[i].Compressors = l.Compression, p.compressors
		plans[i].ErrorPages = compiled.pages[i]
		plans[i].Connectors = connectors(l, plans[i].Clusters, len(p.group.Loops()))
		if bound := old.listenerAt(l); bound != nil {
			plans[i].Listener = bound.counts.Renamed(l.name())
			terminated, err := p.terminate(l, &old, &next)
			if err != nil {
				return nil, err
			}
			plans[i].Terms = terminated.demands()
			plans[i].Rate = bound.rate
			if !limit.SameRate(&bound.cfg.Limits, &l.Limits) { // otherwise clients keep their tokens
				plans[i].Rate = limit.NewRate(&l.Limits)
			}
			next.listeners[l.name()] = &listener{l, bound.service, bound.socket, plans[i].Listener, bound.limits, plans[i].Rate, terminated}
			continue
		}
		if namesake := old.listeners[l.name()]; namesake != nil && staying[namesake] { // namesake is renamed and keeps its counters, so l gets new ones
			plans[i].Listener = p.metrics.NewListener(l.name())
		}
		plans[i].Rate = limit.NewRate(&l.Limits)
		terminated, err := p.terminate(l, &old, &next)
		if err != nil {
			return nil, err
		}
		plans[i].Terms = terminated.demands()
		made, err := p.bind(l, plans[i], terminated, leaving)
		if err != nil {
			return nil, err
		}
		next.listeners[l.name()] = made
		added = append(added, made)
	}
	return &Change{p, next, plans, added}, nil
}

// keep removes the counters of listeners and routes that are in no plan.
func (p *Proxy) keep(plans []*exchange.Plan) {
	var listeners []*traffic.Listener
	var routes []*traffic.Route
	for _, plan := range plans {
		listeners = append(listeners, plan.Listener)
		routes = append(routes, plan.Routes...)
	}
	p.metrics.Keep(listeners, routes)
}

// newCluster creates a cluster and starts its name lookups and health checks. before is the cluster of the same name, or
// nil. states are those of its endpoints in the process before.
func (p *Proxy) newCluster(c *upstream.Config, before *cluster, states map[string]upstream.EndpointState) (*cluster, error) {
	shared := upstream.Shared{Layers: p.layers, Certificates: p.certs, States: states}
	if before != nil {
		shared.Before = before.Cluster
	}
	made, err := upstream.NewShared(c, p.group, p.log, shared)
	if err != nil {
		return nil, fmt.Errorf("proxy: cluster %s: %w", c.Name, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	go made.Run(ctx)
	return &cluster{made, c, stop}, nil
}

// bind binds the address of a listener. leaving are those that will be closed once it is started.
func (p *Proxy) bind(l *Listener, plan *exchange.Plan, terminated *termination, leaving []*loop.Listener) (*listener, error) {
	s := newService(l, len(p.group.Loops()))
	s.use(l, plan)
	t := newTerminator(s, p.layers, p.log)
	t.terminate(terminated, plan.Listener, l.Limits.Handshakes)
	at, err := loop.ParseAddr(l.Address)
	if err != nil {
		return nil, fmt.Errorf("proxy: listener %s: %w", l.name(), err)
	}
	limits := limit.NewConnections(&p.conns)
	limits.Use(&l.Limits, plan.Listener)
	socket, err := p.group.Bind(at, limits, t.Accept, leaving...)
	if err != nil {
		return nil, fmt.Errorf("proxy: listener %s: %w", l.name(), err)
	}
	return &listener{l, t, socket, plan.Listener, limits, plan.Rate, terminated}, nil
}

// giveUp closes the objects of past that are not in kept. It closes listeners first, and their clients still get
// outstanding responses. Then it closes clusters, whose connections are closed when idle.
func (p *Proxy) giveUp(past, kept parts) {
	sockets := map[*loop.Listener]bool{}
	for _, l := range kept.listeners {
		sockets[l.socket] = true
	}
	for name, l := range past.listeners {
		if sockets[l.socket] {
			continue
		}
		if err := l.socket.Close(); err != nil {
			p.log.Warn("closing a listener", "listener", name, "err", err)
		}
		for _, each := range p.group.Loops() {
			_ = each.PostWait(context.Background(), func() { drain(each, l.service, nil) }) // an error means that the loop has ended, so it has no connections
		}
	}
	for _, t := range past.terminations {
		if !slices.Contains(kept.terminations, t) {
			t.server.Close()
		}
	}
	for name, c := range past.clusters {
		if k := kept.clusters[name]; k == nil || k.Cluster != c.Cluster {
			c.stop()
			c.Close()
		}
	}
	if access := past.access; access != nil && access != kept.access {
		time.AfterFunc(logGrace, func() {
			if err := access.Close(); err != nil {
				p.log.Warn("closing the access log of the configuration before", "err", err)
			}
		})
	}
}

// drain closes the connections of a listener for which outdated holds, after their outstanding responses; WebSockets end by a Close frame. A nil outdated
// holds for all.
func drain(l *loop.Loop, s *terminator, outdated func(*loop.Conn) bool) {
	for c, h := range l.All() {
		if d, ok := h.(loop.Shutdowner); ok && s.Owns(h) && (outdated == nil || outdated(c)) {
			d.Shutdown(c)
			if e, ok := h.(exchange.TunnelEnder); ok {
				e.EndTunnels()
			}
		}
	}
}

// drainOutdated drains the connections that the TLS of their listener would not accept any more, after a reload that has replaced old. Until they
// are closed, their requests are refused.
func (p *Proxy) drainOutdated(old *parts) {
	for i := range p.parts.cfg.Listeners {
		l := &p.parts.cfg.Listeners[i]
		next, before := p.parts.listeners[l.name()], old.listenerAt(l)
		if next.tls == nil || before == nil || before.tls != nil && before.tls.terms == next.tls.terms {
			continue
		}
		for _, each := range p.group.Loops() {
			_ = each.PostWait(context.Background(), func() { // an error means that the loop has ended
				drain(each, next.service, func(c *loop.Conn) bool {
					secure, ok := c.Layer().(*serverLayer)
					return !ok || secure.settings.terms != next.tls.terms
				})
			})
		}
	}
}
