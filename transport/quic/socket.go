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
	udp *patientUDP
}

// openSocket binds addr, or a free port on all addresses if it is nil: the kernel then picks the source address for each
// packet, so that the socket outlives the address it was first used with. idLength is that of connection IDs in bytes; 0
// means quic-go's default.
func openSocket(addr *net.UDPAddr, idLength int) (*socket, error) {
	conn, err := net.ListenUDP("udp", addr)
	if err != nil {
		return nil, err
	}
	udp := &patientUDP{UDPConn: conn}
	return &socket{Transport: quic.Transport{Conn: udp, ConnectionIDLength: idLength}, udp: udp}, nil
}

// tolerant makes the socket take a route that is missing for a while as packets lost, which QUIC repairs. Before, while
// dialing, a missing route is the answer.
func (s *socket) tolerant() { s.udp.tolerant.Store(true) }

// close ends the endpoint, and with it whatever connection it still has. The errors say that it was closed already.
func (s *socket) close() {
	_ = s.Close()
	_ = s.udp.Close()
}

type patientUDP struct {
	*net.UDPConn
	tolerant atomic.Bool
}

func (u *patientUDP) WriteMsgUDP(b, oob []byte, addr *net.UDPAddr) (n, oobn int, err error) {
	n, oobn, err = u.UDPConn.WriteMsgUDP(b, oob, addr)
	if err != nil && u.tolerant.Load() && passing(err) {
		return len(b), len(oob), nil
	}
	return n, oobn, err
}

// passing reports whether err is a state of the network, which may be gone for the next packet, rather than of the socket.
func passing(err error) bool {
	for _, e := range []error{
		syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.ENETDOWN, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.EPERM,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
