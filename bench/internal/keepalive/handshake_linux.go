package keepalive

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// handshaker is a load generator that opens TLS connections and closes them: a request is a handshake.
type handshaker struct {
	spec Spec
	tls  *tls.Config
}

// newHandshaker makes one handshake, so that there is a session to resume.
func newHandshaker(s Spec) (*handshaker, error) {
	config, err := clientTLS(s.CA, s.Protocol)
	if err != nil {
		return nil, err
	}
	h := &handshaker{spec: s, tls: config}
	if err := PinProcess(s.Cores); err != nil {
		return nil, err
	}
	if s.Wire == Resumption {
		h.tls.ClientSessionCache = tls.NewLRUClientSessionCache(4 * s.Conns)
		if _, err := h.shake(h.tls); err != nil {
			return nil, err
		}
	}
	return h, nil
}

func (h *handshaker) Size() int { return h.spec.Conns }

func (h *handshaker) Add(conns int) error {
	h.spec.Conns += conns
	return nil
}

// Run makes handshakes, Spec.Conns at a time.
func (h *handshaker) Run(l Load) (*Report, error) {
	return Repeat(l, h.spec.Conns, func(int) error {
		resumed, err := h.shake(h.tls)
		if err == nil && resumed != (h.spec.Wire == Resumption) {
			err = fmt.Errorf("resumed: %v", resumed)
		}
		return err
	})
}

// shake makes one handshake, and closes the connection. It returns when the server has closed its side, too: then the server
// has done all its work for the handshake, and the client has the session tickets.
func (h *handshaker) shake(config *tls.Config) (resumed bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTime)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", h.spec.Addr)
	if err != nil {
		return false, err
	}
	defer raw.Close()
	deadline, _ := ctx.Deadline()
	if err := raw.SetDeadline(deadline); err != nil {
		return false, err
	}
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		return false, err
	}
	if err := conn.CloseWrite(); err != nil {
		return false, err
	}
	if n, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, unix.ECONNRESET) {
		return false, fmt.Errorf("after the handshake, and %d bytes: %w", n, err)
	}
	return conn.ConnectionState().DidResume, nil
}
