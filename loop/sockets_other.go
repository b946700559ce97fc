//go:build !linux

package loop

import "errors"

func newSockets(cfg Config) (sockets, error) { return newGoroutineSockets(cfg), nil }

const sharesPorts = false // all loops share one listening socket

func probeUnshared(Addr) error { return nil }

func sharePort(uintptr) error {
	return errors.New("loop: ReusePort is for Linux: leave it out, and give each process a port of its own")
}
