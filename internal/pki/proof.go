package pki

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
)

// ProofPath is where an admin server proves that it knows the token of the data directory. The query has nonce.
const ProofPath = "/api/proof"

// Proof returns what a server shows to a client that has the same token, before the client sends it: HMAC-SHA-256 (RFC 2104) of the client's nonce and of
// the server's end of the connection, such as 127.0.0.1:4195, in base64url. A proof for another address is none here, so that no program can pass on that of a
// server elsewhere on the machine.
func Proof(token, nonce, addr string) string {
	sum := hmac.New(sha256.New, []byte(token))
	for _, part := range []string{"ferry admin proof", nonce, addr} {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

// IsProof reports whether proof is that of the token, in a time that does not depend on how much of it is right.
func IsProof(proof, token, nonce, addr string) bool {
	return hmac.Equal([]byte(proof), []byte(Proof(token, nonce, addr)))
}
