package main

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// authorities is the file with the certificate authorities of Mozilla's list, as PEM, where Go looks for it. It leaves out those that Mozilla
// trusts under conditions only, because a file cannot state conditions.
func authorities() (entry, error) {
	var file bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&file, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return entry{}, err
		}
	}
	return entry{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: file.Bytes()}, nil
}
