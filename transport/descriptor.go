package transport

import (
	"errors"
	"net"
	"strconv"
)

// Descriptor holds the constant properties of a transport. A program reads them instead of comparing schemes.
type Descriptor struct {
	// Scheme stands before :// in an address.
	Scheme string

	// Encrypted is set if connections are encrypted and a listener proves itself by a certificate.
	Encrypted bool

	// Local is set if addresses are paths or names on this machine. All others are HOST:PORT.
	Local bool

	// ReceiveWindow is set if the transport itself buffers what arrives, within a window that is configured.
	ReceiveWindow bool
}

// The transports of this module that connect processes.
var (
	QUIC = Descriptor{Scheme: "quic", Encrypted: true, ReceiveWindow: true}
	TLS  = Descriptor{Scheme: "tls", Encrypted: true}
	TCP  = Descriptor{Scheme: "tcp"}
	Unix = Descriptor{Scheme: "unix", Local: true}
)

// Syntax returns how an address is written: quic://HOST:PORT or unix://PATH.
func (d Descriptor) Syntax() string {
	if d.Local {
		return d.Scheme + "://PATH"
	}
	return d.Scheme + "://HOST:PORT"
}

// CheckAddress returns an error for an addr, without its scheme, that the transport cannot use. The error's text continues
// a sentence that begins with the address.
func (d Descriptor) CheckAddress(addr string) error {
	if d.Local {
		if addr == "" {
			return errors.New("has no path: write " + d.Scheme + "://ferry.sock")
		}
		return nil
	}
	return CheckHostPort(addr)
}

// CheckHostPort is CheckAddress for HOST:PORT.
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
