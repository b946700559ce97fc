package pki

import (
	"crypto/ecdsa"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"example.com/ferry/internal/atomicfile"
)

// The files of a data directory.
const (
	CAFile        = "ca.pem"     // certificate of the CA, which clients trust
	CAKeyFile     = "ca.key"     // key of the CA; mode 0600
	ServerFile    = "server.pem" // certificate of the node
	ServerKeyFile = "server.key" // key of the node; mode 0600
	TokenFile     = "token"      // mode 0600: 32 random bytes in base64url, and a newline
)

// Config configures an Identity.
type Config struct {
	// Dir is the data directory. Open creates it if it is missing. Empty means ./ferry-data.
	Dir string

	// Names are the host names and IP addresses in the node's certificate. The certificate also has 127.0.0.1, ::1, localhost
	// and the machine's host name.
	Names []string

	// Unsaved is called with the error if a renewed certificate cannot be written. The Identity uses it all the same. nil makes that an error of the
	// handshake.
	Unsaved func(error)
}

// Identity is the identity in an opened data directory. Its methods may overlap.
type Identity struct {
	dir   string
	ca    *x509.Certificate
	caKey *ecdsa.PrivateKey
	token string

	unsaved func(error)

	resetKey [32]byte

	mu     sync.Mutex
	names  []string
	server *tls.Certificate // serverCertificate renews it
}

// Open reads the identity in c.Dir. It creates missing files.
func Open(c Config) (*Identity, error) {
	dir := c.Dir
	if dir == "" {
		dir = "ferry-data"
	}
	if err := atomicfile.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("pki: data directory %s: %w: make it, or choose another one", dir, err)
	}
	id := &Identity{dir: dir, names: withLocal(c.Names), unsaved: c.Unsaved}
	var err error
	if id.caKey, err = openKey(filepath.Join(dir, CAKeyFile)); err != nil {
		return nil, err
	}
	if id.ca, err = openCA(filepath.Join(dir, CAFile), id.caKey); err != nil {
		return nil, err
	}
	if id.resetKey, err = resetKey(id.caKey); err != nil {
		return nil, err
	}
	if id.token, err = openToken(filepath.Join(dir, TokenFile)); err != nil {
		return nil, err
	}
	if _, err = id.serverCertificate(nil); err != nil {
		return nil, err
	}
	return id, nil
}

// withLocal returns names and the names of this machine.
func withLocal(names []string) []string {
	all := append([]string{"127.0.0.1", "::1", "localhost"}, names...)
	if host, err := os.Hostname(); err == nil && host != "" {
		all = append(all, host)
	}
	return all
}

// SetNames replaces Config.Names. If the node's certificate lacks one of them, SetNames makes another certificate. After an
// error, names and certificate stay.
func (id *Identity) SetNames(names []string) error {
	id.mu.Lock()
	defer id.mu.Unlock()
	before := id.names
	id.names = withLocal(names)
	if _, err := id.currentCertificate(); err != nil {
		id.names = before
		return err
	}
	return nil
}

// Token returns the local token. It must not be logged.
func (id *Identity) Token() string { return id.token }

// CheckToken reports whether got is the local token. It compares in constant time.
func (id *Identity) CheckToken(got string) bool {
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(id.token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// ServerTLS returns a configuration for listeners. A caller must Clone it before changing it. Clients may present a
// certificate, which this node's CA must have issued. The server certificate is renewed while the node runs.
func (id *Identity) ServerTLS() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(id.ca)
	return &tls.Config{
		MinVersion:     tls.VersionTLS13,
		GetCertificate: id.serverCertificate,
		ClientAuth:     tls.VerifyClientCertIfGiven,
		ClientCAs:      pool,
	}
}

// ResetKey returns a secret for quic.Config.ResetKey. It is the same after each restart.
func (id *Identity) ResetKey() *[32]byte { return &id.resetKey }

func resetKey(caKey *ecdsa.PrivateKey) (key [32]byte, err error) {
	raw, err := caKey.Bytes()
	if err != nil {
		return key, fmt.Errorf("pki: the authority's key: %w", err)
	}
	mac := hmac.New(sha256.New, raw)
	mac.Write([]byte("ferry quic stateless reset"))
	mac.Sum(key[:0])
	return key, nil
}
