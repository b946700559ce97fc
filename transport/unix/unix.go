package unix

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"

	"example.com/ferry/transport"
	"example.com/ferry/transport/internal/accept"
)

// Config configures a Transport. The zero value works.
type Config struct {
	// Mode is the socket file's permissions: write permission allows a user to connect. Zero means 0600, the owner only.
	Mode fs.FileMode `yaml:"mode,omitempty"`

	// Listen binds addresses. Nil means the operating system.
	Listen transport.ListenFunc `yaml:"-"`
}

// Transport dials and listens on Unix domain sockets.
type Transport struct{ cfg Config }

var (
	_ transport.Transport = (*Transport)(nil)
	_ transport.Pollable  = (*Transport)(nil)
)

// New returns the transport of the scheme unix. A nil c means defaults.
func New(c *Config) *Transport {
	t := &Transport{}
	if c != nil {
		t.cfg = *c
	}
	if t.cfg.Mode == 0 {
		t.cfg.Mode = 0o600
	}
	return t
}

// Scheme returns unix.
func (*Transport) Scheme() string { return "unix" }

// Dial connects to the socket at path.
func (*Transport) Dial(ctx context.Context, path string) (transport.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("unix: dial %s: %w", path, err)
	}
	return conn, nil
}

// Socket returns what Listen would bind.
func (t *Transport) Socket(path string) (transport.Socket, error) {
	return transport.Socket{Network: "unix", Address: path, Mode: t.cfg.Mode}, nil
}

// Listen creates the socket file at path. Close of the listener removes the file.
func (t *Transport) Listen(ctx context.Context, path string) (transport.Listener, error) {
	var lc net.ListenConfig
	l, err := t.cfg.Listen.Bind(ctx, &lc, "unix", path)
	if errors.Is(err, syscall.EADDRINUSE) && abandoned(ctx, path) {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("unix: remove the abandoned socket %s: %w", path, err)
		}
		l, err = t.cfg.Listen.Bind(ctx, &lc, "unix", path)
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("unix: address %s is in use: stop the program that listens there, or choose another path: %w", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("unix: listen on %s: %w", path, err)
	}
	if err := os.Chmod(path, t.cfg.Mode); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("unix: permissions of %s: %w", path, err)
	}
	return accept.New(l, accept.Handshake{}), nil
}

// abandoned reports whether path is a socket file on which no process listens.
func abandoned(ctx context.Context, path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return false
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
