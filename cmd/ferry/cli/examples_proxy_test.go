package cli

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/ferry/codec/cbor"
	wire "example.com/ferry/protocol/bolt"
)

// proxyExample is a file of examples/proxy, run with free ports in place of its own.
type proxyExample struct {
	checkout
	t     *testing.T
	file  string
	ports map[string]net.Listener // by the port in the file: the servers' listeners, and before run also ferry's
}

var loopback = regexp.MustCompile(`127\.0\.0\.1:(\d+)`)

func newProxyExample(t *testing.T, name string) *proxyExample {
	t.Helper()
	x := &proxyExample{checkout: newCheckout(t), t: t, ports: map[string]net.Listener{}}
	x.file = filepath.Join(x.dir, "examples", "proxy", name)
	text, err := os.ReadFile(x.file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range loopback.FindAllStringSubmatch(string(text), -1) {
		if x.ports[m[1]] != nil {
			continue
		}
		if x.ports[m[1]], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	x.edit(func(text string) string {
		return loopback.ReplaceAllStringFunc(text, func(s string) string { return x.address(strings.TrimPrefix(s, "127.0.0.1:")) })
	})
	t.Cleanup(func() {
		for _, ln := range x.ports {
			ln.Close()
		}
	})
	return x
}

// edit changes the file.
func (x *proxyExample) edit(change func(string) string) {
	x.t.Helper()
	text, err := os.ReadFile(x.file)
	if err == nil {
		err = os.WriteFile(x.file, []byte(change(string(text))), 0o600)
	}
	if err != nil {
		x.t.Fatal(err)
	}
}

// address returns the address that replaces a port of the file.
func (x *proxyExample) address(port string) string {
	x.t.Helper()
	if x.ports[port] == nil {
		x.t.Fatalf("%s has no port %s", x.file, port)
	}
	return x.ports[port].Addr().String()
}

// run runs ferry until stop is called. servers are the ports of the file that ferry does not listen on.
func (x *proxyExample) run(servers ...string) (stop func()) {
	x.t.Helper()
	for port, ln := range x.ports {
		is := false
		for _, s := range servers {
			is = is || s == port
		}
		if !is {
			ln.Close()
		}
	}
	ferry := x.start(x.t, "run", "-c", x.file)
	return func() { interrupt(x.t, ferry) }
}

// serve starts a server at a port.
func (x *proxyExample) serve(port string, h http.HandlerFunc) {
	s := &httptest.Server{Listener: x.ports[port], Config: &http.Server{Handler: h}}
	s.Start()
	x.t.Cleanup(s.Close)
}

// respondName responds with a name and the request's path.
func respondName(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%s %s", name, r.URL.Path) }
}

// request sends a request to a port and returns the response and its body. header alternates names and values.
func (x *proxyExample) request(method, port, path, body string, header ...string) (*http.Response, string) {
	x.t.Helper()
	r, err := http.NewRequestWithContext(x.t.Context(), method, "http://"+x.address(port)+path, strings.NewReader(body))
	if err != nil {
		x.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		x.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		x.t.Fatal(err)
	}
	return response, string(data)
}

// expectResponse sends a GET request and checks the status and the body of the response.
func (x *proxyExample) expectResponse(port, path string, status int, body string, header ...string) {
	x.t.Helper()
	if response, got := x.request("GET", port, path, "", header...); response.StatusCode != status || got != body {
		x.t.Errorf("%s%s: got %d %q, want %d %q", port, path, response.StatusCode, got, status, body)
	}
}

// awaitMetric waits until the metrics at an admin port have a line that matches.
func (x *proxyExample) awaitMetric(port, line string) {
	x.t.Helper()
	want := regexp.MustCompile(`(?m)^` + line + `$`)
	body := ""
	for range 600 {
		if _, body = x.request("GET", port, "/metrics", ""); want.MatchString(body) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	_, ours, _ := strings.Cut(body, "# HELP ferry_")
	x.t.Fatalf("/metrics never has %s:\n%s", line, ours)
}

// serveBolt starts a Bolt server at a port, which responds to each request with its content.
func (x *proxyExample) serveBolt(port string) {
	go func() {
		for {
			c, err := x.ports[port].Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					f, err := readBolt(r)
					if err != nil {
						return
					}
					response := wire.AppendHeartbeatAck(nil, f)
					if f.Command() != wire.CommandHeartbeat {
						response, _ = wire.Append(nil, wire.Message{Dialect: f.Dialect(), Type: wire.Response, Command: wire.CommandResponse, ID: f.ID(), Content: f.Content()})
					}
					if _, err := c.Write(response); err != nil {
						return
					}
				}
			}()
		}
	}()
}

// expectBoltEchoes sends n Bolt requests to a port over one connection, and checks that each id gets its content back.
func (x *proxyExample) expectBoltEchoes(port string, n int) {
	x.t.Helper()
	c, err := net.Dial("tcp", x.address(port))
	if err != nil {
		x.t.Fatal(err)
	}
	defer c.Close()
	var all []byte
	for id := range n {
		all, err = wire.Append(all, wire.Message{
			Dialect: wire.V1, Type: wire.Request, Command: wire.CommandRequest, ID: uint32(id), Timeout: 20 * time.Second,
			Class: "com.example.Echo", Content: fmt.Appendf(nil, "call %d", id),
		})
		if err != nil {
			x.t.Fatal(err)
		}
	}
	if _, err := c.Write(all); err != nil {
		x.t.Fatal(err)
	}
	seen := map[uint32]bool{}
	for r := bufio.NewReader(c); len(seen) < n; {
		f, err := readBolt(r)
		if err != nil {
			x.t.Fatalf("after %d responses: %v", len(seen), err)
		}
		if want := fmt.Sprintf("call %d", f.ID()); f.Status() != wire.StatusSuccess || string(f.Content()) != want || seen[f.ID()] {
			x.t.Errorf("id %d: status %v, %q, want %q once", f.ID(), f.Status(), f.Content(), want)
		}
		seen[f.ID()] = true
	}
}

// readBolt reads a whole frame.
func readBolt(r *bufio.Reader) (wire.Frame, error) {
	var data []byte
	for {
		f, need, err := wire.Next(data, wire.Limits{})
		if err != nil || need == 0 && len(data) == f.FrameLen() {
			return f, err
		}
		if need == 0 {
			need = f.FrameLen()
		}
		had := len(data)
		data = append(data, make([]byte, need-had)...)
		if _, err := io.ReadFull(r, data[had:]); err != nil {
			return f, err
		}
	}
}

func TestExampleProxyBolt(t *testing.T) {
	t.Parallel()
	x := newProxyExample(t, "bolt.yaml")
	x.serveBolt("12300")
	defer x.run("12300")()
	x.expectBoltEchoes("12200", 64)
	x.awaitMetric("12295", `ferry_proxy_requests_total\{code="[^"]*",listener="`+x.address("12200")+`",route="all"\} 64`)
}

func TestExampleProxyHTTP1(t *testing.T) {
	t.Parallel()
	x := newProxyExample(t, "http1.yaml")
	x.serve("18090", respondName("web"))
	defer x.run("18090")()
	x.expectResponse("18080", "/a/b?c", http.StatusOK, "web /a/b")
	x.awaitMetric("18095", `ferry_proxy_requests_total\{code="2xx",listener="`+x.address("18080")+`",route="all"\} 1`)
	x.awaitMetric("18095", `ferry_upstream_requests_total\{cluster="web",endpoint="`+x.address("18090")+`",outcome="success"\} 1`)
}

func TestExampleProxyTLS(t *testing.T) {
	t.Parallel()
	x := newProxyExample(t, "tls.yaml")
	x.serve("18093", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("X-Forwarded-Proto"), " ", r.URL.Path)
	})
	defer x.run("18093")()
	x.awaitMetric("18098", `ferry_proxy_accepted_total\{listener=".*"\} 0`)
	ca, err := os.ReadFile(filepath.Join(x.dir, "ferry-data", "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport, Timeout: 20 * time.Second}).Get("https://" + x.address("18083") + "/a")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "https /a" {
		t.Errorf("%q, %v", body, err)
	}
	x.awaitMetric("18098", `ferry_tls_handshakes_total\{listener=".*",result="ok"\} 1`)
}

func TestExampleProxySidecar(t *testing.T) {
	t.Parallel()
	x := newProxyExample(t, "sidecar.yaml")
	x.serve("18190", respondName("service"))
	x.serveBolt("12310")
	defer x.run("18190", "12310")()
	x.expectResponse("18180", "/a", http.StatusOK, "service /a")
	x.expectBoltEchoes("12210", 64)
	for _, of := range []string{`"2xx",listener="http-in",route="in"\} 1`, `"2xx",listener="http-out",route="out"\} 1`} {
		x.awaitMetric("18195", `ferry_proxy_requests_total\{code=`+of)
	}
	for _, of := range []string{`listener="bolt-in",route="in"\} 64`, `listener="bolt-out",route="out"\} 64`} {
		x.awaitMetric("18195", `ferry_proxy_requests_total\{code="[^"]*",`+of)
	}
}

func TestExampleProxyPayloadRoute(t *testing.T) {
	t.Parallel()
	x := newProxyExample(t, "payload-route.yaml")
	x.serve("18290", respondName("normal"))
	x.serve("18291", respondName("hot"))
	defer x.run("18290", "18291")()
	for _, c := range []struct{ value, want string }{{"97", "hot /events"}, {"20", "normal /events"}} {
		event := map[string]any{"deviceName": "pump-1", "readings": []any{map[string]any{"value": c.value}}}
		inJSON := `{"deviceName":"pump-1","readings":[{"value":"` + c.value + `"}]}`
		inCBOR, err := cbor.Codec{}.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		for contentType, body := range map[string]string{"application/json": inJSON, "application/cbor": string(inCBOR)} {
			if _, got := x.request("POST", "18280", "/events", body, "Content-Type", contentType); got != c.want {
				t.Errorf("%s with %s: got %q, want %q", contentType, c.value, got, c.want)
			}
		}
	}
	if _, got := x.request("POST", "18280", "/else", `{"readings":[{"value":"97"}]}`); got != "normal /else" {
		t.Errorf("got %q", got)
	}
	for route, n := range map[string]string{"hot-json": "1", "hot-cbor": "1", "rest": "3"} {
		x.awaitMetric("18295", `ferry_proxy_requests_total\{code="2xx",listener="`+x.address("18280")+`",route="`+route+`"\} `+n)
	}
}

func TestExampleProxyGateway(t *testing.T) {
	t.Parallel()
	x := newProxyExample(t, "gateway.yaml")
	x.edit(func(text string) string { // the limit refills no token during the test
		return strings.Replace(text, "requests_per_second: 50", "requests_per_second: 0.001", 1)
	})
	x.serve("18391", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "shop ", r.URL.Path) }) // 18390 refuses connections
	seen := make(chan *http.Request, 1)
	x.serve("18392", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/fail" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		seen <- r
		w.Header().Set("Server", "secret/1.0")
		fmt.Fprint(w, "api")
	})
	defer x.run("18391", "18392")()

	// Routes by host and path, an endpoint that refuses connections, and retries.
	for range 20 {
		x.expectResponse("18380", "/items/7", http.StatusOK, "shop /items/7", "Host", "shop.example.com")
	}
	x.expectResponse("18380", "/items/seven", http.StatusNotFound, "404 Not Found\n", "Host", "shop.example.com")
	x.expectResponse("18380", "/items/7", http.StatusNotFound, "nothing here\n", "Host", "example.org")
	x.awaitMetric("18395", `ferry_proxy_requests_total\{code="2xx",listener="public",route="items"\} 20`)
	x.awaitMetric("18395", `ferry_proxy_requests_total\{code="4xx",listener="public",route="nothing-here"\} 1`)

	// A redirect, a rewritten request and its response.
	moved, _ := x.request("GET", "18380", "/old/page?a=b", "", "Host", "www.example.com")
	if to := moved.Header.Get("Location"); moved.StatusCode != http.StatusMovedPermanently || to != "/new/page?a=b" {
		t.Errorf("redirect: %d to %q", moved.StatusCode, to)
	}
	response, _ := x.request("GET", "18380", "/api/v1/pumps", "", "Host", "www.example.com", "X-Debug", "1")
	r := <-seen
	if r.URL.Path != "/v1/pumps" || r.Host != "api.internal" || r.Header.Get("X-Gateway") != "ferry" || r.Header["X-Debug"] != nil {
		t.Errorf("the service got %s of %s, %v", r.URL.Path, r.Host, r.Header)
	}
	if response.Header.Get("Cache-Control") != "no-store" || response.Header["Server"] != nil {
		t.Errorf("the client got %v", response.Header)
	}

	// The rate limit.
	status := map[int]int{}
	for range 15 {
		limited, _ := x.request("POST", "18380", "/orders/7", "{}", "Host", "shop.example.com")
		status[limited.StatusCode]++
	}
	if status[http.StatusTooManyRequests] != 5 {
		t.Errorf("status codes of 15 orders, of which 10 may pass: %v", status)
	}

	// The access log has every failed request, whatever the sample.
	x.request("GET", "18380", "/api/v1/fail", "", "Host", "www.example.com")
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		data, err := os.ReadFile(filepath.Join(x.dir, "gateway-access.log"))
		if bytes.Contains(data, []byte(`"path":"/api/v1/fail","status":500`)) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the access log has only %s, %v", data, err)
		}
	}
}
