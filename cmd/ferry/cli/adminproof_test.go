package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"example.com/ferry/internal/pki"
)

// TestTokenGoesToTheNodeOnly runs verbs against programs that listen where a node's admin server could be, and are not it. None gets the token of the data
// directory: neither one that responds with 200 to everything, nor one that passes requests for a proof on to the node.
func TestTokenGoesToTheNodeOnly(t *testing.T) {
	t.Parallel()
	n := runNode(t, nodeYAML)
	node := regexp.MustCompile(`dashboard: (\S+)/\n`).FindStringSubmatch(n.welcome)[1]
	data := filepath.Join(n.dir, "ferry-data")
	token, err := os.ReadFile(filepath.Join(data, pki.TokenFile))
	if err != nil {
		t.Fatal(err)
	}
	verbs := [][]string{{"admin", "connections"}, {"stream", "ls"}, {"admin", "log-level", "debug"}}

	for name, respond := range map[string]func(w http.ResponseWriter, r *http.Request){
		"responds to everything": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") },
		"asks for it": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
		},
		"passes the proof on": func(w http.ResponseWriter, r *http.Request) {
			response, err := http.Get(node + r.URL.RequestURI()) //nolint:gosec // the test's own node
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			w.WriteHeader(response.StatusCode)
			_, _ = io.Copy(w, response.Body)
		},
	} {
		var mu sync.Mutex
		requests := 0
		impostor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			requests++
			mu.Unlock()
			if strings.Contains(r.Header.Get("Authorization"), strings.TrimSpace(string(token))) {
				t.Errorf("%s: %s got the token", name, r.URL.Path)
			}
			respond(w, r)
		}))
		t.Cleanup(impostor.Close)
		for _, verb := range verbs {
			ferryWith("", append(verb, "-a", impostor.URL, "--data-dir", data)...)
		}
		if requests == 0 {
			t.Errorf("%s: no request came", name)
		}
	}

	// The node itself gets it: this needs the token.
	if got := ferryWith("", "admin", "log-level", "debug", "-a", node, "--data-dir", data); got.status != 0 || got.stdout != "debug, and info in the configuration\n" {
		t.Errorf("the node: got %+v", got)
	}
	// The data directory of another node: what needs no token works, and the error of the rest says why.
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, pki.TokenFile), []byte(strings.Repeat("b", 43)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ferryWith("", "admin", "connections", "-a", node, "--data-dir", other); got.status != 0 {
		t.Errorf("without the token: got %+v", got)
	}
	if got := ferryWith("", "admin", "log-level", "warn", "-a", node, "--data-dir", other); got.status != statusFailed || !strings.Contains(got.stderr, "does not prove that it knows the token") {
		t.Errorf("with the token of another node: got %+v", got)
	}
}
