package exchange

import "example.com/ferry/loop"

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
}

// ClientTLS returns the TLS handshake of a client's connection, or nil if the connection is cleartext. It is valid from
// Handler.Opened on. It allocates nothing.
func ClientTLS(c *loop.Conn) *TLSInfo {
	if l, ok := c.Layer().(interface{ ClientTLS() *TLSInfo }); ok {
		return l.ClientTLS()
	}
	return nil
}
