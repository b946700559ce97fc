package relay

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"time"

	"github.com/quic-go/quic-go"
)

// Network is the transport of frames.
type Network string

// The networks.
const (
	TCP  Network = "tcp"
	QUIC Network = "quic"
)

// alpn is the protocol both ends name in the TLS handshake.
const alpn = "relay"

// windows are the receive windows of ferry's transport/quic. A connection may be idle while other systems have their turns.
func windows() *quic.Config {
	return &quic.Config{
		MaxIdleTimeout:                 10 * time.Minute,
		InitialStreamReceiveWindow:     1 << 20,
		MaxStreamReceiveWindow:         2 << 20,
		InitialConnectionReceiveWindow: 4 << 20,
		MaxConnectionReceiveWindow:     8 << 20,
	}
}

func (n Network) dial(ctx context.Context, addr string, trust *tls.Config) (io.ReadWriteCloser, error) {
	if n == TCP {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	conn, err := quic.DialAddr(ctx, addr, withALPN(trust), windows())
	if err != nil {
		return nil, err
	}
	stream, err := conn.OpenStreamSync(ctx)
	if err != nil {
		_ = conn.CloseWithError(0, "")
		return nil, err
	}
	return quicStream{stream, conn}, nil
}

// listener accepts connections. After close it returns net.ErrClosed or quic.ErrServerClosed.
type listener struct {
	addr   net.Addr
	accept func() (io.ReadWriteCloser, error)
	close  func() error
}

func (n Network) listen(addr string, identity *tls.Config) (*listener, error) {
	if n == TCP {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return nil, err
		}
		return &listener{l.Addr(), func() (io.ReadWriteCloser, error) { return l.Accept() }, l.Close}, nil
	}
	l, err := quic.ListenAddr(addr, withALPN(identity), windows())
	if err != nil {
		return nil, err
	}
	return &listener{l.Addr(), func() (io.ReadWriteCloser, error) {
		conn, err := l.Accept(context.Background())
		if err != nil {
			return nil, err
		}
		stream, err := conn.AcceptStream(conn.Context())
		if err != nil {
			return nil, err
		}
		return quicStream{stream, conn}, nil
	}, l.Close}, nil
}

func withALPN(c *tls.Config) *tls.Config {
	c = c.Clone()
	c.NextProtos = []string{alpn}
	return c
}

// quicStream is a connection's only stream; its Close closes the connection.
type quicStream struct {
	*quic.Stream
	conn *quic.Conn
}

func (s quicStream) Close() error { return s.conn.CloseWithError(0, "") }
