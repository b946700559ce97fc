package traffic

import "sync/atomic"

// Handshake is the result of a client's TLS handshake.
type Handshake uint8

// The results.
const (
	HandshakeFull           Handshake = iota // succeeded with the exchange of certificates
	HandshakeResumed                         // succeeded and resumed an earlier session
	HandshakeTimeout                         // not complete in time
	HandshakeNotTLS                          // the client's first bytes are not TLS, probably cleartext HTTP
	HandshakeNoCertificate                   // the client presented no certificate, and one is required
	HandshakeBadCertificate                  // the client's certificate is not valid: wrong CA, expired, or not for clients
	HandshakeNoProtocol                      // the client offers protocols with ALPN, but none that the listener speaks
	HandshakeNoVersion                       // the client offers no version of TLS that is allowed, or no cipher in common
	HandshakeRefused                         // the client has refused the handshake with an alert, such as unknown_ca
	HandshakeClosed                          // the client has closed the connection
	HandshakeOverload                        // too many handshakes are under way
	HandshakeError                           // another error
	handshakes
)

// String returns the value of the metrics label result.
func (h Handshake) String() string {
	return [handshakes]string{
		"ok", "resumed", "timeout", "not_tls", "no_certificate", "bad_certificate", "no_protocol", "no_version", "refused",
		"closed", "overload", "error",
	}[h]
}

// handshakeCounters are one loop's counters of handshakes.
type handshakeCounters [handshakes]atomic.Uint64

// Handshake counts a TLS handshake.
func (l *Listener) Handshake(loop int, h Handshake) { l.perLoop[loop].handshakes[h].Add(1) }

// handshakeStats returns nil if no handshake was counted.
func (l *Listener) handshakeStats() map[Handshake]uint64 {
	stats, total := make(map[Handshake]uint64, handshakes), uint64(0)
	for i := range l.perLoop {
		for h := range handshakes {
			n := l.perLoop[i].handshakes[h].Load()
			stats[h] += n
			total += n
		}
	}
	if total == 0 {
		return nil
	}
	return stats
}
