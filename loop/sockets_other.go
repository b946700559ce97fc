//go:build !linux

package loop

import (
	"errors"
	"net"
)

func newSockets(cfg Config) (sockets, error) { return newGoroutineSockets(cfg), nil }

const sharesPorts = false // all loops share one listening socket

func probeUnshared(Addr) error { return nil }

// bindTCP opens a socket that listens at a TCP address. What connects waits until it is accepted.
func bindTCP(at Addr, reusePort bool) (net.Listener, error) {
	if reusePort {
		return nil, errors.New("loop: ReusePort is for Linux: leave it out, and give each process a port of its own")
	}
	return net.Listen(at.netAddress())
}

func startListening(net.Listener) error { return nil }
