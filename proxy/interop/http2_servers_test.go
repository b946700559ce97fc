package interop

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"example.com/ferry/internal/needs"
)

// http2Servers starts servers that speak cleartext HTTP/2, and returns their addresses by name. All of them have the paths
// /text, /hash and /bytes but nghttpd, which serves the file /text and returns what is uploaded.
func http2Servers(t *testing.T) map[string]string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: paths(), Protocols: new(http.Protocols)}
	s.Protocols.SetUnencryptedHTTP2(true)
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	return map[string]string{
		"go":      ln.Addr().String(),
		"node":    script(t, "node", "server.mjs", "5000", "h2c"),
		"nghttpd": nghttpd(t),
	}
}

// nghttpd runs the server of nghttp2. It prints nothing when it is ready, so a shell waits for its port.
func nghttpd(t *testing.T) (address string) {
	t.Helper()
	program := needs.Program(t, "nghttpd")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "text"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	const wait = `"$1" --no-tls --echo-upload -a 127.0.0.1 -d "$2" "$3" & n=$!; trap 'kill $n' TERM
		until (exec 3<>/dev/tcp/127.0.0.1/$3) 2>/dev/null; do kill -0 $n || exit; sleep 0.02; done; echo ready; wait $n; wait $n; exit 0`
	onFreePort(t, func() (*exec.Cmd, string) {
		address = freePort(t)
		_, port, _ := net.SplitHostPort(address)
		return exec.Command(needs.Program(t, "bash"), "-c", wait, "bash", program, dir, port), "ready"
	}, func(*exec.Cmd) {})
	return address
}

// TestHTTP2Servers sends requests of HTTP/1.1 and of HTTP/2 to each server of HTTP/2.
func TestHTTP2Servers(t *testing.T) {
	const size = 4 << 20
	downloaded := sum(size)
	for server, address := range http2Servers(t) {
		for _, listener := range []string{"http1", "http2"} {
			t.Run(listener+" to "+server, func(t *testing.T) {
				t.Parallel()
				f := run(t, "http2.yaml", map[string]string{"18092": address}, "protocol: http1", "protocol: http2", "protocol: http2 #", "protocol: "+listener+" #")
				tr := &http.Transport{Protocols: new(http.Protocols)}
				tr.Protocols.SetHTTP1(listener == "http1")
				tr.Protocols.SetUnencryptedHTTP2(listener == "http2")
				t.Cleanup(tr.CloseIdleConnections)
				c := &http.Client{Transport: tr, Timeout: patience}
				base := f.url("18082")
				var all sync.WaitGroup
				for range 40 {
					all.Go(func() {
						if got := body(t, c, "GET", base+"/text", nil); got != string(text) {
							t.Errorf("/text has %d bytes, or others", len(got))
						}
					})
				}
				all.Wait()
				if server == "nghttpd" {
					if got := body(t, c, "POST", base+"/text", pattern(size)); fmt.Sprintf("%x", sha256.Sum256([]byte(got))) != downloaded {
						t.Errorf("%d bytes of %d came back, or others", len(got), size)
					}
					return
				}
				if got := body(t, c, "PUT", base+"/hash", pattern(size)); got != fmt.Sprintf("PUT %d %s\n", size, downloaded) {
					t.Errorf("uploaded %q, want %s", got, downloaded)
				}
				if got := body(t, c, "GET", fmt.Sprint(base, "/bytes?n=", size), nil); fmt.Sprintf("%x", sha256.Sum256([]byte(got))) != downloaded {
					t.Errorf("downloaded %d bytes of %d, or others", len(got), size)
				}
				if got := body(t, c, "DELETE", base+"/echo?a", nil); !strings.HasPrefix(got, "DELETE /echo?a") {
					t.Errorf("got %q", got)
				}
			})
		}
	}
}

// body sends a request and returns the body of the response.
func body(t *testing.T, c *http.Client, method, url string, content io.Reader) string {
	t.Helper()
	req, err := http.NewRequest(method, url, content)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Errorf("%s %s: %v", method, url, err)
		return ""
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Errorf("%s %s: status %d, %v", method, url, resp.StatusCode, err)
	}
	return string(got)
}
