package hop

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
)

// Credential identifies one client: by a token, by a certificate's common name, or by either.
type Credential struct {
	Identity   Identity
	TokenHash  []byte // SHA-256 of the token; nil if the client has no token
	CommonName string // common name of a certificate that the listener has verified; "" if the client has none
}

// HashToken returns the TokenHash of a token.
func HashToken(token []byte) []byte {
	sum := sha256.Sum256(token)
	return sum[:]
}

// Known returns a Config.Identify for these clients. The time of a token comparison depends only on the number of
// clients. If a client sends a token, its certificate is ignored.
func Known(clients []Credential) (func([]byte, *tls.ConnectionState) (*Identity, error), error) {
	for i, c := range clients {
		if len(c.TokenHash) == 0 && c.CommonName == "" {
			return nil, fmt.Errorf("hop: identity %q has neither token nor certificate", c.Identity.Name)
		}
		for _, d := range clients[:i] {
			if len(c.TokenHash) > 0 && subtle.ConstantTimeCompare(c.TokenHash, d.TokenHash) == 1 {
				return nil, fmt.Errorf("hop: identities %q and %q have the same token", d.Identity.Name, c.Identity.Name)
			}
			if c.CommonName != "" && c.CommonName == d.CommonName {
				return nil, fmt.Errorf("hop: identities %q and %q have the same common_name", d.Identity.Name, c.Identity.Name)
			}
		}
	}
	known := append([]Credential(nil), clients...)
	return func(token []byte, state *tls.ConnectionState) (*Identity, error) {
		if len(token) > 0 {
			hash := HashToken(token)
			found := -1
			for i := range known {
				if subtle.ConstantTimeCompare(hash, known[i].TokenHash) == 1 {
					found = i
				}
			}
			if found < 0 {
				return nil, errors.New("hop: unknown token")
			}
			return &known[found].Identity, nil
		}
		if state == nil || len(state.VerifiedChains) == 0 {
			return nil, errors.New("hop: neither token nor verified certificate")
		}
		name := state.PeerCertificates[0].Subject.CommonName
		for i := range known {
			if known[i].CommonName != "" && known[i].CommonName == name {
				return &known[i].Identity, nil
			}
		}
		return nil, fmt.Errorf("hop: no identity has the common_name %q of the certificate", name)
	}, nil
}
