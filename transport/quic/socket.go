package quic

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"

	"github.com/quic-go/quic-go"
)

// socket is a UDP socket and the QUIC endpoint on it.
type socket struct {
	quic.Transport
	udp      *lossyUDP
	released func() // called after udp was closed; may be nil
}

// listenUDP binds an address of a listener.
func listenUDP(address string) (conn *net.UDPConn, released func(), err error) {
	at, err := net.ResolveUDPAddr("udp", address)
	if err == nil {
		conn, err = net.ListenUDP("udp", at)
	}
	return conn, nil, err
}

// openSocket binds a free port on all addresses. The kernel chooses the source address of each packet, so the socket still works after
// the machine's address has changed.
func openSocket() (*socket, error) {
	conn, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, err
	}
	return newSocket(conn, 0), nil
}

// newSocket makes an endpoint. idLength is the length of connection IDs in bytes; 0 means quic-go's default.
func newSocket(conn *net.UDPConn, idLength int) *socket {
	udp := &lossyUDP{UDPConn: conn}
	return &socket{Transport: quic.Transport{Conn: udp, ConnectionIDLength: idLength}, udp: udp}
}

// tolerateLostRoutes makes the socket treat a missing route as packet loss, so that QUIC sends the packets again. It is called
// after the handshake. Before that, a missing route must make Dial fail.
func (s *socket) tolerateLostRoutes() { s.udp.tolerant.Store(true) }

// close ends the endpoint and all its connections. Errors are ignored, because they mean that the endpoint is already closed.
func (s *socket) close() {
	_ = s.Close()
	_ = s.udp.Close()
	if s.released != nil {
		s.released()
	}
}

// lossyUDP is a UDP socket. Once tolerant is set, it reports success for packets without a route.
type lossyUDP struct {
	*net.UDPConn
	tolerant atomic.Bool
}

func (u *lossyUDP) WriteMsgUDP(b, oob []byte, addr *net.UDPAddr) (n, oobn int, err error) {
	n, oobn, err = u.UDPConn.WriteMsgUDP(b, oob, addr)
	if err != nil && u.tolerant.Load() && isTransient(err) {
		return len(b), len(oob), nil
	}
	return n, oobn, err
}

// isTransient reports whether err is a fault of the network, which may end before the next packet. Otherwise it is a fault of
// the socket.
func isTransient(err error) bool {
	for _, e := range []error{
		syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.ENETDOWN, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.EPERM,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
