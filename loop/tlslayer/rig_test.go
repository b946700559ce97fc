package tlslayer

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/loop"
)

// authority issues the certificates of the tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	a.key, a.cert = issue(t, template, template, nil)
	return a
}

// issue returns a key and its certificate, signed by signer. If signer is nil, the certificate signs itself.
func issue(t testing.TB, template, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*ecdsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if signer == nil {
		signer = key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return key, cert
}

// leaf returns a certificate for the host example.com.
func (a *authority) leaf(t testing.TB) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "leaf"}, DNSNames: []string{"example.com"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	key, cert := issue(t, template, a.cert, a.key)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}
}

// server returns the configuration of a server, and roots that trust it.
func (a *authority) configs(t testing.TB) (server, client *tls.Config) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &tls.Config{Certificates: []tls.Certificate{a.leaf(t)}}, &tls.Config{RootCAs: roots, ServerName: "example.com"}
}

// rig is a loop group whose listener echoes over TLS.
type rig struct {
	group    *loop.Group
	layers   *Layers
	listener *loop.Listener
	opened   atomic.Int64
	closed   chan error
}

// echo sends back what it receives, and ends its side after the client's.
type echo struct {
	loop.Base
	rig *rig
}

func (e *echo) Opened(*loop.Conn) { e.rig.opened.Add(1) }

func (e *echo) Data(c *loop.Conn, p []byte) int {
	if c.Full() {
		c.PauseReading()
		return 0
	}
	c.Write(p)
	return len(p)
}

func (e *echo) Drained(c *loop.Conn)           { c.ResumeReading() }
func (e *echo) HalfClosed(c *loop.Conn)        { c.CloseWrite() }
func (e *echo) Closed(_ *loop.Conn, err error) { e.rig.closed <- err }

func newRig(t testing.TB, cfg *loop.Config, layers *Config, config *tls.Config) *rig {
	t.Helper()
	group, err := loop.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{group: group, layers: New(len(group.Loops()), layers), closed: make(chan error, 100000)}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = group.Shutdown(ctx)
	})
	bound := r.layers.Bound()
	at, err := loop.ParseAddr("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.listener, err = group.Listen(at, func(c *loop.Conn) loop.Handler {
		h := &echo{rig: r}
		c.SetLayer(r.layers.Server(c.Loop(), config, bound), func(*loop.Conn) loop.Handler { return h })
		return h
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// dial opens a TCP connection to the listener, which the test closes.
func (r *rig) dial(t testing.TB) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", r.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return c
}

// wantClosed waits until a connection is closed and returns Closed's error.
func (r *rig) wantClosed(t testing.TB) error {
	t.Helper()
	select {
	case err := <-r.closed:
		return err
	case <-time.After(time.Minute):
		t.Fatal("the connection is not closed after a minute")
		return nil
	}
}

// eventually waits until ok returns true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not after a minute: %s", what)
		}
	}
}

// both runs f with epoll and with goroutines.
func both(t *testing.T, f func(t *testing.T, cfg *loop.Config)) {
	t.Run("epoll", func(t *testing.T) { f(t, &loop.Config{Loops: 2}) })
	t.Run("goroutines", func(t *testing.T) { f(t, &loop.Config{Loops: 2, Portable: true}) })
}
