package proxy

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"reflect"
	"slices"

	"example.com/ferry/internal/certs"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/upstream"
)

// ListenerTLS configures the TLS of a listener. The zero value works in a node, which has a certificate of its own.
type ListenerTLS struct {
	// Certificates are chosen by the server name that the client asks for; the first is the default. Empty means the
	// certificate that the node makes in data_dir. A changed file is used within a few seconds, if it is valid.
	Certificates []Certificate `yaml:"certificates,omitempty"`

	// ClientCAFile is the PEM file of the CAs whose client certificates are accepted. A changed file is used within a few
	// seconds, if it is valid.
	ClientCAFile string `yaml:"client_ca_file,omitempty"`

	// ClientAuth is none, request or require. With request, a client may present a certificate, which must then be valid.
	// Empty means require if client_ca_file is set, otherwise none.
	ClientAuth ClientAuth `yaml:"client_auth,omitempty"`

	// MinVersion is the lowest version of TLS: "1.2" or "1.3". Empty means 1.2.
	MinVersion upstream.TLSVersion `yaml:"min_version,omitempty"`

	// SessionTickets is on or off. With on, a client can resume an earlier session, which saves most of the cost of a
	// handshake. The keys of the tickets change each day. Empty means on.
	SessionTickets Switch `yaml:"session_tickets,omitempty"`

	// ForwardClientCert says what happens to the field x-forwarded-client-cert, by which servers learn the client's
	// certificate: off removes the client's field, set replaces it by the verified certificate of the connection. append
	// appends that certificate to the client's field, if there is one: it is for clients that are trusted proxies. Empty
	// means off.
	ForwardClientCert exchange.ForwardClientCert `yaml:"forward_client_cert,omitempty"`
}

// Certificate is a certificate and its key.
type Certificate struct {
	// CertFile is a PEM file with the certificate, then the intermediate certificates.
	CertFile string `yaml:"cert_file" schema:"required"`

	// KeyFile is the PEM key of cert_file.
	KeyFile string `yaml:"key_file" schema:"required"`
}

// ClientAuth says whether clients present a certificate.
type ClientAuth string

// The values of ClientAuth.
const (
	ClientAuthNone    ClientAuth = "none"
	ClientAuthRequest ClientAuth = "request"
	ClientAuthRequire ClientAuth = "require"
)

// Switch is on or off.
type Switch string

// The values of Switch.
const (
	On  Switch = "on"
	Off Switch = "off"
)

// UsesNodeCertificate reports whether the listener presents the node's own certificate.
func (l *Listener) UsesNodeCertificate() bool { return l.TLS != nil && len(l.TLS.Certificates) == 0 }

func (t *ListenerTLS) clientAuth() ClientAuth {
	switch {
	case t.ClientAuth != "":
		return t.ClientAuth
	case t.ClientCAFile != "":
		return ClientAuthRequire
	}
	return ClientAuthNone
}

// terms returns what a reload has to compare: a connection that was accepted under other terms would not be accepted now, or would tell servers
// something else.
func (t *ListenerTLS) terms() exchange.Terms {
	return exchange.Terms{
		ClientAuth: string(t.clientAuth()), ClientCAFile: t.ClientCAFile, MinVersion: t.MinVersion.Number(),
		Forward: cmp.Or(t.ForwardClientCert, exchange.ForwardOff),
	}
}

func (t *ListenerTLS) files() []certs.Files {
	var all []certs.Files
	for _, c := range t.Certificates {
		all = append(all, certs.Files(c))
	}
	return all
}

// listenerTLS checks the TLS settings of a listener. It reads the files.
func (k *checker) listenerTLS(at string, t *ListenerTLS) {
	for i, f := range t.files() {
		field := fmt.Sprintf("%s.certificates[%d]", at, i)
		if f == (certs.Files{}) {
			k.add(field+".cert_file", "missing: a certificate has a cert_file and a key_file")
		}
		f.AddErrors(&k.errs, "proxy", field+".")
	}
	certs.AddErrorsOfCA(&k.errs, "proxy", at+".client_ca_file", t.ClientCAFile)
	switch t.ClientAuth {
	case "", ClientAuthNone:
		if t.ClientAuth == ClientAuthNone && t.ClientCAFile != "" {
			k.add(at+".client_ca_file", "set beside client_auth none: remove one of them")
		}
	case ClientAuthRequest, ClientAuthRequire:
		if t.ClientCAFile == "" {
			k.add(at+".client_ca_file", "missing beside client_auth %s: it has the CAs of the clients' certificates", t.ClientAuth)
		}
	default:
		k.add(at+".client_auth", "%q: write none, request or require", t.ClientAuth)
	}
	switch t.MinVersion {
	case "", upstream.TLS12, upstream.TLS13:
	default:
		k.add(at+".min_version", "%q: write %q or %q", t.MinVersion, upstream.TLS12, upstream.TLS13)
	}
	switch t.SessionTickets {
	case "", On, Off:
	default:
		k.add(at+".session_tickets", "%q: write on or off", t.SessionTickets)
	}
	switch t.ForwardClientCert {
	case "", exchange.ForwardOff:
	case exchange.ForwardSet, exchange.ForwardAppend:
		if t.clientAuth() == ClientAuthNone {
			k.add(at+".forward_client_cert", "%s without client_ca_file: no client presents a certificate", t.ForwardClientCert)
		}
	default:
		k.add(at+".forward_client_cert", "%q: write off, set or append", t.ForwardClientCert)
	}
}

// termination is the TLS of a listener as configured. It is immutable; certs.Server changes with its files.
type termination struct {
	cfg      *ListenerTLS
	protocol Protocol
	server   *certs.Server
	terms    exchange.Terms
}

// terminate returns the termination of l in next, or nil if l is cleartext. Listeners with equal settings share one, and a
// reload keeps it: so they share the keys of session tickets.
func (p *Proxy) terminate(l *Listener, old, next *parts) (*termination, error) {
	if l.TLS == nil {
		return nil, nil
	}
	equal := func(t *termination) bool { return t.protocol == l.Protocol && reflect.DeepEqual(t.cfg, l.TLS) }
	if i := slices.IndexFunc(next.terminations, equal); i >= 0 {
		return next.terminations[i], nil
	}
	if i := slices.IndexFunc(old.terminations, equal); i >= 0 {
		next.terminations = append(next.terminations, old.terminations[i])
		return old.terminations[i], nil
	}
	base := &tls.Config{
		MinVersion: l.TLS.MinVersion.Number(), SessionTicketsDisabled: l.TLS.SessionTickets == Off, DynamicRecordSizingDisabled: true,
		NextProtos: alpn(l.Protocol), CipherSuites: certs.Suites(),
	}
	switch l.TLS.clientAuth() {
	case ClientAuthRequest:
		base.ClientAuth = tls.VerifyClientCertIfGiven
	case ClientAuthRequire:
		base.ClientAuth = tls.RequireAndVerifyClientCert
	}
	if len(l.TLS.Certificates) == 0 {
		if p.nodeCertificate == nil {
			return nil, fmt.Errorf("proxy: listener %s: tls.certificates: none, and this program has no certificate of its own", l.name())
		}
		get, err := p.nodeCertificate()
		if err != nil {
			return nil, fmt.Errorf("proxy: listener %s: the node's certificate: %w", l.name(), err)
		}
		base.GetCertificate = get
	}
	server, err := p.certs.Server(base, l.TLS.files(), l.TLS.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("proxy: listener %s: tls: %w", l.name(), err)
	}
	made := &termination{l.TLS, l.Protocol, server, l.TLS.terms()}
	next.terminations = append(next.terminations, made)
	return made, nil
}

// demands returns the terms of t; nil for cleartext.
func (t *termination) demands() *exchange.Terms {
	if t == nil {
		return nil
	}
	return &t.terms
}

// alpn returns the protocols that a listener offers.
func alpn(p Protocol) []string {
	return map[Protocol]upstream.Protocol{HTTP: upstream.Auto, HTTP2: upstream.HTTP2, HTTP1: upstream.HTTP1}[p].ALPN()
}
