package interop

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// origins starts servers in Go and Node of each version, in cleartext and with TLS.
func (a authority) origins(t *testing.T) []origin {
	t.Helper()
	cert, key := a.Issue(t, local).Write(t, a.dir, "node")
	return []origin{
		{name: "go-http1", address: serveGo(t, paths()), protocol: "http1"},
		{name: "node-http1", address: script(t, "node", "server.mjs", "5000"), protocol: "http1"},
		{name: "go-http2", address: serveGo2(t, paths()), protocol: "http2"},
		{name: "node-http2", address: script(t, "node", "server.mjs", "5000", "h2c"), protocol: "http2"},
		{name: "go-http2-tls", address: a.goTLS(t, local, nil), protocol: "http2", tls: true},
		{name: "node-http2-tls", address: script(t, "node", "server.mjs", "5000", "h2", cert, key), protocol: "http2", tls: true},
	}
}

// pairing is a client's version and transport in front of an origin.
type pairing struct {
	version string // http1 or http2
	overTLS bool
	origin  string
}

func (p pairing) String() string {
	transport := "cleartext"
	if p.overTLS {
		transport = "TLS"
	}
	return fmt.Sprintf("%s over %s to %s", p.version, transport, p.origin)
}

// pairings returns all pairings of a gateway. In make test, half of them: each version with each origin, and the transports in turn.
func (g *gateway) pairings() (all []pairing) {
	for i, version := range []string{"http1", "http2"} {
		for origin, number := range g.number {
			for _, overTLS := range []bool{false, true} {
				if !fewPairings || overTLS == ((number/2+i)%2 == 0) {
					all = append(all, pairing{version, overTLS, origin})
				}
			}
		}
	}
	return all
}

// TestPairings: clients of each version, in cleartext and over TLS, use servers of each version. The client in Node checks bodies of
// some megabytes, trailers in both directions, interim and early responses, responses without a body, and WebSockets.
func TestPairings(t *testing.T) {
	a := newAuthority(t)
	t.Setenv("NODE_EXTRA_CA_CERTS", a.file)
	g := a.gateway(t, "http", a.origins(t))
	t.Run("all", func(t *testing.T) {
		for _, p := range g.pairings() {
			t.Run(p.String(), func(t *testing.T) {
				t.Parallel()
				args, want := []string{filepath.Join("testdata", "features.mjs"), p.version, g.base(p.origin, p.overTLS)}, "passed 12\n"
				if strings.HasPrefix(p.origin, "go-http2") { // net/http has no extended CONNECT
					args, want = append(args, "websocket"), "passed 11\n"
				}
				if got := output(t, "", "node", args...); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		}
	})
	g.waitIdle()
}

// TestPrograms: curl, nghttp and h2load use nginx, nghttpd and a server in Node, over each pairing. In HTTP/2, nginx sends no
// 100 Continue, and closes a connection with trailers.
func TestPrograms(t *testing.T) {
	const (
		size = 3 << 20
		load = `requests: 500 total, 500 started, 500 done, 500 succeeded, 0 failed, 0 errored, 0 timeout`
	)
	a := newAuthority(t)
	large, err := io.ReadAll(pattern(size))
	if err != nil {
		t.Fatal(err)
	}
	upload, small := filepath.Join(a.dir, "upload"), filepath.Join(a.dir, "small")
	for file, content := range map[string][]byte{upload: large, small: block[:2000]} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inNginx, _ := nginx(t)
	cert, key := a.Issue(t, local).Write(t, a.dir, "node")
	g := a.gateway(t, "http", []origin{
		{name: "nginx", address: inNginx, protocol: "http1"},
		{name: "nghttpd", address: nghttpd(t), protocol: "http2"},
		{name: "nginx-http2-tls", address: a.nginxTLS(t, local, "ALPN h2;"), protocol: "http2", tls: true},
		{name: "node-tls", address: script(t, "node", "server.mjs", "5000", "h2", cert, key), protocol: "http2", tls: true},
	})
	put := fmt.Sprintf("PUT %d %s\n", size, sum(size))
	version := map[string]string{"http1": "--http1.1", "http2": "--http2"}
	for _, row := range []struct {
		name, only, but string // of the client's version; servers that lack the path
		command, want   string // want is the output, or a regular expression
	}{
		{"curl get", "", "", "curl URL/text", string(text)},
		{"curl head", "", "node-tls", "curl -I -o /dev/null -w %{http_code},%header{content-length} URL/text", fmt.Sprintf("^200,%d$", len(text))},
		{"curl put", "", "nghttpd", "curl -T UPLOAD URL/hash", put},
		{"curl put that waits", "", "nghttpd nginx-http2-tls", "curl -T UPLOAD -H Expect:100-continue --expect100-timeout 100 URL/hash", put},
		{"curl echo", "", "nginx nginx-http2-tls node-tls", "curl --data-binary @UPLOAD URL/text", string(large)},
		{"curl download", "", "nghttpd", fmt.Sprintf("curl URL/bytes?n=%d", size), string(large)},
		{"curl not modified", "", "node-tls nghttpd", "curl -z DATE -w %{http_code} URL/text", "^304$"},
		{"curl that would upgrade", "http1", "", "curl --http2 -o /dev/null -w %{http_code} URL/text", "^200$"},
		{"nghttp", "http2", "nghttpd", "nghttp -ns -m 20 URL/bytes?n=100000", ` 200 +\S+ /bytes`},
		{"nghttp with a small window", "http2", "nghttpd", "nghttp -ns -m 5 -w 10 -W 12 URL/bytes?n=100000", ` 200 +\S+ /bytes`},
		{"nghttp with trailers", "http2", "nghttpd nginx-http2-tls", "nghttp -n -v -d SMALL --trailer x-end:1 URL/hash", `:status: 200`},
		{"h2load", "http1", "", "h2load --h1 -n 500 -c 20 URL/text", load},
		{"h2load", "http2", "", "h2load -n 500 -c 4 -m 50 URL/text", load},
		{"h2load with small windows", "http2", "", "h2load -n 500 -c 4 -m 50 -w 14 -W 16 URL/text", load},
		{"h2load with bodies", "http2", "nghttpd", "h2load -n 500 -c 4 -m 50 -d SMALL URL/hash", load},
	} {
		for _, p := range g.pairings() {
			if row.only != "" && row.only != p.version || strings.Contains(" "+row.but+" ", " "+p.origin+" ") {
				continue
			}
			t.Run(row.name+" "+p.String(), func(t *testing.T) {
				curl := "curl -sS --max-time 60 --cacert " + a.file + " " + version[p.version]
				if p.version == "http2" && !p.overTLS {
					curl += "-prior-knowledge"
				}
				if p.overTLS {
					row.command = strings.Replace(row.command, " --http2 ", " ", 1)
				}
				args := strings.Fields(strings.NewReplacer("URL", g.base(p.origin, p.overTLS), "UPLOAD", upload, "SMALL", small).Replace(row.command))
				if args[0] == "curl" {
					args = append(strings.Fields(curl), args[1:]...)
				}
				for i := range args {
					args[i] = strings.Replace(args[i], "DATE", "Fri, 02 Jan 2026 03:04:05 GMT", 1)
				}
				if got := output(t, "", args[0], args[1:]...); got != row.want && (len(row.want) > 1000 || !regexp.MustCompile(row.want).MatchString(got)) {
					t.Errorf("%q:\n got %s\nwant %s", args, short(got), short(row.want))
				}
			})
		}
	}
	g.waitIdle()
}
