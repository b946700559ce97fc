package certs

import (
	"crypto/tls"
	"strings"
	"sync"
	"sync/atomic"
)

// Server is the TLS configuration of a listener. Any goroutine may call its methods.
//
// A session that is resumed carries the client certificate of its first handshake. crypto/tls resumes it only while the root
// of that certificate's chain is among the current client CAs and no certificate of the chain has expired: otherwise the
// handshake is a full one, and the client presents its certificate again. A removed intermediate certificate has no such
// effect, as it is no root. Connections that are open when a client CA is removed stay open.
type Server struct {
	user  user
	store *Store
	base  *tls.Config
	pairs []*source
	ca    *source // nil without a client CA file
	outer *tls.Config

	building sync.Mutex // guards user, pairs and ca until Store.Server returns, and the order of builds
	current  atomic.Pointer[tls.Config]
}

// Server creates the configuration of a listener. base has all settings but certificates and client CAs; it is copied. The
// certificates are chosen by the name that the client asks for, and the first is the default; with none, base.GetCertificate
// stays. Without clientCAFile, base.ClientCAs stays. The error is a *FileError. The caller calls Close.
func (s *Store) Server(base *tls.Config, certificates []Files, clientCAFile string) (*Server, error) {
	srv := &Server{store: s, base: base.Clone()}
	srv.user.rebuild = srv.rebuild
	var files []sourceFiles
	for _, f := range certificates {
		files = append(files, f.source())
	}
	if clientCAFile != "" {
		files = append(files, caSource(clientCAFile))
	}
	srv.building.Lock() // the watcher may call rebuild as soon as use has added the first source
	defer srv.building.Unlock()
	if err := s.use(&srv.user, files...); err != nil {
		return nil, err
	}
	srv.pairs = srv.user.sources[:len(certificates)]
	if clientCAFile != "" {
		srv.ca = srv.user.sources[len(certificates)]
	}
	srv.build()
	srv.outer = base.Clone()
	srv.outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return srv.current.Load(), nil }
	return srv, nil
}

// Config returns the configuration. It stays the same, and each handshake uses the certificates that are current when it
// begins. The keys of session tickets belong to it, so tickets survive a change of certificates.
func (srv *Server) Config() *tls.Config { return srv.outer }

// Close ends the watching of the files. Config continues to work with the last certificates.
func (srv *Server) Close() { srv.store.release(&srv.user) }

func (srv *Server) rebuild() {
	srv.building.Lock()
	defer srv.building.Unlock()
	srv.build()
}

// build makes the configuration of new handshakes. Callers hold building.
func (srv *Server) build() {
	c := srv.base.Clone()
	if len(srv.pairs) > 0 {
		c.Certificates = nil
		c.GetCertificate = newChoice(srv.pairs).pick
	}
	if srv.ca != nil {
		c.ClientCAs = srv.ca.pool()
	}
	srv.current.Store(c)
}

// choice is the certificates of a listener by name.
type choice struct {
	all    []*tls.Certificate            // the first is the default
	byName map[string][]*tls.Certificate // key is a lower-case name, or * and the name without its first label
}

func newChoice(pairs []*source) *choice {
	c := &choice{byName: map[string][]*tls.Certificate{}}
	for _, src := range pairs {
		cert := src.certificate()
		c.all = append(c.all, cert)
		for _, name := range cert.Leaf.DNSNames {
			name = strings.ToLower(name)
			c.byName[name] = append(c.byName[name], cert)
		}
	}
	return c
}

// pick implements tls.Config.GetCertificate. It prefers a certificate with the exact name to one with a wildcard (RFC 9525,
// section 6.3), and that to the default. Among several, it takes the first whose key and signature algorithms the client
// supports.
func (c *choice) pick(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if hello.ServerName == "" {
		return supported(hello, c.all), nil
	}
	name := strings.TrimSuffix(strings.ToLower(hello.ServerName), ".")
	if list := c.byName[name]; list != nil {
		return supported(hello, list), nil
	}
	if _, rest, ok := strings.Cut(name, "."); ok {
		if list := c.byName["*."+rest]; list != nil {
			return supported(hello, list), nil
		}
	}
	return c.all[0], nil
}

// supported returns the first certificate that the client supports, or else the first one.
func supported(hello *tls.ClientHelloInfo, list []*tls.Certificate) *tls.Certificate {
	if len(list) > 1 {
		for _, cert := range list {
			if hello.SupportsCertificate(cert) == nil {
				return cert
			}
		}
	}
	return list[0]
}
