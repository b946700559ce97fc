package upstream

import (
	"crypto/x509"
	"errors"
	"net"
	"strings"
)

// TLSFailure is why a TLS connection to an endpoint failed.
type TLSFailure uint8

// The values of TLSFailure.
const (
	TLSName        TLSFailure = iota // the certificate is for another name
	TLSAuthority                     // an unknown CA has signed the certificate
	TLSExpired                       // the certificate has expired or is not valid yet
	TLSCertificate                   // the certificate is invalid for another reason
	TLSProtocol                      // no common version, or the server does not speak the cluster's protocol
	TLSRefused                       // the server sent an alert, such as one about the client's certificate
	TLSOther                         // the connection ended during the handshake, or the server does not speak TLS

	TLSFailures = iota // number of values
)

// String returns the value of the metrics label reason.
func (f TLSFailure) String() string {
	return [TLSFailures]string{"name", "authority", "expired", "certificate", "protocol", "refused", "other"}[f]
}

// classify returns the TLSFailure of an error of crypto/tls.
func classify(err error) TLSFailure {
	var (
		name      x509.HostnameError
		authority x509.UnknownAuthorityError
		roots     x509.SystemRootsError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &name):
		return TLSName
	case errors.As(err, &authority), errors.As(err, &roots):
		return TLSAuthority
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return TLSExpired
	case errors.As(err, &invalid):
		return TLSCertificate
	case errors.Is(err, errALPN):
		return TLSProtocol
	case isAlert(err):
		// crypto/tls has no values for the alerts that it receives, only their text.
		if text := err.Error(); strings.Contains(text, "no application protocol") || strings.Contains(text, "protocol version") {
			return TLSProtocol
		}
		return TLSRefused
	}
	return TLSOther
}

// isAlert reports whether err is an alert of the peer.
func isAlert(err error) bool {
	var remote *net.OpError
	return errors.As(err, &remote) && remote.Op == "remote error"
}

// tlsFailed counts a failed connection. It logs the first one of an endpoint, and changes of the reason.
func (e *Endpoint) tlsFailed(err error) {
	why := classify(err)
	c := e.cluster
	c.tls.failures[why].Add(1)
	if before := e.tlsFailure.Swap(int32(why) + 1); before == int32(why)+1 {
		return
	}
	// A log may block, which a loop must not.
	go c.log.Warn("upstream: TLS to an endpoint fails", "cluster", c.cfg.Name, "endpoint", e.addr.String(), "server_name", e.serverName(), "reason", why.String(), "err", err)
}

// tlsWorks logs the first connection that works after one that failed.
func (e *Endpoint) tlsWorks() {
	if e.tlsFailure.Load() != 0 && e.tlsFailure.Swap(0) != 0 {
		c := e.cluster
		go c.log.Info("upstream: TLS to an endpoint works again", "cluster", c.cfg.Name, "endpoint", e.addr.String())
	}
}
