package interop

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/ferry/internal/needs"
	"example.com/ferry/proxy/proxytest"
)

// serveOnce starts a server of HTTP/1.0 that closes the connection after each response.
func serveOnce(t *testing.T) string {
	return proxytest.Script(t, func(conn net.Conn, r *bufio.Reader) {
		length := int64(0)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			if _, err := fmt.Sscanf(strings.ToLower(line), "content-length: %d", &length); err == nil {
				continue
			}
			if line == "\r\n" {
				break
			}
		}
		_, _ = io.CopyN(io.Discard, r, length)
		_, _ = io.WriteString(conn, "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nhello\n")
	})
}

// TestH2spec runs all of h2spec against ferry, in cleartext and over TLS, in front of servers of HTTP/2, HTTP/1.1 and HTTP/1.0,
// and of none.
func TestH2spec(t *testing.T) {
	needs.Program(t, "h2spec")
	const passed = "145 tests, 145 passed, 0 skipped, 0 failed"
	// On a listener of both versions, h2spec's wrong preface is a wrong request of HTTP/1.1 and gets a response.
	g := newAuthority(t).gateway(t, "http2", []origin{
		{name: "http2", address: serveGo2(t, paths()), protocol: "http2"},
		{name: "http1.1", address: serveGo(t, paths()), protocol: "http1"},
		{name: "http1.0", address: serveOnce(t), protocol: "http1"},
		{name: "none", address: proxytest.DeadAddr(t), protocol: "http1"},
		{name: "none-http2", address: proxytest.DeadAddr(t), protocol: "http2"},
	})
	for server := range g.number {
		for transport, args := range map[string][]string{"cleartext": nil, "TLS": {"-t", "-k"}} {
			t.Run(server+" over "+transport, func(t *testing.T) {
				host, port, err := net.SplitHostPort(g.address(server, args != nil))
				if err != nil {
					t.Fatal(err)
				}
				if got := output(t, "", "h2spec", append(args, "-h", host, "-p", port, "-o", "5")...); !strings.Contains(got, passed) {
					t.Error(got)
				}
			})
		}
	}
}

// TestHTTP2Clients: clients of HTTP/2 made by others send requests to each server through ferry.
func TestHTTP2Clients(t *testing.T) {
	const size = 1 << 20
	upload := filepath.Join(t.TempDir(), "upload")
	if err := os.WriteFile(upload, block, 0o600); err != nil {
		t.Fatal(err)
	}
	put := fmt.Sprintf("PUT %d %s\n", size, sum(size))
	const curl = "curl -sS --http2-prior-knowledge --max-time 60 "
	// curl 7.88 fails when it uses such a connection again, with every server. nghttp and h2load send many requests on one.
	const load = `requests: 5000 total, 5000 started, 5000 done, 5000 succeeded, 0 failed, 0 errored, 0 timeout`
	rows := []struct{ name, only, command, want string }{ // want is the output or a regular expression
		{"get", "", curl + "URL/text", string(text)},
		{"post", "", curl + "-d a=b URL/hash", fmt.Sprintf("POST 3 %x\n", sha256.Sum256([]byte("a=b")))},
		{"head", "go nginx", curl + "-I -o /dev/null -w %{http_version},%{http_code},%header{content-length} URL/text", fmt.Sprintf("^2,200,%d$", len(text))},
		{"put", "", curl + "-T UPLOAD URL/hash", put},
		{"put that waits for 100 continue", "go nginx node", curl + "-T UPLOAD -H Expect:100-continue --expect100-timeout 100 URL/hash", put},
		{"not modified", "go nginx", curl + "-z DATE -w %{http_code} URL/text", "^304$"},
		{"bytes", "", curl + "-o /dev/null -w %{size_download} URL/bytes?n=1048576", "^1048576$"},
		{"nghttp", "go node python", "nghttp -ns -m 20 URL/bytes?n=100000", ` 200 +97K /bytes`},
		{"nghttp with a small window", "go", "nghttp -nvs -w 10 -W 12 URL/bytes?n=100000", ` 200 +97K /bytes`},
		{"h2load", "go nginx", "h2load -n 5000 -c 5 -m 100 URL/echo", load},
		{"h2load with bodies", "go", "h2load -n 5000 -c 5 -m 20 -d SMALL URL/hash", load},
	}
	small := filepath.Join(t.TempDir(), "small")
	if err := os.WriteFile(small, block[:1000], 0o600); err != nil {
		t.Fatal(err)
	}
	for server, address := range servers(t) {
		f := run(t, "http2.yaml", map[string]string{"18092": address})
		replace := strings.NewReplacer("URL", f.url("18082"), "UPLOAD", upload, "SMALL", small, "DATE", "Fri, 02 Jan 2026 03:04:05 GMT")
		for _, row := range rows {
			if row.only != "" && !strings.Contains(" "+row.only+" ", " "+server+" ") {
				continue
			}
			t.Run(server+"/"+row.name, func(t *testing.T) {
				var args []string
				for _, a := range strings.Fields(row.command) {
					args = append(args, replace.Replace(a))
				}
				if got := output(t, "", args[0], args[1:]...); got != row.want && !regexp.MustCompile(row.want).MatchString(got) {
					t.Errorf("%q:\n got %s\nwant %s", args, short(got), short(row.want))
				}
			})
		}
	}
}
