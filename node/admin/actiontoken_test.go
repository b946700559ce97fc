package admin

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestRequireAction(t *testing.T) {
	t.Parallel()
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("any:local-token-0123"))
	for _, tt := range []struct {
		name, header string
		cfg          Config
		want         int
	}{
		{"no token anywhere", "", Config{}, http.StatusOK},
		{"no token that a client could know", "", Config{NoActions: "read-only"}, http.StatusForbidden},
		{"no local token, and the server has asked for its own", "", Config{Token: "admin", NoActions: "read-only"}, http.StatusOK},
		{"the server has asked for its own", "", Config{Token: "admin", LocalToken: "local-token-0123"}, http.StatusOK},
		{"without", "", Config{LocalToken: "local-token-0123"}, http.StatusUnauthorized},
		{"wrong", "Bearer local-token-0124", Config{LocalToken: "local-token-0123"}, http.StatusUnauthorized},
		{"bearer", "Bearer local-token-0123", Config{LocalToken: "local-token-0123"}, http.StatusOK},
		{"password", basic, Config{LocalToken: "local-token-0123"}, http.StatusOK},
	} {
		r := httptest.NewRequest(http.MethodPost, "/api/streams/orders/purge", nil)
		if tt.header != "" {
			r.Header.Set("Authorization", tt.header)
		}
		w := httptest.NewRecorder()
		requireAction(tt.cfg, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if w.Code != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, w.Code, tt.want)
		}
		if w.Code == http.StatusUnauthorized && w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: a browser would not ask for the token", tt.name)
		}
	}
}
