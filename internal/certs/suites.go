package certs

import "crypto/tls"

// Suites returns the suites of TLS 1.2 that servers and clients of this program use, for tls.Config.CipherSuites: those with forward secrecy and
// authenticated encryption. HTTP/2 forbids the others (RFC 9113, section 9.2.2), as RFC 9325, section 4.2, advises for every protocol. Those of TLS 1.3 are
// all of that kind.
func Suites() []uint16 {
	return []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
		tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	}
}
