package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync/atomic"
)

// requireToken refuses requests that do not carry the token: as Authorization: Bearer, or as the password of HTTP's basic
// authentication, which browsers ask for. Probes need none.
func requireToken(token string, refused *atomic.Uint64, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(presented(r)))
		if subtle.ConstantTimeCompare(got[:], want[:]) == 1 || r.URL.Path == "/ping" || r.URL.Path == "/ready" {
			next.ServeHTTP(w, r)
			return
		}
		refused.Add(1)
		w.Header().Set("WWW-Authenticate", `Basic realm="ferry admin", charset="UTF-8"`)
		writeText(w, http.StatusUnauthorized, "this server needs the token of admin.token_file: Authorization: Bearer TOKEN, or as password")
	})
}

// presented returns the token of a request; empty if there is none.
func presented(r *http.Request) string {
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	_, password, _ := r.BasicAuth()
	return password
}
