package node

import (
	"context"

	"example.com/ferry/proxy"
)

// proxyState is the name under which a process hands over the state of its proxy.
const proxyState = "proxy"

// newProxy starts a proxy, which shares the node's certificate files.
func (n *Node) newProxy(c *proxy.Config) (*proxy.Proxy, error) {
	cfg := *c
	cfg.Certificates, cfg.NodeCertificate, cfg.Sockets = n.certs, n.nodeCertificate, n.loopSockets()
	if err := n.extensions.Sockets.State(proxyState, &cfg.State); err != nil {
		n.log.Warn("what the process before knew of the proxy's endpoints is lost: health checks and ejections begin anew, drained endpoints get requests", "err", err)
	}
	made, err := proxy.New(&cfg, n.extensions.Formats, n.log)
	if err == nil {
		n.extensions.Sockets.HandOver(proxyState, func() any { return made.State() })
	}
	return made, err
}

// compiled returns what the proxy runs with; nil if there is no proxy.
func (n *Node) compiled() *proxy.Compiled {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proxy == nil {
		return nil
	}
	return n.proxy.Compiled()
}

// prepareProxy makes the next proxy ready: a new one, another configuration of the running one, or none.
func (n *Node) prepareProxy(r *reload) (change, error) {
	old, next, compiled := n.proxy, r.next.Proxy, r.next.TakeCompiled()
	switch {
	case old == nil && next == nil:
		return change{}, nil
	case old == nil:
		made, err := n.newProxy(next)
		if err != nil {
			return change{}, err
		}
		r.proxy = made
		return change{"added", func() { n.setProxy(made) }, func() { n.endProxy(made, r) }}, nil
	case next == nil:
		r.proxy = nil
		return change{what: "removed", commit: func() {
			n.setProxy(nil)
			n.serving.parts.start("removed proxy", func() { n.endProxy(old, r) })
		}}, nil
	}
	prepare := func() (*proxy.Change, error) { return old.PrepareCompiled(compiled) }
	if compiled == nil { // the configuration was applied before
		prepare = func() (*proxy.Change, error) { return old.Prepare(next) }
	}
	c, err := prepare()
	if err != nil {
		return change{}, err
	}
	return change{c.String(), c.Commit, c.Abort}, nil
}

func (n *Node) setProxy(p *proxy.Proxy) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.proxy = p
}

// endProxy ends a proxy after the requests in flight, or after drain.timeout.
func (n *Node) endProxy(p *proxy.Proxy, r *reload) {
	ctx, cancel := context.WithTimeout(context.Background(), r.next.Drain.Timeout)
	defer cancel()
	if err := p.Shutdown(ctx); err != nil {
		n.log.Warn("the proxy was removed before all its requests had ended", "err", err)
	}
}

// reopen opens the access log again.
func (n *Node) reopen() {
	n.applying.Lock()
	defer n.applying.Unlock()
	if n.proxy == nil {
		return
	}
	if err := n.proxy.Reopen(); err != nil {
		n.log.Error("cannot reopen the access log", "err", err)
	}
}
