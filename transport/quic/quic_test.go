package quic_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/pki"
	"example.com/ferry/transport"
	"example.com/ferry/transport/quic"
	"example.com/ferry/transport/transporttest"
)

// identity returns TLS configurations for a server and for clients that trust this server.
func identity(t *testing.T) (server, client *tls.Config, id *pki.Identity) {
	t.Helper()
	dir := t.TempDir()
	id, err := pki.Open(pki.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	client, err = pki.ClientTLS(filepath.Join(dir, pki.CAFile))
	if err != nil {
		t.Fatal(err)
	}
	return id.ServerTLS(), client, id
}

func loopback(*testing.T) string { return "127.0.0.1:0" }

func TestContract(t *testing.T) {
	server, client, _ := identity(t)
	transporttest.Run(t, transporttest.Subject{
		Server: quic.New(&quic.Config{ServerTLS: server, Linger: 2 * time.Second}),
		Client: quic.New(&quic.Config{ClientTLS: client, HandshakeTimeout: 2 * time.Second, Linger: 2 * time.Second}),
		Addr:   loopback,
		Stall: func(t *testing.T, addr string) {
			// An Initial packet with nothing after its header starts a handshake that never completes.
			conn, err := net.Dial("udp", addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			if _, err := conn.Write(append([]byte{0xc3, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0}, make([]byte, 1200)...)); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// connect returns both ends of a connection. dialed has written x.
func connect(t *testing.T, server, client *quic.Config) (dialed, accepted transport.Conn) {
	t.Helper()
	return connectThrough(t, server, client, func(addr string) string { return addr })
}

func connectThrough(t *testing.T, server, client *quic.Config, via func(string) string) (dialed, accepted transport.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l, err := quic.New(server).Listen(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	dialed, err = quic.New(client).Dial(ctx, via(l.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dialed.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	accepted, err = l.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		done := make(chan struct{})
		go func() { _ = dialed.Close(); close(done) }()
		_ = accepted.Close()
		<-done
	})
	expect(t, accepted, "x")
	return dialed, accepted
}

func expect(t *testing.T, c net.Conn, want string) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("Read = %q, %v, want %q", got, err, want)
	}
}

func exchange(t *testing.T, a, b net.Conn) {
	t.Helper()
	for _, pair := range [][2]net.Conn{{a, b}, {b, a}} {
		if _, err := pair[0].Write([]byte("there")); err != nil {
			t.Fatalf("Write: %v", err)
		}
		expect(t, pair[1], "there")
	}
}

func TestPeerCertificate(t *testing.T) {
	server, client, id := identity(t)
	certPEM, keyPEM, err := id.IssueClient("pump-1")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	client.Certificates = []tls.Certificate{pair}
	_, accepted := connect(t, &quic.Config{ServerTLS: server}, &quic.Config{ClientTLS: client})
	state := accepted.(transport.Secured).ConnectionState()
	if len(state.VerifiedChains) == 0 || state.PeerCertificates[0].Subject.CommonName != "pump-1" {
		t.Errorf("peer = %v, want a verified pump-1", state.PeerCertificates)
	}
	if state.Version != tls.VersionTLS13 || state.NegotiatedProtocol != quic.ALPN {
		t.Errorf("version %x, protocol %q, want TLS 1.3 and %s", state.Version, state.NegotiatedProtocol, quic.ALPN)
	}
}

func TestUntrustedServersAreRefused(t *testing.T) {
	server, client, _ := identity(t)
	_, stranger, _ := identity(t)
	l, err := quic.New(&quic.Config{ServerTLS: server}).Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	misnamed := client.Clone()
	misnamed.ServerName = "elsewhere.example"
	for name, cfg := range map[string]*tls.Config{"system roots": nil, "another CA": stranger, "another name": misnamed} {
		conn, err := quic.New(&quic.Config{ClientTLS: cfg}).Dial(t.Context(), l.Addr().String())
		if err == nil {
			_ = conn.Close()
			t.Errorf("%s: connected, want an error", name)
		} else if !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%s: error %q does not speak of the certificate", name, err)
		}
	}
}

func TestListenNeedsCertificate(t *testing.T) {
	_, err := quic.New(nil).Listen(t.Context(), "127.0.0.1:0")
	if err == nil || !strings.Contains(err.Error(), "Config.ServerTLS") {
		t.Errorf("Listen = %v, want an error that says to set Config.ServerTLS", err)
	}
}

func TestClientChangesAddress(t *testing.T) {
	server, client, _ := identity(t)
	var r *relay
	dialed, accepted := connectThrough(t, &quic.Config{ServerTLS: server}, &quic.Config{ClientTLS: client},
		func(addr string) string { r = newRelay(t, addr); return r.addr() })
	before := accepted.RemoteAddr().String()
	for range 3 {
		r.rebind(t) // as if a router forgot the mapping, or the device moved to another network
		exchange(t, dialed, accepted)
	}
	if after := accepted.RemoteAddr().String(); after == before {
		t.Errorf("the server still sees %s: the address did not change", after)
	}
}

func TestMigrate(t *testing.T) {
	server, client, _ := identity(t)
	dialed, accepted := connect(t, &quic.Config{ServerTLS: server}, &quic.Config{ClientTLS: client})
	before := accepted.RemoteAddr().String()
	for range 2 {
		if err := dialed.(*quic.Conn).Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		exchange(t, dialed, accepted)
	}
	if after := accepted.RemoteAddr().String(); after == before {
		t.Errorf("the server still sees %s: the connection did not move", after)
	}
	if err := accepted.(*quic.Conn).Migrate(t.Context()); err == nil {
		t.Error("Migrate of the accepted end: no error")
	}
}

func TestSilentPeerEndsTheConnection(t *testing.T) {
	server, client, _ := identity(t)
	var r *relay
	dialed, accepted := connectThrough(t,
		&quic.Config{ServerTLS: server, IdleTimeout: 300 * time.Millisecond, Linger: -1},
		&quic.Config{ClientTLS: client, Linger: -1},
		func(addr string) string { r = newRelay(t, addr); return r.addr() })
	r.dropAll()
	for name, c := range map[string]net.Conn{"dialed": dialed, "accepted": accepted} {
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s end: Read = %v, want an error that says the peer is gone", name, err)
		}
	}
}

func TestKeepAlivePreventsIdleTimeout(t *testing.T) {
	server, client, _ := identity(t)
	idle := 300 * time.Millisecond
	dialed, accepted := connect(t, &quic.Config{ServerTLS: server, IdleTimeout: idle}, &quic.Config{ClientTLS: client, KeepAlive: idle / 10})
	time.Sleep(3 * idle)
	exchange(t, dialed, accepted)
}

func TestCloseWithoutLingerLosesNothingSilently(t *testing.T) {
	server, client, _ := identity(t)
	dialed, accepted := connect(t, &quic.Config{ServerTLS: server}, &quic.Config{ClientTLS: client, Linger: -1})
	go func() {
		_, _ = dialed.Write(make([]byte, 4<<20))
		_ = dialed.Close()
	}()
	_ = accepted.SetReadDeadline(time.Now().Add(time.Minute))
	n, err := io.Copy(io.Discard, accepted)
	if err == nil && n != 4<<20 {
		t.Errorf("%d of %d bytes and no error: lost silently", n, 4<<20)
	}
}

func TestSilentDialerIsRefusedWithAReason(t *testing.T) {
	server, client, _ := identity(t)
	l, err := quic.New(&quic.Config{ServerTLS: server, HandshakeTimeout: 2 * time.Second}).Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := quic.New(&quic.Config{ClientTLS: client, Linger: -1}).Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := conn.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "dialer speaks first") {
		t.Errorf("Read = %v, want the reason why the server closed the connection", err)
	}
}

func TestStatelessResetAfterRestart(t *testing.T) {
	server, client, id := identity(t)
	cfg := &quic.Config{ServerTLS: server, ResetKey: id.ResetKey(), Linger: -1}
	var r *relay
	dialed, accepted := connectThrough(t, cfg, &quic.Config{ClientTLS: client, Linger: -1, IdleTimeout: time.Hour},
		func(addr string) string { r = newRelay(t, addr); return r.addr() })
	exchange(t, dialed, accepted)
	successor, err := quic.New(cfg).Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer successor.Close()
	r.redirect(t, successor.Addr().String()) // the first server receives no more packets
	if _, err := dialed.Write([]byte("are you there?")); err != nil {
		t.Fatal(err)
	}
	_ = dialed.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := dialed.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Read = %v, want an error that says the connection is unknown", err)
	}
}

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	id, err := pki.Open(pki.Config{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	trust, err := pki.ClientTLS(filepath.Join(dir, pki.CAFile))
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := quic.New(&quic.Config{ServerTLS: id.ServerTLS()}).Listen(ctx, "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	go func() {
		conn, err := quic.New(&quic.Config{ClientTLS: trust}).Dial(ctx, l.Addr().String())
		if err != nil {
			return
		}
		fmt.Fprint(conn, "across")
		_ = conn.Close()
	}()
	conn, err := l.Accept(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	got, err := io.ReadAll(conn)
	fmt.Printf("%s %v\n", got, err)
	// Output: across <nil>
}

// TestServerName: Dial verifies the name of WithServerName, unless the configuration has one.
func TestServerName(t *testing.T) {
	server, client, _ := identity(t)
	l, err := quic.New(&quic.Config{ServerTLS: server}).Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	other := client.Clone()
	other.ServerName = "other.example"
	for _, row := range []struct {
		name   string
		cfg    *tls.Config
		server string
		works  bool
	}{
		{"the certificate's name", client, "localhost", true},
		{"another name", client, "other.example", false},
		{"another name in the configuration", other, "localhost", false},
	} {
		conn, err := quic.New(&quic.Config{ClientTLS: row.cfg}).WithServerName(row.server).Dial(t.Context(), l.Addr().String())
		if (err == nil) != row.works {
			t.Errorf("%s: got %v, want success %v", row.name, err, row.works)
		}
		if !row.works && err != nil && !strings.Contains(err.Error(), "other.example") {
			t.Errorf("%s: the error does not name the certificate's name that is missing: %v", row.name, err)
		}
		if err == nil {
			conn.Close()
		}
	}
}
