//go:build !utp || !cgo

package utp

import (
	"context"
	"errors"
	"fmt"

	"example.com/ferry/transport"
)

var errAbsent = errors.New("this binary is built without uTP: build it with -tags utp, cgo and a C++ compiler, or use tcp or quic")

// Transport refuses to dial and to listen, because this binary is built without uTP.
type Transport struct{}

// New returns a Transport that refuses to dial and to listen.
func New(*Config) *Transport { return &Transport{} }

// Descriptor returns transport.UTP with the reason why this binary lacks the transport.
func Descriptor() transport.Descriptor {
	d := transport.UTP
	d.Missing = errAbsent.Error()
	return d
}

// Dial returns an error that says how to build a binary with uTP.
func (*Transport) Dial(_ context.Context, addr string) (transport.Conn, error) {
	return nil, fmt.Errorf("utp: dial %s: %w", addr, errAbsent)
}

// Listen returns an error that says how to build a binary with uTP.
func (*Transport) Listen(_ context.Context, addr string) (transport.Listener, error) {
	return nil, fmt.Errorf("utp: listen on %s: %w", addr, errAbsent)
}
