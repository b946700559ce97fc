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

// openSocket binds addr, or a free port on all addresses if addr is nil. In that case the kernel chooses the source address
// of each packet, so the socket still works after the machine's address has changed. idLength is the length of connection IDs
// in bytes; 0 means quic-go's default.
func openSocket(addr *net.UDPAddr, idLength int) (*socket, error) {
	conn, err := net.ListenUDP("udp", addr)
	if err != nil {
		return nil, err
	}
	udp := &lossyUDP{UDPConn: conn}
	return &socket{Transport: quic.Transport{Conn: udp, ConnectionIDLength: idLength}, udp: udp}, nil
}

// tolerateLostRoutes makes the socket treat a missing route as lost packets, which QUIC sends again. It is called after the
// handshake, so that Dial without a route fails.
func (s *socket) tolerateLostRoutes() { s.udp.tolerant.Store(true) }

// close ends the endpoint and all its connections. An error means that it was closed already.
func (s *socket) close() {
	_ = s.Close()
	_ = s.udp.Close()
}

// lossyUDP is a UDP socket that, once tolerant, reports success for packets that had no route.
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

// isTransient reports whether err is about the network, which may change before the next packet, and not about the socket.
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
