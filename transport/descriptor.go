package transport

import (
	"errors"
	"net"
	"strconv"
	"strings"
)

// Descriptor holds the constant properties of a transport, so that a program need not compare schemes.
type Descriptor struct {
	// Scheme is the part of an address before ://.
	Scheme string

	// Encrypted is true if connections are encrypted and a listener has a certificate.
	Encrypted bool

	// Local is true if addresses are paths or names on this machine. Otherwise they are HOST:PORT.
	Local bool

	// Path is true if a path may follow: HOST:PORT/PATH.
	Path bool

	// Missing says why this binary lacks the transport. Empty means that it has it.
	Missing string

	// ReceiveWindow is true if the transport itself buffers received bytes, within a configured window.
	ReceiveWindow bool
}

// The transports of this module that connect different processes.
var (
	QUIC = Descriptor{Scheme: "quic", Encrypted: true, ReceiveWindow: true}
	TLS  = Descriptor{Scheme: "tls", Encrypted: true}
	TCP  = Descriptor{Scheme: "tcp"}
	Unix = Descriptor{Scheme: "unix", Local: true}
	WS   = Descriptor{Scheme: "ws", Path: true}
	UTP  = Descriptor{Scheme: "utp"} // package utp knows whether the binary has it

	GRPC  = Descriptor{Scheme: "grpc"}
	GRPCS = Descriptor{Scheme: "grpcs", Encrypted: true}
	WSS   = Descriptor{Scheme: "wss", Encrypted: true, Path: true}
)

// Descriptors returns the list above.
func Descriptors() []Descriptor { return []Descriptor{QUIC, TLS, TCP, Unix, WSS, WS, GRPCS, GRPC, UTP} }

// Syntax returns the form of an address: quic://HOST:PORT, unix://PATH or ws://HOST:PORT/PATH.
func (d Descriptor) Syntax() string {
	switch {
	case d.Local:
		return d.Scheme + "://PATH"
	case d.Path:
		return d.Scheme + "://HOST:PORT/PATH"
	default:
		return d.Scheme + "://HOST:PORT"
	}
}

// CheckAddress returns an error if the transport cannot use addr. addr has no scheme. The text of the error is the end of a
// sentence that begins with the address.
func (d Descriptor) CheckAddress(addr string) error {
	if d.Missing != "" {
		return errors.New("cannot be used: " + d.Missing)
	}
	if d.Local {
		if addr == "" {
			return errors.New("has no path: write " + d.Scheme + "://ferry.sock")
		}
		return nil
	}
	if d.Path {
		addr, _, _ = strings.Cut(addr, "/")
	}
	return CheckHostPort(addr)
}

// CheckHostPort is CheckAddress for an address HOST:PORT.
func CheckHostPort(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return errors.New("has no port: write HOST:PORT")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return errors.New("has a port that is not 0 to 65535")
	}
	return nil
}
