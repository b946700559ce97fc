package upstream

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"example.com/ferry/internal/certs"
	"example.com/ferry/loop"
	"example.com/ferry/loop/tlslayer"
)

// maxSessions bounds the sessions that a cluster keeps for resumption, one for each endpoint. The least recently used one is
// dropped.
const maxSessions = 256

// Shared is what the clusters of a proxy have in common. The zero value works: a cluster then has its own.
type Shared struct {
	Layers       *tlslayer.Layers // of the loop group
	Certificates *certs.Store

	// Before is the cluster that the new one replaces, or nil. The new one goes on with its counters, and with those of
	// endpoints whose address stays. Succeed follows.
	Before *Cluster

	// States are the states of endpoints in another process that this one replaces, by address.
	States map[string]EndpointState
}

// clusterTLS makes the TLS connections of a cluster.
type clusterTLS struct {
	cfg    *TLS
	layers *tlslayer.Layers
	files  *certs.Client
	*tlsCounters
}

func newClusterTLS(c *TLS, shared Shared, loops int, counts *tlsCounters) (*clusterTLS, error) {
	if shared.Layers == nil {
		shared.Layers = tlslayer.New(loops, nil)
	}
	if shared.Certificates == nil {
		shared.Certificates = certs.NewStore(nil)
	}
	base := &tls.Config{MinVersion: c.MinVersion.Number(), InsecureSkipVerify: c.InsecureSkipVerify, CipherSuites: certs.Suites()}
	files, err := shared.Certificates.Client(base, c.clientCertificate(), c.CAFile, maxSessions)
	if err != nil {
		return nil, err
	}
	return &clusterTLS{cfg: c, layers: shared.Layers, files: files, tlsCounters: counts}, nil
}

// endpointTLS are the TLS configurations of an endpoint, made of the cluster's current certificates.
type endpointTLS struct {
	from       *tls.Config // made of it
	host       string      // Endpoint.Host
	byProtocol [len(Protocols)]*tls.Config
}

// tlsConfig returns the TLS configuration of a new connection. It is made again after the certificate files or the host have
// changed.
func (e *Endpoint) tlsConfig(p Protocol) *tls.Config {
	from, host := e.cluster.tls.files.Config(), e.Host()
	made := e.tls.Load()
	if made == nil || made.from != from || made.host != host {
		made = &endpointTLS{from: from, host: host}
		for i, p := range Protocols {
			made.byProtocol[i] = e.newTLSConfig(from, host, p)
		}
		e.tls.Store(made) // another loop may do the same now, with the same result
	}
	return made.byProtocol[p.index()]
}

// newTLSConfig makes the configuration of connections in protocol p while Host returns host.
func (e *Endpoint) newTLSConfig(from *tls.Config, host string, p Protocol) *tls.Config {
	c := from.Clone()
	c.ServerName = e.serverNameOf(host)
	c.NextProtos = p.ALPN()
	c.ClientSessionCache = sessions{from.ClientSessionCache, e.addr.String() + " "}
	t := e.cluster.tls
	c.VerifyConnection = func(s tls.ConnectionState) error {
		if err := p.checkALPN(s.NegotiatedProtocol); err != nil {
			return err
		}
		t.handshakes.Add(1)
		if s.DidResume {
			t.resumed.Add(1)
		}
		return nil
	}
	return c
}

// serverName returns the name that the certificate of the server must have.
func (e *Endpoint) serverName() string { return e.serverNameOf(e.Host()) }

// serverNameOf is serverName while Host returns host. A lookup may change Host between two calls.
func (e *Endpoint) serverNameOf(host string) string {
	switch name := e.cluster.tls.cfg.ServerName; {
	case name != "":
		return strings.TrimSuffix(name, ".")
	case host != "":
		return strings.TrimSuffix(host, ".")
	case e.addr.Unix != "":
		return "" // Check has made sure that the certificate is not verified
	}
	return e.addr.TCP.Addr().WithZone("").String()
}

// ALPN returns the protocols that are offered for p (RFC 7301), the preferred one first. Bolt has no name there.
func (p Protocol) ALPN() []string {
	switch p {
	case HTTP1:
		return []string{"http/1.1"}
	case HTTP2:
		return []string{"h2"}
	case Auto:
		return []string{"h2", "http/1.1"}
	}
	return nil
}

// errALPN means that the server does not speak the cluster's protocol.
var errALPN = errors.New("the server does not agree to the protocol of the cluster")

// checkALPN checks the protocol that the server has chosen; empty if it has chosen none.
func (p Protocol) checkALPN(chosen string) error {
	if p == HTTP1 && chosen != "" && chosen != "http/1.1" || p == HTTP2 && chosen != "h2" {
		return fmt.Errorf("upstream: %w: %s, but it chose %q", errALPN, p, chosen)
	}
	return nil
}

// sessions is a part of a session cache. Servers of one name do not share their session tickets, so each endpoint has its
// own sessions.
type sessions struct {
	cache tls.ClientSessionCache
	key   string
}

func (s sessions) Get(key string) (*tls.ClientSessionState, bool) { return s.cache.Get(s.key + key) }

func (s sessions) Put(key string, session *tls.ClientSessionState) { s.cache.Put(s.key+key, session) }

// Dial opens a connection to e that speaks p. With TLS, h.Opened is called after the handshake, which counts for the connect
// timeout, and a failed handshake is a failure to connect. It belongs to l, as loop.Loop.Dial says.
func (e *Endpoint) Dial(l *loop.Loop, p Protocol, h loop.Handler) *loop.Conn {
	c := l.Dial(e.addr, e.cluster.cfg.ConnectTimeout, h)
	if t := e.cluster.tls; t != nil {
		c.SetLayer(&clientLayer{Layer: t.layers.Client(l, e.tlsConfig(p)), endpoint: e}, nil)
	}
	return c
}

// Negotiated returns the protocol that the server of a connection made by Dial has chosen by ALPN, such as h2. It is empty
// without TLS, before Opened, and if the server has chosen none.
func Negotiated(c *loop.Conn) string {
	if t, ok := c.Layer().(*clientLayer); ok {
		return t.ConnectionState().NegotiatedProtocol
	}
	return ""
}

// clientLayer is TLS to an endpoint. It counts why connections fail.
type clientLayer struct {
	*tlslayer.Layer
	endpoint *Endpoint
	worked   bool // the server has sent something after the handshake
}

var _ loop.Layer = (*clientLayer)(nil)

// Handshake counts the error of the handshake.
func (t *clientLayer) Handshake() error {
	err := t.Layer.Handshake()
	if err != nil && !errors.Is(err, loop.ErrAgain) {
		t.endpoint.tlsFailed(err)
	}
	return err
}

// Read counts an alert in place of the first response: in TLS 1.3, a server refuses a client's certificate after the
// handshake is complete for the client.
func (t *clientLayer) Read(p []byte) (int, error) {
	n, err := t.Layer.Read(p)
	switch {
	case t.worked:
	case n > 0:
		t.worked = true
		t.endpoint.tlsWorks()
	case err != nil && isAlert(err):
		t.endpoint.tlsFailed(err)
	}
	return n, err
}
