package node

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"time"

	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/pki"
	"example.com/ferry/node/admin"
	"example.com/ferry/node/config"
	"example.com/ferry/proxy"
)

// adminTLS is the certificate of the admin server. A nil *adminTLS is cleartext.
type adminTLS struct{ *certs.Server }

// Close ends the watching of the certificate files.
func (a *adminTLS) Close() {
	if a != nil {
		a.Server.Close()
	}
}

// newAdminTLS reads the certificate of the admin server: that of the configuration, or beyond loopback the node's own. It
// returns nil for a server in cleartext.
func (n *Node) newAdminTLS(c config.Admin) (*adminTLS, error) {
	base := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	var pairs []certs.Files
	switch {
	case c.Address == "":
		return nil, nil
	case c.CertFile != "":
		pairs = []certs.Files{{CertFile: c.CertFile, KeyFile: c.KeyFile}}
	case c.OwnCertificate():
		own, err := n.nodeCertificate()
		if err != nil {
			return nil, fmt.Errorf("admin: the node's certificate: %w", err)
		}
		base.GetCertificate = own
	default:
		return nil, nil
	}
	s, err := n.certs.Server(base, pairs, "")
	if err != nil {
		return nil, fmt.Errorf("admin: %w", err)
	}
	return &adminTLS{s}, nil
}

// adminConfig returns the configuration of the admin server. Parts that the node lacks are nil.
func (n *Node) adminConfig(cfg *config.Config, shown *proxy.Proxy, secured *adminTLS) (admin.Config, error) {
	c := admin.Config{
		Address: cfg.Admin.Address, Hosts: cfg.Admin.Hosts, Formats: n.extensions.Formats, Log: n.log, CPU: n.cpuStats(),
		Certificates: n.certs.Snapshot, Reloads: n.reloads.load, Drain: n.drainPhase, Vitals: n.vitals.load, Outages: n.outages, Plan: n.planJSON,
		Upgrade: n.extensions.Upgrade, Sockets: n.extensions.Sockets, Version: n.extensions.Version,
	}
	var err error
	if c.Token, err = cfg.Admin.Token(); err != nil {
		return c, fmt.Errorf("admin.token_file: %w", err)
	}
	if secured != nil {
		c.TLS = secured.Config()
	}
	c.Configuration = func() ([]byte, error) { return n.config().ResolvedJSON() }
	if n.output != nil {
		c.LogLevels = n.output
	}
	c.Connections = connections{n.broker, n.schemeOf, shown}
	if n.broker != nil {
		c.Snapshot, c.Services, c.Tap, c.Functions = n.broker.Snapshot, n.broker.Services, n.tap, n.functions
		c.Links, c.Bridges = n.links.Stats, n.bridges.Stats
		c.Web, c.MQTT, c.Logins = n.webStats, n.mqttServer, n.logins
	}
	n.actionToken(cfg, &c)
	if n.id != nil {
		if n.broker != nil || len(cfg.Listeners) == 0 { // an archive lacks no stream that is not opened yet
			c.Archiver = archiver{n.streams, n.mqttServer}
		}
	}
	if n.streams != nil {
		c.Streams = n.streams
	}
	if shown != nil {
		c.Proxy, c.Overload, c.Endpoints = shown.Snapshot, shown.Overload, shown
	}
	return c, nil
}

// actionToken has actions ask for the token of the data directory. A node that needs nothing else of it makes only the token there, and runs
// without actions if it cannot, such as in a read-only file system. The directory is that of the running node: a reload that names another
// one is refused.
func (n *Node) actionToken(cfg *config.Config, c *admin.Config) {
	if n.id != nil {
		c.LocalToken = n.id.Token()
	} else if cfg.Admin.Address != "" && c.Token == "" {
		var err error
		if c.LocalToken, err = pki.OpenToken(n.config().DataDir); err != nil {
			c.NoActions = err.Error()
		}
	}
	if c.NoActions != "" && c.NoActions != n.noActions {
		n.log.Warn("the admin server refuses all actions, such as ferry upgrade: set admin.token_file, or make data_dir writable", "err", c.NoActions)
	}
	n.noActions = c.NoActions
}

// forScrapers returns the configuration of the server at admin.metrics_address.
func forScrapers(c admin.Config, cfg *config.Config) admin.Config {
	c.Address, c.ReadOnly, c.Token, c.TLS = cfg.Admin.MetricsAddress, true, "", nil
	return c
}

// newAdminServers binds the admin server and the server for scrapers; nil stands for one that the configuration does not have.
func (n *Node) newAdminServers(cfg *config.Config) (own, scrapers *admin.Server, err error) {
	if n.adminTLS, err = n.newAdminTLS(cfg.Admin); err != nil {
		return nil, nil, err
	}
	c, err := n.adminConfig(cfg, n.proxy, n.adminTLS)
	if err != nil {
		return nil, nil, err
	}
	n.token = c.Token
	if cfg.Admin.Address != "" {
		if own, err = admin.New(c); err != nil {
			return nil, nil, err
		}
	}
	if cfg.Admin.MetricsAddress != "" {
		if scrapers, err = admin.New(forScrapers(c, cfg)); err != nil {
			return own, nil, err
		}
	}
	return own, scrapers, nil
}

// serveAdminServers serves the servers that there are, until their Shutdown.
func (n *Node) serveAdminServers() {
	for _, a := range n.adminServers() {
		ended := make(chan error, 1)
		go func() { ended <- a.Serve() }()
		n.adminEnded = append(n.adminEnded, ended)
	}
}

// showParts has the admin servers show the parts of the node.
func (n *Node) showParts(cfg *config.Config) error {
	c, err := n.adminConfig(cfg, n.proxy, n.adminTLS)
	if err != nil {
		return err
	}
	for _, server := range []struct {
		at   *admin.Server
		next admin.Config
	}{{n.admin, c}, {n.metrics, forScrapers(c, cfg)}} {
		if server.at == nil {
			continue
		}
		use, err := server.at.Prepare(server.next)
		if err != nil {
			return err
		}
		use()
	}
	return nil
}

// adminServers returns the servers that there are.
func (n *Node) adminServers() []*admin.Server {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []*admin.Server
	for _, a := range []*admin.Server{n.admin, n.metrics} {
		if a != nil {
			all = append(all, a)
		}
	}
	return all
}

// endAdmin ends a server after the requests in flight, or after a second.
func endAdmin(a *admin.Server) error {
	grace, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return a.Shutdown(grace)
}

// prepareAdmin makes the next admin servers ready. A server whose address stays keeps its connections, and gets what changes:
// token, certificate, and what it shows.
func (n *Node) prepareAdmin(r *reload) (change, error) {
	fields := r.last.Changed(r.next, "admin")
	if token, err := r.next.Admin.Token(); err == nil && token != n.token && r.next.Admin.TokenFile == r.last.Admin.TokenFile {
		fields = append(fields, "the content of admin.token_file")
	}
	if len(fields) == 0 && r.proxy == n.proxy {
		return change{}, nil
	}
	secured, err := n.newAdminTLS(r.next.Admin)
	if err != nil {
		return change{}, err
	}
	var steps []change
	abort := func() {
		for _, s := range steps {
			if s.abort != nil {
				s.abort()
			}
		}
		secured.Close()
	}
	c, err := n.adminConfig(r.next, r.proxy, secured)
	if err != nil {
		abort()
		return change{}, err
	}
	for _, server := range []struct {
		at   **admin.Server
		was  string
		next admin.Config
	}{
		{&n.admin, r.last.Admin.Address, c},
		{&n.metrics, r.last.Admin.MetricsAddress, forScrapers(c, r.next)},
	} {
		step, err := n.prepareServer(server.at, server.was, server.next)
		if err != nil {
			abort()
			return change{}, err
		}
		steps = append(steps, step)
	}
	return change{strings.Join(fields, ", "), func() {
		for _, s := range steps {
			s.commit()
		}
		n.adminTLS.Close()
		n.adminTLS, n.token = secured, c.Token
	}, abort}, nil
}

// prepareServer makes the next server at *at ready: the same one, another one, or none.
func (n *Node) prepareServer(at **admin.Server, was string, next admin.Config) (change, error) {
	old := *at
	if old != nil && next.Address == was {
		use, err := old.Prepare(next)
		return change{commit: use}, err
	}
	var made *admin.Server
	if next.Address != "" {
		var err error
		if made, err = admin.New(next); err != nil {
			return change{}, err
		}
	}
	return change{commit: func() {
		n.mu.Lock()
		*at = made
		n.mu.Unlock()
		if made != nil {
			made.SetReady(true)
			n.serveAdmin(n.serving, made)
		}
		if old != nil {
			n.serving.parts.start("removed admin server", func() {
				if err := endAdmin(old); err != nil {
					n.log.Warn("an admin server was removed before all its requests had ended", "err", err)
				}
			})
		}
	}, abort: func() {
		if made != nil {
			_ = endAdmin(made) // it serves nothing
		}
	}}, nil
}
