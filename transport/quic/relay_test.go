package quic_test

import (
	"net"
	"sync"
	"testing"
)

// relay passes UDP packets between one client and one server, like a router that translates addresses.
type relay struct {
	front *net.UDPConn

	mu     sync.Mutex
	client *net.UDPAddr
	server string
	back   *net.UDPConn // nil: packets are dropped
}

func newRelay(t *testing.T, server string) *relay {
	t.Helper()
	front, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{front: front, server: server}
	t.Cleanup(func() { _ = front.Close(); r.mute() })
	r.rebind(t)
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, from, err := front.ReadFromUDP(buf)
			if err != nil {
				return
			}
			r.mu.Lock()
			r.client = from
			if r.back != nil {
				_, _ = r.back.Write(buf[:n])
			}
			r.mu.Unlock()
		}
	}()
	return r
}

func (r *relay) addr() string { return r.front.LocalAddr().String() }

// rebind makes the server see another address of the client.
func (r *relay) rebind(t *testing.T) {
	t.Helper()
	r.redirect(t, r.server)
}

// redirect passes packets to another server, or to the same one from another address.
func (r *relay) redirect(t *testing.T, server string) {
	t.Helper()
	conn, err := net.Dial("udp", server)
	if err != nil {
		t.Fatal(err)
	}
	back := conn.(*net.UDPConn)
	r.mute()
	r.mu.Lock()
	r.server, r.back = server, back
	r.mu.Unlock()
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := back.Read(buf)
			if err != nil {
				return
			}
			r.mu.Lock()
			if r.client != nil {
				_, _ = r.front.WriteToUDP(buf[:n], r.client)
			}
			r.mu.Unlock()
		}
	}()
}

// mute drops all packets from now on.
func (r *relay) mute() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.back != nil {
		_ = r.back.Close()
		r.back = nil
	}
}
