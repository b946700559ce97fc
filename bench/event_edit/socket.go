package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"
)

// socket is a unix socket within this process.
type socket struct{ near, far net.Conn }

func newSocket() (*socket, error) {
	dir, err := os.MkdirTemp("", "ferry-edit-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }()
	near, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		return nil, err
	}
	far, err := l.Accept()
	if err != nil {
		return nil, errors.Join(err, near.Close())
	}
	return &socket{near, far}, nil
}

func (s *socket) close() {
	_ = s.near.Close()
	_ = s.far.Close()
}

// drain reads and discards until the socket is closed.
func (s *socket) drain() {
	buf := make([]byte, 256<<10)
	for {
		if _, err := s.far.Read(buf); err != nil {
			return
		}
	}
}
