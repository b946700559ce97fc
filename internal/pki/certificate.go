package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"time"

	"example.com/ferry/internal/atomicfile"
)

// The lifetimes of certificates. The node's certificate is renewed renewBefore before its end. A certificate is valid from one
// hour before its issue, for clients with a slow clock.
const (
	caLife      = 10 * 365 * 24 * time.Hour
	leafLife    = 90 * 24 * time.Hour
	renewBefore = 30 * 24 * time.Hour
	clockSkew   = time.Hour
)

// plausible is a time at which no node is made with a right clock. The first start of a device may come before its clock is set: the CA is then valid
// from before this time until caLife after it, so it outlives the step of the clock.
var plausible = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// openCA reads the CA's certificate. If the file is missing, it makes a certificate for key.
func openCA(path string, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	if cert, err := readCertificate(path); err == nil {
		if !key.PublicKey.Equal(cert.PublicKey) {
			return nil, fmt.Errorf("pki: %s does not belong to the key beside it: restore both, or remove both for a new authority", path)
		}
		if time.Now().Before(cert.NotBefore) {
			return nil, fmt.Errorf("pki: %s is valid from %s on, and the clock says %s: set the clock", path, cert.NotBefore.Format(time.DateOnly), time.Now().Format(time.DateOnly))
		}
		if time.Now().After(cert.NotAfter) {
			return nil, fmt.Errorf("pki: %s has expired on %s: remove it for a new one, and give that to the clients", path, cert.NotAfter.Format(time.DateOnly))
		}
		return cert, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("pki: encode the CA's key: %w", err)
	}
	digest := sha256.Sum256(public)
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "ferry local CA " + hex.EncodeToString(digest[:4])},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	template.NotBefore, template.NotAfter = earlier(time.Now().Add(-clockSkew), plausible), later(time.Now(), plausible).Add(caLife)
	cert, err := sign(template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	if err := written(path, atomicfile.Create(path, encode("CERTIFICATE", cert), 0o644)); err != nil {
		return nil, err
	}
	return readCertificate(path)
}

// serverCertificate implements tls.Config.GetCertificate. It returns the node's certificate.
func (id *Identity) serverCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.currentCertificate()
}

// currentCertificate returns the node's certificate. It first renews a certificate that is about to expire, has been issued by
// another authority or lacks a name. The caller holds mu.
func (id *Identity) currentCertificate() (*tls.Certificate, error) {
	if id.server != nil && id.usable(id.server.Leaf) {
		return id.server, nil
	}
	key, err := openKey(filepath.Join(id.dir, ServerKeyFile))
	if err != nil {
		return nil, err
	}
	path := filepath.Join(id.dir, ServerFile)
	leaf, err := readCertificate(path)
	if err != nil || !id.usable(leaf) || !key.PublicKey.Equal(leaf.PublicKey) {
		template := &x509.Certificate{
			Subject:     pkix.Name{CommonName: "ferry node"},
			KeyUsage:    x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}
		for _, n := range id.names {
			if ip := net.ParseIP(n); ip != nil {
				template.IPAddresses = append(template.IPAddresses, ip)
			} else {
				template.DNSNames = append(template.DNSNames, n)
			}
		}
		raw, err := issueCertificate(template, id.ca, &key.PublicKey, id.caKey, leafLife)
		if err != nil {
			return nil, err
		}
		if err := written(path, atomicfile.Write(path, encode("CERTIFICATE", raw), 0o644)); err != nil && id.unsaved != nil {
			id.unsaved(fmt.Errorf("%w: the node uses the new certificate, and makes another one at its next start", err))
		} else if err != nil {
			return nil, err
		}
		if leaf, err = x509.ParseCertificate(raw); err != nil {
			return nil, fmt.Errorf("pki: the certificate just made: %w", err)
		}
	}
	id.server = &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}
	return id.server, nil
}

// usable reports whether leaf is valid long enough, was issued by this CA and contains all names.
func (id *Identity) usable(leaf *x509.Certificate) bool {
	if time.Until(leaf.NotAfter) < renewBefore || time.Now().Before(leaf.NotBefore) || leaf.CheckSignatureFrom(id.ca) != nil {
		return false
	}
	for _, n := range id.names {
		if leaf.VerifyHostname(n) != nil {
			return false
		}
	}
	return true
}

// IssueClient returns a certificate for a client and the client's key, both as PEM. name becomes the common name of the
// subject. The node stores neither of them.
func (id *Identity) IssueClient(name string) (certPEM, keyPEM []byte, err error) {
	if name == "" {
		return nil, nil, errors.New("pki: a client certificate needs a name: it is the client's identity")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("pki: new key: %w", err)
	}
	cert, err := issueCertificate(&x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, id.ca, &key.PublicKey, id.caKey, leafLife)
	if err != nil {
		return nil, nil, err
	}
	keyPEM, err = encodeKey(key)
	return encode("CERTIFICATE", cert), keyPEM, err
}

// issueCertificate signs template. The certificate is valid for the duration life, but not longer than parent.
func issueCertificate(template, parent *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey, life time.Duration) ([]byte, error) {
	template.NotBefore = time.Now().Add(-clockSkew)
	template.NotAfter = earlier(time.Now().Add(life), parent.NotAfter)
	return sign(template, parent, public, key)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func sign(template, parent *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) ([]byte, error) {
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return nil, fmt.Errorf("pki: issue a certificate for %q: %w", template.Subject.CommonName, err)
	}
	return raw, nil
}

func readCertificate(path string) (*x509.Certificate, error) {
	raw, err := readPEM(path, "CERTIFICATE")
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, fmt.Errorf("pki: %s: %w: restore it, or remove it for a new one", path, err)
	}
	return cert, nil
}

func encode(kind string, raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
}
