package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"example.com/ferry/format"
	"example.com/ferry/loop"
	"example.com/ferry/proxy/traffic"
)

// Proxy is a running proxy, made by New. Its methods may be called by any goroutine.
type Proxy struct {
	formats []format.Format
	log     *slog.Logger
	group   *loop.Group
	metrics *traffic.Metrics

	mu     sync.Mutex // of what follows
	parts  parts
	closed bool
}

// New binds the listeners of cfg and serves them from then on; Shutdown, or the end of Run, ends that. formats are those that
// payloads may be named in. A nil log means slog.Default. An invalid cfg gives Errors, all at once; a failure of
// the system, such as a busy port, gives another error. cfg is kept and must not be changed.
func New(cfg *Config, formats []format.Format, log *slog.Logger) (*Proxy, error) {
	tables, err := cfg.compile(formats)
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.Default()
	}
	group, err := loop.New(cfg.loops())
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	log.Info("connections that are accepted", "max_connections", cmp.Or(cfg.MaxConnections, loop.DefaultMaxConns()))
	p := &Proxy{
		formats: formats, log: log, group: group, metrics: traffic.NewMetrics(len(group.Loops())),
		parts: parts{cfg: &Config{}},
	}
	if err := p.change(cfg, tables); err != nil {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = p.Shutdown(ended) // all it can say is that ended has ended
		return nil, err
	}
	return p, nil
}

// Addresses returns the bound addresses of the listeners, as protocol://address, in the order of the configuration.
func (p *Proxy) Addresses() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for _, b := range p.parts.bound() {
		all = append(all, string(b.Protocol)+"://"+b.Address)
	}
	return all
}

// Shutdown ends the proxy: it closes the listeners and idle connections, and the others behind their outstanding responses. When
// ctx ends, it resets the remaining connections and returns the error of ctx.
func (p *Proxy) Shutdown(ctx context.Context) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	p.mu.Unlock()
	err := p.group.Shutdown(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.parts.clusters {
		c.stop()
	}
	if p.parts.access != nil {
		err = errors.Join(err, p.parts.access.Close())
	}
	return err
}
