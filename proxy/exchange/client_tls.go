package exchange

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"strings"

	"example.com/ferry/loop"
	"example.com/ferry/proxy/route"
)

// TLSInfo describes the TLS handshake of a client's connection. It is immutable and valid as long as its connection.
type TLSInfo struct {
	ServerName string // server_name that the client asked for, in lower case (RFC 6066, section 3); empty if it sent none
	Protocol   string // protocol agreed on with ALPN, such as h2; empty if the client offered none
	Version    uint16 // a constant of crypto/tls, such as tls.VersionTLS13
	Resumed    bool   // the handshake resumed an earlier session

	// The fields below are zero if the client has presented no certificate that was verified.

	Identity string   // the certificate's first URI name, otherwise its first DNS name, otherwise the subject's common name
	Hash     [32]byte // SHA-256 of the certificate in DER
	// ForwardedCert is one element of x-forwarded-client-cert, in Envoy's format:
	// Hash=HEX;Subject="RFC 2253";URI=...;DNS=...
	ForwardedCert string

	// Forward says how ForwardedCert is forwarded.
	Forward ForwardClientCert

	// Terms are those of the listener when the connection was accepted; nil means that its listener has none.
	Terms *Terms
}

// Terms are what a listener with TLS demands of a client, and what it tells servers of it. A reload can change them.
type Terms struct {
	ClientAuth   string // none, request or require
	ClientCAFile string
	MinVersion   uint16 // a constant of crypto/tls
	Forward      ForwardClientCert
}

// Accept reports whether a connection with handshake i keeps to t: it was accepted under the same terms. i is nil for a cleartext connection. Nil
// terms, of a listener without TLS, accept every connection.
func (t *Terms) Accept(i *TLSInfo) bool {
	return t == nil || i != nil && i.Terms != nil && (i.Terms == t || *i.Terms == *t)
}

// ForwardClientCert says what the proxy does with the field x-forwarded-client-cert, by which servers learn a client's
// certificate.
type ForwardClientCert string

// The values of ForwardClientCert.
const (
	ForwardOff    ForwardClientCert = "off"    // removes the client's field
	ForwardSet    ForwardClientCert = "set"    // replaces the client's field by the certificate of its connection, if it has one
	ForwardAppend ForwardClientCert = "append" // appends the certificate to the client's field; removes the field of a client without one
)

// ClientTLS returns the TLS handshake of a client's connection, or nil if the connection is cleartext. It is valid from
// Handler.Opened on. It allocates nothing.
func ClientTLS(c *loop.Conn) *TLSInfo {
	if l, ok := c.Layer().(interface{ ClientTLS() *TLSInfo }); ok {
		return l.ClientTLS()
	}
	return nil
}

// NewTLSInfo describes a handshake. An empty mode means ForwardOff.
func NewTLSInfo(state *tls.ConnectionState, mode ForwardClientCert) *TLSInfo {
	i := &TLSInfo{
		ServerName: strings.ToLower(state.ServerName), Protocol: state.NegotiatedProtocol, Version: state.Version,
		Resumed: state.DidResume, Forward: mode,
	}
	if len(state.VerifiedChains) > 0 {
		cert := state.PeerCertificates[0]
		i.Identity, i.Hash = identity(cert), sha256.Sum256(cert.Raw)
		if mode == ForwardSet || mode == ForwardAppend {
			i.ForwardedCert = forwardedCert(cert, i.Hash)
		}
	}
	return i
}

// VersionName returns the version as nginx writes it: TLSv1.2 or TLSv1.3.
func (i *TLSInfo) VersionName() string {
	switch i.Version {
	case tls.VersionTLS13:
		return "TLSv1.3"
	case tls.VersionTLS12:
		return "TLSv1.2"
	}
	return tls.VersionName(i.Version)
}

// SetClientCert sets the fields of c that concern the client's certificate. A nil i, for cleartext, sets none.
func (i *TLSInfo) SetClientCert(c *Changes) {
	if i != nil {
		c.ClientCert, c.NoClientCert = i.ForwardedCert, i.Forward != ForwardAppend || i.ForwardedCert == ""
	}
}

// SetRequest sets the conditions of routes on the handshake. A nil i, for cleartext, sets none.
func (i *TLSInfo) SetRequest(r *route.Request) {
	if i != nil {
		r.ServerName, r.ClientIdentity = i.ServerName, i.Identity
	}
}

// identity returns the name by which routes and logs know the owner of a certificate.
func identity(cert *x509.Certificate) string {
	switch {
	case len(cert.URIs) > 0:
		return cert.URIs[0].String()
	case len(cert.DNSNames) > 0:
		return cert.DNSNames[0]
	}
	return cert.Subject.CommonName
}

// forwardedCert returns an element of x-forwarded-client-cert.
func forwardedCert(cert *x509.Certificate, hash [32]byte) string {
	b := hex.AppendEncode([]byte("Hash="), hash[:])
	b = append(b, `;Subject="`...)
	b = appendVisible(b, cert.Subject.String()) // RFC 2253 escapes quotes and backslashes
	b = append(b, '"')
	for _, uri := range cert.URIs {
		b = appendValue(append(b, ";URI="...), uri.String())
	}
	for _, name := range cert.DNSNames {
		b = appendValue(append(b, ";DNS="...), name)
	}
	return string(b)
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// appendValue appends a value. It quotes a value that contains a separator.
func appendValue(b []byte, value string) []byte {
	if !strings.ContainsAny(value, `,;="\ `) {
		return appendVisible(b, value)
	}
	return append(appendVisible(append(b, '"'), escapes.Replace(value)), '"')
}

// appendVisible appends a text with its control characters replaced: a field cannot contain them.
func appendVisible(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == 0x7f {
			b = append(b, '_')
		} else {
			b = append(b, c)
		}
	}
	return b
}
