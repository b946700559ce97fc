package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"

	"example.com/ferry/internal/pki"
)

// requireAction guards what changes the node, removes stored messages or returns all of them. A server with a token requires it for every
// request. A server without one, on loopback, requires here the token of the data directory, which only the node's own user can
// read: other users of the machine may look, and change nothing.
func requireAction(cfg Config, next http.Handler) http.Handler {
	switch {
	case cfg.Token != "" || cfg.LocalToken == "" && cfg.NoActions == "":
		return next
	case cfg.LocalToken == "":
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			writeText(w, http.StatusForbidden, "the node has no token for actions: "+cfg.NoActions+"; set admin.token_file")
		})
	}
	want := sha256.Sum256([]byte(cfg.LocalToken))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(presented(r)))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="ferry data directory", charset="UTF-8"`)
			writeText(w, http.StatusUnauthorized, "this needs the token in the node's data directory, the file token: as password with any user name, or as Authorization: Bearer TOKEN")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// writeProof responds with the proof that the node knows the token. A client that has read the token in the data directory asks for it before it sends the
// token: another program may listen on the port while the node is down.
func writeProof(w http.ResponseWriter, r *http.Request, token string) {
	nonce := r.URL.Query().Get("nonce")
	local, known := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if len(nonce) < 16 || len(nonce) > 128 || !known {
		writeText(w, http.StatusBadRequest, "nonce: want 16 to 128 random characters")
		return
	}
	writeText(w, http.StatusOK, pki.Proof(token, nonce, local.String()))
}
