// Package keypair makes the certificate that all servers of a benchmark use: ECDSA P-256, for localhost and 127.0.0.1.
//
//	files, err := keypair.Write(dir)
//	server := exec.Command("server", "-cert", files.Cert, "-key", files.Key)
package keypair

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Files are the files of a certificate. It is self-signed, so Cert is also what clients verify it by.
type Files struct {
	Cert string // PEM
	Key  string // PEM, SEC 1
	Both string // certificate and key in one file
}

// Write makes a certificate, which is valid for a week, and writes its files to dir.
func Write(dir string) (Files, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Files{}, fmt.Errorf("keypair: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(7 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return Files{}, fmt.Errorf("keypair: %w", err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return Files{}, fmt.Errorf("keypair: %w", err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})
	f := Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), Both: filepath.Join(dir, "both.pem")}
	for name, text := range map[string][]byte{f.Cert: certPEM, f.Key: keyPEM, f.Both: slices.Concat(certPEM, keyPEM)} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			return Files{}, fmt.Errorf("keypair: %w", err)
		}
	}
	return f, nil
}
