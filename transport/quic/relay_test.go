package quic_test

import (
	"net"
	"sync"
	"testing"
)

// relay forwards UDP packets between one client and one server. Like a router, it translates addresses.
type relay struct {
	clientConn *net.UDPConn

	mu         sync.Mutex
	client     *net.UDPAddr
	server     string
	serverConn *net.UDPConn // nil means that packets are dropped
}

func newRelay(t *testing.T, server string) *relay {
	t.Helper()
	clientConn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{clientConn: clientConn, server: server}
	t.Cleanup(func() { _ = clientConn.Close(); r.dropAll() })
	r.rebind(t)
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, from, err := clientConn.ReadFromUDP(buf)
			if err != nil {
				return
			}
			r.mu.Lock()
			r.client = from
			if r.serverConn != nil {
				_, _ = r.serverConn.Write(buf[:n])
			}
			r.mu.Unlock()
		}
	}()
	return r
}

func (r *relay) addr() string { return r.clientConn.LocalAddr().String() }

// rebind gives the client another address from the server's point of view.
func (r *relay) rebind(t *testing.T) {
	t.Helper()
	r.redirect(t, r.server)
}

// redirect forwards the packets that follow to server: another server, or another address of the same server.
func (r *relay) redirect(t *testing.T, server string) {
	t.Helper()
	conn, err := net.Dial("udp", server)
	if err != nil {
		t.Fatal(err)
	}
	conn2 := conn.(*net.UDPConn)
	r.dropAll()
	r.mu.Lock()
	r.server, r.serverConn = server, conn2
	r.mu.Unlock()
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := conn2.Read(buf)
			if err != nil {
				return
			}
			r.mu.Lock()
			if r.client != nil {
				_, _ = r.clientConn.WriteToUDP(buf[:n], r.client)
			}
			r.mu.Unlock()
		}
	}()
}

// dropAll drops all later packets.
func (r *relay) dropAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.serverConn != nil {
		_ = r.serverConn.Close()
		r.serverConn = nil
	}
}
