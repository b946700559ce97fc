package tcp_test

import (
	"context"
	"crypto/tls"
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
	"example.com/ferry/transport/tcp"
	"example.com/ferry/transport/transporttest"
)

// identity returns TLS configurations for a server and for clients that trust this server.
func identity(t *testing.T) (server, client *tls.Config) {
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
	return id.ServerTLS(), client
}

func TestTLSContract(t *testing.T) {
	server, client := identity(t)
	transporttest.Run(t, transporttest.Subject{
		Server: tcp.NewTLS(&tcp.Config{ServerTLS: server}),
		Client: tcp.NewTLS(&tcp.Config{ClientTLS: client}),
		Addr:   loopback,
		Stall: func(t *testing.T, addr string) {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
		},
	})
}

func TestTLSRefusesUntrustedServers(t *testing.T) {
	server, client := identity(t)
	_, stranger := identity(t)
	l, err := tcp.NewTLS(&tcp.Config{ServerTLS: server}).Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	old := client.Clone()
	old.MaxVersion = tls.VersionTLS12
	for name, cfg := range map[string]*tls.Config{"system roots": nil, "another CA": stranger, "TLS 1.2": old} {
		conn, err := tcp.NewTLS(&tcp.Config{ClientTLS: cfg}).Dial(t.Context(), l.Addr().String())
		if err == nil {
			_ = conn.Close()
			t.Errorf("%s: connected, want an error", name)
		} else if !strings.HasPrefix(err.Error(), "tcp: tls handshake with "+l.Addr().String()) {
			t.Errorf("%s: error %q does not name the server", name, err)
		}
	}
}

func TestTLSConnectionState(t *testing.T) {
	server, client := identity(t)
	l, err := tcp.NewTLS(&tcp.Config{ServerTLS: server}).Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := tcp.NewTLS(&tcp.Config{ClientTLS: client}).Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if state := conn.(transport.Secured).ConnectionState(); state.Version != tls.VersionTLS13 || !state.HandshakeComplete {
		t.Errorf("version %x, complete %v, want TLS 1.3, complete", state.Version, state.HandshakeComplete)
	}
}

func TestTLSHandshakeTimesOut(t *testing.T) {
	server, _ := identity(t)
	l, err := tcp.NewTLS(&tcp.Config{ServerTLS: server, HandshakeTimeout: 10 * time.Millisecond}).Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := conn.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("Read = %v, want that the server closes the connection of a silent client", err)
	}
}

func TestTLSListenNeedsCertificate(t *testing.T) {
	if _, err := tcp.NewTLS(nil).Listen(t.Context(), "127.0.0.1:0"); err == nil || !strings.Contains(err.Error(), "Config.ServerTLS") {
		t.Errorf("Listen = %v, want an error that says to set Config.ServerTLS", err)
	}
}

func ExampleNewTLS() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	id, err := pki.Open(pki.Config{Dir: dir}) // creates a CA and a certificate for this machine
	if err != nil {
		fmt.Println(err)
		return
	}
	trust, err := pki.ClientTLS(filepath.Join(dir, pki.CAFile))
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := tcp.NewTLS(&tcp.Config{ServerTLS: id.ServerTLS()}).Listen(ctx, "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	go func() {
		if conn, err := l.Accept(ctx); err == nil {
			fmt.Fprint(conn, "across")
			_ = conn.Close()
		}
	}()
	conn, err := tcp.NewTLS(&tcp.Config{ClientTLS: trust}).Dial(ctx, l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	got, err := io.ReadAll(conn)
	fmt.Printf("%s %v\n", got, err)
	// Output: across <nil>
}

// TestALPN: both ends agree on the protocol of WithALPN, also if the configuration of the server names another one, or is chosen for each client.
func TestALPN(t *testing.T) {
	server, client := identity(t)
	other := server.Clone()
	other.NextProtos = []string{"http/1.1"}
	chosen := &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return other, nil }}
	for name, cfg := range map[string]*tls.Config{"no protocol": server, "another protocol": other, "chosen for each client": chosen} {
		t.Run(name, func(t *testing.T) {
			l, err := tcp.NewTLS(&tcp.Config{ServerTLS: cfg}).WithALPN("h2").Listen(t.Context(), "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			conn, err := tcp.NewTLS(&tcp.Config{ClientTLS: client}).WithALPN("h3", "h2").Dial(t.Context(), l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if got := conn.(transport.Secured).ConnectionState().NegotiatedProtocol; got != "h2" {
				t.Errorf("got %q, want h2", got)
			}
		})
	}
}

// TestServerName: Dial verifies the name of WithServerName, unless the configuration has one.
func TestServerName(t *testing.T) {
	server, client := identity(t)
	l, err := tcp.NewTLS(&tcp.Config{ServerTLS: server}).Listen(t.Context(), "127.0.0.1:0")
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
		conn, err := tcp.NewTLS(&tcp.Config{ClientTLS: row.cfg}).WithServerName(row.server).Dial(t.Context(), l.Addr().String())
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
