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
	udp *lossyUDP
}

// openSocket binds addr. If addr is nil, it binds a free port on all addresses. Then the kernel chooses the source address of
// each packet, so the socket still works after the machine's address has changed. idLength is the length of connection IDs in
// bytes; 0 means quic-go's default.
func openSocket(addr *net.UDPAddr, idLength int) (*socket, error) {
	conn, err := net.ListenUDP("udp", addr)
	if err != nil {
		return nil, err
	}
	udp := &lossyUDP{UDPConn: conn}
	return &socket{Transport: quic.Transport{Conn: udp, ConnectionIDLength: idLength}, udp: udp}, nil
}

// tolerateLostRoutes makes the socket treat a missing route as packet loss, so that QUIC sends the packets again. It is called
// after the handshake. Before that, a missing route must make Dial fail.
func (s *socket) tolerateLostRoutes() { s.udp.tolerant.Store(true) }

// close ends the endpoint and all its connections. Errors are ignored, because they mean that the endpoint is already closed.
func (s *socket) close() {
	_ = s.Close()
	_ = s.udp.Close()
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
