package interop

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/ferry/internal/certs/certstest"
)

// authority is a CA and the files of a cluster that trusts it.
type authority struct {
	*certstest.CA
	dir, file string
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	a := authority{CA: certstest.NewCA(t, "interop"), dir: t.TempDir()}
	a.file = a.Write(t, a.dir, "ca")
	return a
}

// nginxTLS runs nginx with a certificate and further directives. The directive ALPN h2 makes it speak HTTP/2.
func (a authority) nginxTLS(t *testing.T, leaf certstest.Leaf, directives string) string {
	t.Helper()
	cert, key := a.Issue(t, leaf).Write(t, t.TempDir(), "nginx")
	http2 := ""
	if strings.Contains(directives, "ALPN h2;") {
		http2, directives = "http2", strings.ReplaceAll(directives, "ALPN h2;", "")
	}
	address, _ := nginxWith(t, fmt.Sprintf("listen ADDRESS ssl %s backlog=4096; ssl_certificate %s; ssl_certificate_key %s; ssl_session_cache shared:s:1m; %s", http2, cert, key, directives))
	return address
}

// goTLS runs a server of net/http with a certificate. change changes its configuration before.
func (a authority) goTLS(t *testing.T, leaf certstest.Leaf, change func(*tls.Config)) string {
	t.Helper()
	s := httptest.NewUnstartedServer(paths())
	s.TLS = &tls.Config{Certificates: []tls.Certificate{a.Issue(t, leaf).TLS(t)}}
	if change != nil {
		change(s.TLS)
	}
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// runTLS starts ferry in front of a server with TLS. fields are those of clusters[].tls.
func runTLS(t *testing.T, server, protocol, fields string) *ferry {
	t.Helper()
	return run(t, "http1.yaml", map[string]string{"18090": server}, "    - name: web\n", "    - name: web\n      protocol: "+protocol+"\n      tls: {"+fields+"}\n", "kind: tcp", "kind: http\n        path: /text")
}

var local = certstest.Leaf{Names: []string{"127.0.0.1", "a.example"}}

// TestServersWithTLS: curl and a load generator send requests over ferry to servers with TLS, in both versions.
func TestServersWithTLS(t *testing.T) {
	a := newAuthority(t)
	upload := filepath.Join(a.dir, "upload")
	if err := os.WriteFile(upload, block, 0o600); err != nil {
		t.Fatal(err)
	}
	const large = 20 << 20
	http2 := a.nginxTLS(t, local, "ALPN h2;")
	inGo := a.goTLS(t, local, nil)
	for _, row := range []struct{ name, server, protocol string }{
		{"nginx, TLS 1.3", a.nginxTLS(t, local, "ssl_protocols TLSv1.3;"), "http1"},
		{"nginx, TLS 1.2", a.nginxTLS(t, local, "ssl_protocols TLSv1.2;"), "http1"},
		{"nginx, RSA", a.nginxTLS(t, certstest.Leaf{Names: local.Names, RSA: true}, ""), "auto"},
		{"nginx, HTTP/2", http2, "http2"},
		{"nginx chooses HTTP/2", http2, "auto"},
		{"go", inGo, "http1"},
		{"go, HTTP/2", inGo, "http2"},
		{"go chooses HTTP/2", inGo, "auto"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := runTLS(t, row.server, row.protocol, "ca_file: "+a.file)
			url := f.url("18080")
			for _, row := range []struct {
				args []string
				want string
			}{
				{[]string{url + "/echo?a=b"}, "GET /echo?a=b\n"},
				{[]string{url + "/text"}, string(text)},
				{[]string{"-T", upload, url + "/hash"}, fmt.Sprintf("PUT %d %s\n", len(block), sum(int64(len(block))))},
				{[]string{"-T", "-", url + "/hash"}, fmt.Sprintf("PUT %d %s\n", len(block), sum(int64(len(block))))},
				{[]string{"-o", filepath.Join(a.dir, "down"), "-w", "%{http_code} %{size_download}", fmt.Sprintf("%s/bytes?n=%d", url, large)}, fmt.Sprintf("200 %d", large)},
			} {
				stdin := ""
				if slices.Contains(row.args, "-") {
					stdin = string(block)
				}
				if got := output(t, stdin, "curl", append([]string{"-sS"}, row.args...)...); got != row.want {
					t.Errorf("curl %q: %d bytes %.80q, want %d bytes %.80q", row.args, len(got), got, len(row.want), row.want)
				}
			}
			got := output(t, "", "h2load", "--h1", "-n", "20000", "-c", "50", "-m", "1", url+"/echo")
			if want := "20000 succeeded, 0 failed, 0 errored"; !strings.Contains(got, want) || regexp.MustCompile(`[1-9]\d* [345]xx`).MatchString(got) {
				t.Errorf("h2load: want %q in\n%s", want, got)
			}
			metrics := output(t, "", "curl", "-sS", f.url("18095")+"/metrics")
			for _, want := range []string{`ferry_upstream_tls_failures_total\{cluster="web",reason="\w+"\} [1-9]`, `ferry_upstream_tls_handshakes_total\{cluster="web",resumed="false"\} \d{4}`} {
				if found := regexp.MustCompile(want).FindString(metrics); found != "" {
					t.Errorf("metrics have %s", found)
				}
			}
		})
	}
}

// TestServersThatRefuse: nginx says in a response that it does not accept the client's certificate, other servers in an
// alert. ferry does not accept a wrong certificate of the server.
func TestServersThatRefuse(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	cert, key := a.Issue(t, certstest.Leaf{CommonName: "edge"}).Write(t, a.dir, "edge")
	wrong, wrongKey := other.Issue(t, certstest.Leaf{CommonName: "edge"}).Write(t, other.dir, "edge")
	mutual := a.nginxTLS(t, local, "ssl_client_certificate "+a.file+"; ssl_verify_client on;")
	mutualGo := a.goTLS(t, local, func(c *tls.Config) { c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, a.Pool() })
	trust := "ca_file: " + a.file
	pair := func(cert, key string) string { return fmt.Sprintf(", cert_file: %s, key_file: %s", cert, key) }
	for _, row := range []struct {
		name, server, fields string
		want                 string // status
		reason               string // of the failure; empty if none
	}{
		{"nginx, right certificate", mutual, trust + pair(cert, key), "200", ""},
		{"nginx, no certificate", mutual, trust, "400", ""},
		{"nginx, wrong certificate", mutual, trust + pair(wrong, wrongKey), "400", ""},
		{"go, right certificate", mutualGo, trust + pair(cert, key), "200", ""},
		{"go, no certificate", mutualGo, trust, "502", "refused"},
		{"go, wrong certificate", mutualGo, trust + pair(wrong, wrongKey), "502", "refused"},
		{"wrong name", a.nginxTLS(t, certstest.Leaf{Names: []string{"b.example"}}, ""), trust, "502", "name"},
		{"unknown authority", mutual, "ca_file: " + other.file, "502", "authority"},
		{"expired", a.nginxTLS(t, certstest.Leaf{Names: local.Names, Expired: true}, ""), trust, "502", "expired"},
		{"cleartext", serveGo(t, http.NotFoundHandler()), trust, "502", "other"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := runTLS(t, row.server, "http1", row.fields)
			if got := output(t, "", "curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", f.url("18080")+"/echo"); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
			metrics := output(t, "", "curl", "-sS", f.url("18095")+"/metrics")
			counted := regexp.MustCompile(`ferry_upstream_tls_failures_total\{cluster="web",reason="(\w+)"\} [1-9]`).FindAllStringSubmatch(metrics, -1)
			switch {
			case row.reason == "" && len(counted) > 0, row.reason != "" && (len(counted) != 1 || counted[0][1] != row.reason):
				t.Errorf("counted %q, want reason %q", counted, row.reason)
			}
		})
	}
}
