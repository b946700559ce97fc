package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ferry/cmd/ferry/top"
	"example.com/ferry/internal/needs"
	"example.com/ferry/internal/pki"
)

const localToken = "bG9jYWwtdG9rZW4tb2YtdGhlLW5vZGU" // base64url, as the node makes it

// adminServer is an admin server of a node with functions only. It asks for token, unless that is empty, and notes what it got.
func adminServer(t *testing.T, token string) (url string, got func() string) {
	t.Helper()
	var mu sync.Mutex
	var presented string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != pki.ProofPath {
			mu.Lock()
			presented = r.Header.Get("Authorization")
			mu.Unlock()
		}
		switch {
		case token != "" && r.Header.Get("Authorization") != "Bearer "+token:
			http.Error(w, "this server wants its token", http.StatusUnauthorized)
		case r.URL.Path == pki.ProofPath:
			local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
			_, _ = io.WriteString(w, pki.Proof(localToken, r.URL.Query().Get("nonce"), local.String()))
		case r.URL.Path == "/api/functions":
			_, _ = io.WriteString(w, `[{"name":"averages","running":true,"handled":7}]`)
		case r.URL.Path == "/metrics":
			_, _ = io.WriteString(w, "go_goroutines 9\n")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		return presented
	}
}

// dataDir returns a data directory with a token.
func dataDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte(localToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTopOnce(t *testing.T) {
	t.Parallel()
	url, token := adminServer(t, "")
	got := ferryWith("", "top", "-o", "json", "--data-dir", dataDir(t), url)
	var sample top.Sample
	if err := json.Unmarshal([]byte(got.stdout), &sample); err != nil || got.status != statusDone || len(sample.Functions) != 1 || sample.Functions[0].Handled != 7 {
		t.Errorf("got %+v, %v", got, err)
	}
	if token() != "Bearer "+localToken {
		t.Errorf("the server got %q, want the token of the data directory", token())
	}
}

func TestTopFails(t *testing.T) {
	t.Parallel()
	url, _ := adminServer(t, "another-token-of-the-server")
	wanted := filepath.Join(t.TempDir(), "admin-token")
	if err := os.WriteFile(wanted, []byte("another-token-of-the-server\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		args   []string
		status int
		want   string // part of standard error
	}{
		{"no terminal", []string{url, "--admin-token-file", wanted}, statusUsage, "no terminal: -o json prints the counters once"},
		{"wrong token", []string{url, "-o", "json", "--data-dir", dataDir(t)}, statusFailed, "this server wants its token\nname the file with its token with --admin-token-file"},
		{"no token", []string{url, "-o", "json", "--data-dir", t.TempDir()}, statusFailed, "responded 401"},
		{"no such file", []string{url, "-o", "json", "--admin-token-file", "none"}, statusFailed, "none"},
		{"nothing there", []string{"127.0.0.1:1", "-o", "json", "--data-dir", t.TempDir()}, statusFailed, "is a node running, with its admin server at http://127.0.0.1:1?"},
		{"no address", []string{"quic://127.0.0.1:4190"}, statusUsage, "want http://HOST:PORT or https://HOST:PORT"},
		{"too often", []string{"--interval", "1ms"}, statusUsage, "want at least 100ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := ferryWith("", append([]string{"top"}, c.args...)...)
			if got.status != c.status || !strings.Contains(got.stderr, c.want) || got.stdout != "" {
				t.Errorf("got %+v, want status %d and %q", got, c.status, c.want)
			}
		})
	}
}

// TestTokenStaysHere: the token of the data directory goes to this machine only.
func TestTokenStaysHere(t *testing.T) {
	t.Parallel()
	flags := adminFlags{DataDir: dataDir(t)}
	for address, want := range map[string]string{
		"http://127.0.0.1:4195": localToken, "http://localhost:4195": localToken, "https://[::1]:4195": localToken,
		"http://192.0.2.1:4195": "", "https://edge-1.example": "", "http://localhost.example": "",
	} {
		c, err := flags.client(address)
		if err != nil {
			t.Fatal(err)
		}
		if c.token != want {
			t.Errorf("%s: got the token %q, want %q", address, c.token, want)
		}
	}
}

// TestTopInTerminal runs ferry top in a terminal, until it shows the function, and quits.
func TestTopInTerminal(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		needs.Missing(t, "the program script of util-linux", "Linux")
	}
	needs.Program(t, "script")
	url, _ := adminServer(t, "")
	cmd := process(t.Context(), "script", "-qec", "stty cols 80 rows 24; exec '"+os.Args[0]+"' top "+url, "/dev/null")
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "NO_COLOR=1")
	keys, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var screen lockedBuffer
	cmd.Stdout, cmd.Stderr = &screen, &screen
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for !strings.Contains(screen.String(), "averages") {
		select {
		case err := <-ended:
			t.Fatalf("ended: %v: %q", err, screen.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
	if _, err := io.WriteString(keys, "q"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("q: %v: %q", err, screen.String())
	}
	for what, sequence := range map[string]string{"entered": "\x1b[?1049h", "left": "\x1b[?1049l"} {
		if !strings.Contains(screen.String(), sequence) {
			t.Errorf("the alternate screen was not %s", what)
		}
	}
	if strings.Contains(screen.String(), "\x1b[32m") {
		t.Error("NO_COLOR is set, but the state is green")
	}
}

// lockedBuffer is a buffer that is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
