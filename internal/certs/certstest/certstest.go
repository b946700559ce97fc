// Package certstest makes certificate authorities and certificates for tests.
//
//	ca := certstest.NewCA(t, "upstreams")
//	files := ca.Issue(t, certstest.Leaf{Names: []string{"a.example"}}).Write(t, t.TempDir(), "a")
package certstest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// serial is the serial number of the last certificate.
var serial atomic.Int64

// CA is a certificate authority.
type CA struct {
	Cert *x509.Certificate
	PEM  []byte
	key  crypto.Signer
}

// Leaf describes a certificate to issue.
type Leaf struct {
	CommonName string
	Names      []string // host names and IP addresses; a client certificate needs none
	URIs       []string
	Expired    bool
	RSA        bool // RSA 2048 instead of ECDSA P-256
}

// Pair is a certificate and its key in PEM.
type Pair struct {
	Cert         *x509.Certificate
	CertPEM, Key []byte
}

// NewCA creates a self-signed authority.
func NewCA(t testing.TB, name string) *CA {
	t.Helper()
	key := newKey(t, false)
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true, IsCA: true,
	}
	cert := sign(t, template, template, key.Public(), key, false)
	return &CA{Cert: cert, PEM: encode("CERTIFICATE", cert.Raw), key: key}
}

// Pool returns a pool with the authority only.
func (ca *CA) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(ca.Cert)
	return pool
}

// Intermediate returns an authority that ca has signed.
func (ca *CA) Intermediate(t testing.TB, name string) *CA {
	t.Helper()
	key := newKey(t, false)
	cert := sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageCertSign,
		BasicConstraintsValid: true, IsCA: true,
	}, ca.Cert, key.Public(), ca.key, false)
	return &CA{Cert: cert, PEM: encode("CERTIFICATE", cert.Raw), key: key}
}

// Issue returns a certificate for servers and clients.
func (ca *CA) Issue(t testing.TB, l Leaf) *Pair {
	t.Helper()
	key := newKey(t, l.RSA)
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: l.CommonName}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, name := range l.Names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	for _, text := range l.URIs {
		uri, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		template.URIs = append(template.URIs, uri)
	}
	cert := sign(t, template, ca.Cert, key.Public(), ca.key, l.Expired)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &Pair{Cert: cert, CertPEM: encode("CERTIFICATE", cert.Raw), Key: encode("PRIVATE KEY", der)}
}

// TLS returns the pair for crypto/tls.
func (p *Pair) TLS(t testing.TB) tls.Certificate {
	t.Helper()
	cert, err := tls.X509KeyPair(p.CertPEM, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// Write writes the pair to name.pem and name.key in dir. Each file is replaced atomically.
func (p *Pair) Write(t testing.TB, dir, name string) (certFile, keyFile string) {
	t.Helper()
	certFile, keyFile = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	Replace(t, certFile, p.CertPEM)
	Replace(t, keyFile, p.Key)
	return certFile, keyFile
}

// Write writes the authority's certificate to name.pem in dir. The file is replaced atomically.
func (ca *CA) Write(t testing.TB, dir, name string) (file string) {
	t.Helper()
	file = filepath.Join(dir, name+".pem")
	Replace(t, file, ca.PEM)
	return file
}

// Replace replaces a file atomically. Its mode is 0600.
func Replace(t testing.TB, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file+".new", data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

func newKey(t testing.TB, rsaKey bool) crypto.Signer {
	t.Helper()
	var key crypto.Signer
	var err error
	if rsaKey {
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	} else {
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t testing.TB, template, parent *x509.Certificate, public crypto.PublicKey, by crypto.Signer, expired bool) *x509.Certificate {
	t.Helper()
	template.SerialNumber = big.NewInt(serial.Add(1))
	template.NotBefore, template.NotAfter = time.Now().Add(-24*time.Hour), time.Now().Add(24*time.Hour)
	if expired {
		template.NotAfter = time.Now().Add(-time.Hour)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, by)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
