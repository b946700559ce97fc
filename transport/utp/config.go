package utp

import (
	"time"

	"example.com/ferry/transport"
)

// Config configures a Transport. The zero value works.
type Config struct {
	// HandshakeTimeout bounds Dial. Zero means 10 s.
	HandshakeTimeout time.Duration `yaml:"handshake_timeout,omitempty"`

	// MaxDials bounds the calls of Dial that wait for a response at one time; further ones wait for their turn. A listener
	// takes five connections in a burst, and clients send the others again after 3 s. Zero means 4.
	MaxDials int `yaml:"max_dials,omitempty"`

	// Linger is how long a closed connection continues to send what was written. Zero means 5 s.
	Linger time.Duration `yaml:"linger,omitempty"`
}

var _ transport.Transport = (*Transport)(nil)

// Scheme returns utp.
func (*Transport) Scheme() string { return transport.UTP.Scheme }
