//go:build utp && cgo

package utp_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	libutp "github.com/anacrolix/go-libutp"

	"example.com/ferry/internal/needs"
	"example.com/ferry/transport/transporttest"
	"example.com/ferry/transport/utp"
)

func TestContract(t *testing.T) {
	tr := utp.New(&utp.Config{HandshakeTimeout: 8 * time.Second})
	transporttest.Run(t, transporttest.Subject{
		Server: tr, Client: tr, NoCloseWrite: true,
		Addr: func(*testing.T) string { return "127.0.0.1:0" },
	})
}

func TestIPv6(t *testing.T) {
	pc, err := net.ListenPacket("udp6", "[::1]:0")
	if err != nil {
		needs.Missing(t, "IPv6", "sysctl net.ipv6.conf.lo.disable_ipv6=0")
	}
	_ = pc.Close()
	tr := utp.New(nil)
	l, err := tr.Listen(t.Context(), "[::1]:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := tr.Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

// TestBurst dials many connections at once, each of which is echoed. The listener's backlog is five.
func TestBurst(t *testing.T) {
	tr := utp.New(&utp.Config{HandshakeTimeout: time.Minute})
	l, err := tr.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept(t.Context())
			if err != nil {
				return
			}
			all.Go(func() {
				_, _ = io.CopyN(conn, conn, 1000)
				_ = conn.Close()
			})
		}
	})
	var dials sync.WaitGroup
	for range 40 {
		dials.Go(func() {
			conn, err := tr.Dial(t.Context(), l.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			if _, err := conn.Write(make([]byte, 1000)); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadFull(conn, make([]byte, 1000)); err != nil {
				t.Error(err)
			}
		})
	}
	dials.Wait()
	_ = l.Close()
	all.Wait()
}

// TestLibrary has a connection of the library alone as the peer: only the bytes of uTP are on the wire.
func TestLibrary(t *testing.T) {
	tr := utp.New(nil)
	l, err := tr.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := libutp.NewSocket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	peer, err := s.DialContext(t.Context(), "", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := peer.Write([]byte("plain uTP")); err != nil {
		t.Fatal(err)
	}
	_ = peer.Close()
	conn, err := l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if got, err := io.ReadAll(conn); string(got) != "plain uTP" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
