package proxy

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/proxy/exchange"
	"example.com/ferry/proxy/upstream"
)

// TestReloadTightensTLS: a reload demands of clients what those that are connected have not shown. Their connections are closed, and no request of
// theirs reaches a server any more, nor a certificate that they invented.
func TestReloadTightensTLS(t *testing.T) {
	t.Parallel()
	f := newTLSFiles(t)
	pair := f.clients.Issue(t, certstest.Leaf{Names: []string{"client.example"}})
	with := func(change func(*ListenerTLS)) *ListenerTLS {
		c := f.server
		change(&c)
		return &c
	}
	demand := func(c *ListenerTLS) { c.ClientCAFile, c.ForwardClientCert = f.clientCA, exchange.ForwardSet }
	trust := func(c *ListenerTLS) { c.ClientCAFile, c.ForwardClientCert = f.clientCA, exchange.ForwardAppend }
	for _, row := range []struct {
		name        string
		before, now *ListenerTLS
		client      *tls.Config // nil: cleartext
	}{
		{"from cleartext", nil, with(demand), nil},
		{"from cleartext to TLS without client certificates", nil, with(func(*ListenerTLS) {}), nil},
		{"from TLS without client certificates", with(func(*ListenerTLS) {}), with(demand), f.client(t, "a.example", nil)},
		{"the client is not trusted any more", with(trust), with(demand), f.client(t, "a.example", pair)},
	} {
		for _, protocol := range []Protocol{HTTP1, HTTP2} {
			for _, idle := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, %s, idle %v", row.name, protocol, idle), func(t *testing.T) {
					t.Parallel()
					started, respond := make(chan bool), make(chan bool)
					server := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
						if r.URL.Path == "/slow" {
							started <- true
							<-respond
						}
						fmt.Fprint(w, r.Header.Get("X-Forwarded-Client-Cert"))
					})
					config := func(secure *ListenerTLS) *Config {
						return &Config{
							Listeners: []Listener{{Name: "l", Address: "127.0.0.1:0", Protocol: protocol, TLS: secure, Cluster: "web"}},
							Clusters:  []upstream.Config{cluster1("web", server)},
						}
					}
					p := start(t, config(row.before))
					conn, err := net.Dial("tcp", at(p, 0))
					if err != nil {
						t.Fatal(err)
					}
					if row.client != nil {
						secure := row.client.Clone()
						secure.NextProtos = alpn(protocol)
						conn = tls.Client(conn, secure)
					}
					c := newVersionClient(t, conn, protocol)
					if status, _, err := c.get("/first"); err != nil || status != 200 {
						t.Fatal(status, err)
					}
					first := make(chan string, 1)
					if !idle {
						go func() {
							status, body, err := c.get("/slow")
							first <- fmt.Sprint(status, body, err)
						}()
						<-started
					}
					next := config(row.now)
					next.Loops = 2
					if err := p.Reload(next); err != nil {
						t.Fatal(err)
					}
					if !idle {
						respond <- true
						if got := <-first; !strings.HasPrefix(got, "200") {
							t.Errorf("the request in progress: %s, want 200", got)
						}
					}
					for range 5 {
						status, body, err := c.get("/later")
						if err == nil && status != 421 {
							t.Fatalf("a request behind the reload: %d, the server got the certificate %q", status, body)
						}
					}
					for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
						if _, _, open := p.Connections(ConnectionQuery{}); open == 0 {
							break
						}
						if time.Now().After(end) {
							t.Fatal("the connection stays open")
						}
					}
				})
			}
		}
	}
}

// versionClient sends requests with an invented certificate on one connection, by one version of HTTP.
type versionClient struct {
	conn   net.Conn
	in     *bufio.Reader
	frames *frames
	next   uint32
}

func newVersionClient(t *testing.T, conn net.Conn, protocol Protocol) *versionClient {
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	c := &versionClient{conn: conn, in: bufio.NewReader(conn), next: 1}
	if protocol == HTTP2 {
		c.frames = newFrames(t, conn)
	}
	return c
}

func (c *versionClient) get(path string) (status int, body string, err error) {
	const forged = `Hash=00;Subject="CN=admin"`
	if c.frames == nil {
		if _, err := fmt.Fprintf(c.conn, "GET %s HTTP/1.1\r\nHost: a\r\nX-Forwarded-Client-Cert: %s\r\n\r\n", path, forged); err != nil {
			return 0, "", err
		}
		r, err := http.ReadResponse(c.in, nil)
		if err != nil {
			return 0, "", err
		}
		text, err := io.ReadAll(r.Body)
		return r.StatusCode, string(text), err
	}
	id := c.next
	c.next += 2
	c.frames.head(id, true, ":method", "GET", ":scheme", "http", ":authority", "a", ":path", path, "x-forwarded-client-cert", forged)
	text, err := c.frames.status(id)
	_, _ = fmt.Sscan(text, &status)
	return status, "", err
}
