package rpcload

import (
	"crypto/tls"
	"path/filepath"

	"example.com/ferry/internal/pki"
)

// identity returns the certificate of servers, and what clients verify it by. The first call makes the files in dir.
func identity(dir string) (*pki.Identity, *tls.Config, error) {
	id, err := pki.Open(pki.Config{Dir: dir})
	if err != nil {
		return nil, nil, err
	}
	trust, err := pki.ClientTLS(filepath.Join(dir, pki.CAFile))
	return id, trust, err
}

// Prepare makes the files that the systems need, in dir. It must run before Open.
func Prepare(dir string) error {
	_, _, err := identity(dir)
	return err
}
