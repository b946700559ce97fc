package http2

import (
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/internal/needs"
)

// TestH2spec runs all cases of h2spec against a server.
func TestH2spec(t *testing.T) {
	t.Parallel()
	program := needs.Program(t, "h2spec")
	host, port, _ := net.SplitHostPort(serveEcho(t, &Config{ExtendedConnect: true}))
	out, err := exec.Command(program, "-h", host, "-p", port, "-o", "2").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("145 tests, 145 passed, 0 skipped, 0 failed")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestH2load runs many requests over few connections, with and without bodies.
func TestH2load(t *testing.T) {
	t.Parallel()
	program := needs.Program(t, "h2load")
	addr := serveEcho(t, nil)
	body := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(body, bytes.Repeat([]byte("0123456789abcdef"), 20<<10/16), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"get":   {"-n5000", "-c5", "-m100"},
		"post":  {"-n2000", "-c5", "-m100", "-d", body},
		"large": {"-n100", "-c2", "-m20", "-H", "x-size: 1000000"},
	} {
		out, err := exec.Command(program, append(args, "http://"+addr+"/")...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), " 0 failed, 0 errored, 0 timeout") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestCurl posts a body of 1 MB and compares the response.
func TestCurl(t *testing.T) {
	t.Parallel()
	program := needs.Program(t, "curl")
	addr := serveEcho(t, nil)
	body := make([]byte, 1<<20)
	_, _ = rand.Read(body)
	cmd := exec.Command(program, "-sS", "--http2-prior-knowledge", "--data-binary", "@-", "http://"+addr+"/path?q=1")
	cmd.Stdin = bytes.NewReader(body)
	got, err := cmd.Output()
	if err != nil || !bytes.Equal(got, body) {
		t.Errorf("%v: %d bytes, want %d", err, len(got), len(body))
	}
}

// TestNghttp uploads with trailers.
func TestNghttp(t *testing.T) {
	t.Parallel()
	program := needs.Program(t, "nghttp")
	addr := serveEcho(t, nil)
	body := filepath.Join(t.TempDir(), "body")
	content := bytes.Repeat([]byte("x"), 200_000)
	if err := os.WriteFile(body, content, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "-d", body, "--trailer", "grpc-status: 7", "-v", "http://"+addr+"/a").CombinedOutput()
	if err != nil || bytes.Count(out, []byte("grpc-status: 7")) != 2 {
		t.Errorf("%v\n%.4000s", err, out)
	}
}

// TestGoClient lets net/http talk to a server, with several requests at once.
func TestGoClient(t *testing.T) {
	t.Parallel()
	addr := serveEcho(t, nil)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	done := make(chan error)
	const requests = 50
	for i := range requests {
		go func() {
			body := bytes.Repeat([]byte{byte(i)}, i*10_000)
			resp, err := client.Post("http://"+addr+"/", "application/octet-stream", bytes.NewReader(body))
			if err != nil {
				done <- err
				return
			}
			defer func() { _ = resp.Body.Close() }()
			got, err := io.ReadAll(resp.Body)
			if err == nil && i > 0 && !bytes.Equal(got, body) {
				err = io.ErrUnexpectedEOF
			}
			done <- err
		}()
	}
	for range requests {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
