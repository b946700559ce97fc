package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"example.com/ferry/internal/atomicfile"
)

// openKey reads a private key. If the file is missing, it creates a key.
func openKey(path string) (*ecdsa.PrivateKey, error) {
	if err := ensureSecretFile(path, func() ([]byte, error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, fmt.Errorf("pki: new key: %w", err)
		}
		return encodeKey(key)
	}); err != nil {
		return nil, err
	}
	raw, err := readPEM(path, "PRIVATE KEY")
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(raw)
	if err != nil {
		return nil, fmt.Errorf("pki: %s: %w: restore it, or remove it for a new one", path, err)
	}
	ec, ok := key.(*ecdsa.PrivateKey)
	if !ok || ec.Curve != elliptic.P256() {
		return nil, fmt.Errorf("pki: %s holds a %T, not an ECDSA P-256 key: restore it, or remove it for a new one", path, key)
	}
	return ec, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("pki: encode a key: %w", err)
	}
	return encode("PRIVATE KEY", raw), nil
}

// OpenToken returns the local token of the data directory dir. It creates both if they are missing, and none of the other files.
func OpenToken(dir string) (string, error) {
	if err := atomicfile.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("pki: %w", err)
	}
	return openToken(filepath.Join(dir, TokenFile))
}

// openToken reads the local token. If the file is missing, it creates a token.
func openToken(path string) (string, error) {
	if err := ensureSecretFile(path, func() ([]byte, error) {
		var secret [32]byte
		_, _ = rand.Read(secret[:]) // Read never fails
		return []byte(base64.RawURLEncoding.EncodeToString(secret[:]) + "\n"), nil
	}); err != nil {
		return "", err
	}
	return ReadToken(path)
}

// ReadToken reads a token file: that of a data directory, or one with the token that a node's configuration gives an identity. Both are one line of at
// least 16 characters without spaces.
func ReadToken(path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("pki: token: %w", err)
	}
	token := strings.TrimSpace(string(raw))
	if len(token) < 16 || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("pki: token file %s holds no token: want one line of at least 16 characters without spaces", path)
	}
	return token, nil
}

// ensureSecretFile creates a secret file if it is missing. If other users may read an existing file, ensureSecretFile returns an error.
func ensureSecretFile(path string, content func() ([]byte, error)) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		data, err := content()
		if err != nil {
			return err
		}
		return written(path, atomicfile.Create(path, data, 0o600))
	case err != nil:
		return fmt.Errorf("pki: %w", err)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("pki: %s may be read by others (%v): chmod 600 it, and replace it if they have", path, info.Mode().Perm())
	}
	return nil
}

func readPEM(path, kind string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("pki: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != kind {
		return nil, fmt.Errorf("pki: %s holds no %s in PEM: restore it, or remove it for a new one", path, strings.ToLower(kind))
	}
	return block.Bytes, nil
}

// written explains an error of writing to the data directory.
func written(path string, err error) error {
	if err != nil {
		return fmt.Errorf("pki: cannot write to data directory %s: %w: make it writable, or choose another one", filepath.Dir(path), err)
	}
	return nil
}
