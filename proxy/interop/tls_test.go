package interop

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ferry/internal/needs"
)

// secure runs examples/proxy/tls.yaml in front of a server that responds with the scheme that it learnt. ca is the file of the
// CA that signed ferry's certificate.
func secure(t *testing.T) (addr, ca string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("X-Forwarded-Proto"), " ", r.URL.Path)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	f := run(t, "tls.yaml", map[string]string{"18093": server.Listener.Addr().String()}, "admin:\n", "data_dir: "+dir+"\nadmin:\n")
	return f.at("18083"), filepath.Join(dir, "ca.pem")
}

// TestCurlTLS: curl verifies ferry's certificate, resumes sessions and is refused in cleartext.
func TestCurlTLS(t *testing.T) {
	addr, ca := secure(t)
	for _, version := range []string{"--tlsv1.2", "--tlsv1.3"} {
		if got := output(t, "", "curl", "-sS", "--cacert", ca, version, "--tls-max", strings.TrimPrefix(version, "--tlsv"), "https://"+addr+"/a"); got != "https /a" {
			t.Errorf("%s: %q", version, got)
		}
	}
	if err := exec.Command(needs.Program(t, "curl"), "-s", "http://"+addr+"/").Run(); err == nil {
		t.Error("a client without TLS was served")
	}
	if err := exec.Command(needs.Program(t, "curl"), "-s", "https://"+addr+"/").Run(); err == nil {
		t.Error("curl trusts a CA that it does not know")
	}
}

// TestOpenSSL: openssl negotiates what is allowed, and nothing else. Its own settings are lowered, so that ferry refuses.
func TestOpenSSL(t *testing.T) {
	addr, ca := secure(t)
	weak := "DEFAULT:@SECLEVEL=0"
	for _, row := range []struct {
		name string
		args []string
		want string // part of the output; empty: the handshake fails
	}{
		{"TLS 1.0", []string{"-tls1", "-cipher", weak}, ""},
		{"TLS 1.1", []string{"-tls1_1", "-cipher", weak}, ""},
		{"TLS 1.2", []string{"-tls1_2"}, "Protocol  : TLSv1.2"},
		{"TLS 1.3", []string{"-tls1_3"}, "TLSv1.3, Cipher is TLS_"},
		{"forward secrecy only", []string{"-tls1_2", "-cipher", "kRSA:@SECLEVEL=0"}, ""},
		{"CBC", []string{"-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256:@SECLEVEL=0"}, ""},
		{"no authentication", []string{"-tls1_2", "-cipher", "aNULL:eNULL:@SECLEVEL=0"}, ""},
		{"ChaCha20", []string{"-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305"}, "Cipher is ECDHE-ECDSA-CHACHA20-POLY1305"},
		{"no compression", []string{"-tls1_2"}, "Compression: NONE"},
		{"the secure renegotiation extension", []string{"-tls1_2"}, "Secure Renegotiation IS supported"},
		{"unknown ALPN", []string{"-alpn", "smtp"}, ""},
		{"ALPN", []string{"-alpn", "h2,http/1.1"}, "ALPN protocol: http/1.1"},
		{"verified", []string{"-verify_return_error", "-CAfile", ca}, "Verify return code: 0 (ok)"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		c := exec.CommandContext(ctx, needs.Program(t, "openssl"), append([]string{"s_client", "-connect", addr}, row.args...)...)
		out, err := c.CombinedOutput() // its standard input is empty, so it ends after the handshake
		cancel()
		switch {
		case row.want == "" && err == nil:
			t.Errorf("%s: the handshake succeeded:\n%s", row.name, out)
		case row.want != "" && (err != nil || !strings.Contains(string(out), row.want)):
			t.Errorf("%s: %v, no %q in:\n%s", row.name, err, row.want, out)
		}
	}
}

// TestOpenSSLRenegotiation: a client's renegotiation ends the connection.
func TestOpenSSLRenegotiation(t *testing.T) {
	addr, _ := secure(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, needs.Program(t, "openssl"), "s_client", "-connect", addr, "-tls1_2")
	c.Stdin = strings.NewReader("R\nGET / HTTP/1.1\r\nHost: a\r\n\r\n")
	out, _ := c.CombinedOutput()
	if !strings.Contains(string(out), "RENEGOTIATING") || strings.Contains(string(out), "HTTP/1.1 200") {
		t.Errorf("after a renegotiation:\n%s", out)
	}
}
