package certs

import (
	"crypto/tls"
	"sync"
	"sync/atomic"
)

// Client is the TLS configuration of a dialer. Any goroutine may call its methods.
type Client struct {
	user  user
	store *Store
	base  *tls.Config
	kept  int     // sessions that are kept for resumption
	pair  *source // nil without a client certificate
	ca    *source // nil without a CA file

	building sync.Mutex // guards user, pair and ca until Store.Client returns, and the order of builds
	current  atomic.Pointer[tls.Config]
}

// Client creates the configuration of a dialer. base has all settings but certificates, CAs and sessions; it is copied. An
// empty certificate means none. Without caFile, base.RootCAs stays, whose nil means the system's roots. sessions is the number
// of sessions that are kept for resumption; 0 means none. The error is a *FileError. The caller calls Close.
func (s *Store) Client(base *tls.Config, certificate Files, caFile string, sessions int) (*Client, error) {
	c := &Client{store: s, base: base.Clone(), kept: sessions}
	c.user.rebuild = c.rebuild
	var files []sourceFiles
	if certificate != (Files{}) {
		files = append(files, certificate.source())
	}
	if caFile != "" {
		files = append(files, caSource(caFile))
	}
	c.building.Lock() // the watcher may call rebuild as soon as use has added the first source
	defer c.building.Unlock()
	if err := s.use(&c.user, files...); err != nil {
		return nil, err
	}
	for _, src := range c.user.sources {
		if src.files.isCA() {
			c.ca = src
		} else {
			c.pair = src
		}
	}
	c.build()
	return c, nil
}

// Config returns the current configuration, which the caller must not change. It is another one, without sessions, after the
// files have changed: a resumed session would show the server the previous certificate.
func (c *Client) Config() *tls.Config { return c.current.Load() }

// Close ends the watching of the files. Config continues to work with the last certificates.
func (c *Client) Close() { c.store.release(&c.user) }

func (c *Client) rebuild() {
	c.building.Lock()
	defer c.building.Unlock()
	c.build()
}

// build makes the configuration of new handshakes. Callers hold building.
func (c *Client) build() {
	cfg := c.base.Clone()
	if c.pair != nil {
		cert := c.pair.certificate()
		// The certificate is sent whatever CAs the server names, as OpenSSL does: the server's refusal then tells the reason.
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	if c.ca != nil {
		cfg.RootCAs = c.ca.pool()
	}
	if c.kept > 0 {
		cfg.ClientSessionCache = tls.NewLRUClientSessionCache(c.kept)
	}
	c.current.Store(cfg)
}
