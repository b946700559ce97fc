package interop

import (
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/ferry/internal/needs"
)

// handshake runs openssl s_client with a request and returns all that it prints. The input of s_client ends with the request, but not
// after the command R.
func (g *gateway) handshake(t *testing.T, request string, args ...string) string {
	t.Helper()
	program := needs.Program(t, "openssl")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// Security level 0 lets openssl offer what no listener should take.
	args = append([]string{"s_client", "-connect", g.address("web", true), "-CAfile", g.file, "-cipher", "ALL:COMPLEMENTOFALL:@SECLEVEL=0"}, args...)
	c := exec.CommandContext(ctx, program, args...)
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(stdin, request); err != nil {
		t.Fatal(err)
	}
	if request != renegotiate {
		stdin.Close()
	}
	out, _ := c.CombinedOutput() // a refused handshake is a status
	return string(out)
}

// renegotiate is a command of s_client.
const renegotiate = "R\n"

// TestTLSListener attacks a listener in the way of testssl.sh, with openssl.
func TestTLSListener(t *testing.T) {
	g := newAuthority(t).gateway(t, "http", []origin{{name: "web", address: serveGo(t, paths()), protocol: "http1"}})
	const request = "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
	const served = "GET /echo\n"
	for _, row := range []struct {
		name string
		args string
		want string // regular expression
		not  string
	}{
		{"TLS 1.3", "-tls1_3 -ign_eof", `(?s)Verification: OK.*TLSv1\.3, Cipher is TLS_.*` + served, `ERROR`},
		{"TLS 1.2", "-tls1_2 -ign_eof", `(?s)Verification: OK.*TLSv1\.2, Cipher is ECDHE-ECDSA-AES128-GCM-SHA256.*` + served, `ERROR`},
		{"TLS 1.1", "-tls1_1", `alert protocol version`, served},
		{"TLS 1.0", "-tls1", `alert protocol version`, served},
		{"downgrade", "-no_tls1_3 -fallback_scsv", `alert inappropriate fallback`, served},
		{"CBC", "-tls1_2 -cipher ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES256-SHA384:@SECLEVEL=0", `alert handshake failure`, served},
		{"no forward secrecy", "-tls1_2 -cipher kRSA:@SECLEVEL=0", `alert handshake failure`, served},
		{"3DES", "-tls1_2 -cipher 3DES:@SECLEVEL=0", `alert handshake failure|no cipher|no ciphers`, served},
		{"RC4", "-tls1_2 -cipher RC4:@SECLEVEL=0", `alert handshake failure|no cipher`, served},
		{"no authentication", "-tls1_2 -cipher aNULL:@SECLEVEL=0", `alert handshake failure|no cipher`, served},
		{"export and NULL", "-tls1_2 -cipher eNULL:LOW:EXP:@SECLEVEL=0", `alert handshake failure|no cipher`, served},
		{"finite-field key exchange", "-tls1_2 -cipher kDHE:@SECLEVEL=0", `alert handshake failure`, served},
		{"compression", "-tls1_2 -comp -ign_eof", `Compression: NONE`, `Compression: zlib`},
		{"secure renegotiation", "-tls1_2 -ign_eof", `Secure Renegotiation IS supported`, ``},
		{"ALPN h2", "-alpn h2,http/1.1", `ALPN protocol: h2`, ``},
		{"ALPN http/1.1", "-alpn http/1.1 -ign_eof", `(?s)ALPN protocol: http/1.1.*` + served, ``},
		{"ALPN of another protocol", "-alpn smtp", `alert no application protocol`, served},
		{"no ALPN", "-ign_eof", served, `ALPN protocol:`},
		{"small groups", "-groups P-192", `alert handshake failure|Error|error`, served},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := g.handshake(t, request, strings.Fields(row.args)...)
			if !regexp.MustCompile(row.want).MatchString(got) {
				t.Errorf("want a match of %q in\n%s", row.want, got)
			}
			if row.not != "" && regexp.MustCompile(row.not).MatchString(got) {
				t.Errorf("want no match of %q in\n%s", row.not, got)
			}
		})
	}
	t.Run("renegotiation by the client", func(t *testing.T) {
		if got := g.handshake(t, renegotiate, "-tls1_2"); !regexp.MustCompile(`(?s)RENEGOTIATING\n.*(alert|no renegotiation)`).MatchString(got) {
			t.Errorf("want a refusal:\n%s", got)
		}
	})
	for _, version := range []string{"-tls1_2", "-tls1_3"} {
		t.Run("resumption"+version, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "session")
			if got := g.handshake(t, request, version, "-ign_eof", "-sess_out", file); !strings.Contains(got, "New, TLSv1") {
				t.Fatalf("want a new session:\n%s", got)
			}
			if got := g.handshake(t, request, version, "-ign_eof", "-sess_in", file); !strings.Contains(got, "Reused, TLSv1") || !strings.Contains(got, served) {
				t.Errorf("want a resumed session:\n%s", got)
			}
		})
	}
	g.waitIdle()
}
