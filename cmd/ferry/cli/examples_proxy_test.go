package cli

import (
	"bufio"
	"bytes"
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
	ports map[string]net.Listener // by the port in the file: of servers, and until run also of ferry
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
		return loopback.ReplaceAllStringFunc(text, func(s string) string { return x.at(strings.TrimPrefix(s, "127.0.0.1:")) })
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

// at is the address in place of a port in the file.
func (x *proxyExample) at(port string) string {
	x.t.Helper()
	if x.ports[port] == nil {
		x.t.Fatalf("%s has no port %s", x.file, port)
	}
	return x.ports[port].Addr().String()
}

// run runs ferry with all ports but those of servers, until stop.
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

// serve answers at a port.
func (x *proxyExample) serve(port string, h http.HandlerFunc) {
	s := &httptest.Server{Listener: x.ports[port], Config: &http.Server{Handler: h}}
	s.Start()
	x.t.Cleanup(s.Close)
}

// named answers with a name and the path.
func named(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%s %s", name, r.URL.Path) }
}

// asks sends a request to a port and returns the answer and its body. header is names and values.
func (x *proxyExample) asks(method, port, path, body string, header ...string) (*http.Response, string) {
	x.t.Helper()
	r, err := http.NewRequestWithContext(x.t.Context(), method, "http://"+x.at(port)+path, strings.NewReader(body))
	if err != nil {
		x.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		x.t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		x.t.Fatal(err)
	}
	return answer, string(data)
}

// wants asks with GET, and wants a status and a body.
func (x *proxyExample) wants(port, path string, status int, body string, header ...string) {
	x.t.Helper()
	if answer, got := x.asks("GET", port, path, "", header...); answer.StatusCode != status || got != body {
		x.t.Errorf("%s%s: got %d %q, want %d %q", port, path, answer.StatusCode, got, status, body)
	}
}

// counts waits until the metrics at an admin port have a line that matches.
func (x *proxyExample) counts(port, line string) {
	x.t.Helper()
	want := regexp.MustCompile(`(?m)^` + line + `$`)
	body := ""
	for range 600 {
		if _, body = x.asks("GET", port, "/metrics", ""); want.MatchString(body) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	_, ours, _ := strings.Cut(body, "# HELP ferry_")
	x.t.Fatalf("/metrics never has %s:\n%s", line, ours)
}

// serveBolt answers each call at a port with its content.
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
					answer := wire.AppendHeartbeatAck(nil, f)
					if f.Command() != wire.CommandHeartbeat {
						answer, _ = wire.Append(nil, wire.Message{Dialect: f.Dialect(), Type: wire.Response, Command: wire.CommandResponse, ID: f.ID(), Content: f.Content()})
					}
					if _, err := c.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
}

// calls sends calls of Bolt to a port over one connection and wants their content back, under their ids.
func (x *proxyExample) calls(port string, n int) {
	x.t.Helper()
	c, err := net.Dial("tcp", x.at(port))
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
			x.t.Fatalf("after %d answers: %v", len(seen), err)
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
	x.calls("12200", 64)
	x.counts("12295", `ferry_proxy_requests_total\{code="[^"]*",listener="`+x.at("12200")+`",route="all"\} 64`)
}

func TestExampleProxyHTTP1(t *testing.T) {
	t.Parallel()
	x := newProxyExample(t, "http1.yaml")
	x.serve("18090", named("web"))
	defer x.run("18090")()
	x.wants("18080", "/a/b?c", http.StatusOK, "web /a/b")
	x.counts("18095", `ferry_proxy_requests_total\{code="2xx",listener="`+x.at("18080")+`",route="all"\} 1`)
	x.counts("18095", `ferry_upstream_requests_total\{cluster="web",endpoint="`+x.at("18090")+`",outcome="success"\} 1`)
}

func TestExampleProxySidecar(t *testing.T) {
	t.Parallel()
	x := newProxyExample(t, "sidecar.yaml")
	x.serve("18190", named("service"))
	x.serveBolt("12310")
	defer x.run("18190", "12310")()
	x.wants("18180", "/a", http.StatusOK, "service /a")
	x.calls("12210", 64)
	for _, of := range []string{`"2xx",listener="http-in",route="in"\} 1`, `"2xx",listener="http-out",route="out"\} 1`} {
		x.counts("18195", `ferry_proxy_requests_total\{code=`+of)
	}
	for _, of := range []string{`listener="bolt-in",route="in"\} 64`, `listener="bolt-out",route="out"\} 64`} {
		x.counts("18195", `ferry_proxy_requests_total\{code="[^"]*",`+of)
	}
}

func TestExampleProxyPayloadRoute(t *testing.T) {
	t.Parallel()
	x := newProxyExample(t, "payload-route.yaml")
	x.serve("18290", named("normal"))
	x.serve("18291", named("hot"))
	defer x.run("18290", "18291")()
	for _, c := range []struct{ value, want string }{{"97", "hot /events"}, {"20", "normal /events"}} {
		event := map[string]any{"deviceName": "pump-1", "readings": []any{map[string]any{"value": c.value}}}
		inJSON := `{"deviceName":"pump-1","readings":[{"value":"` + c.value + `"}]}`
		inCBOR, err := cbor.Codec{}.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		for contentType, body := range map[string]string{"application/json": inJSON, "application/cbor": string(inCBOR)} {
			if _, got := x.asks("POST", "18280", "/events", body, "Content-Type", contentType); got != c.want {
				t.Errorf("%s with %s: got %q, want %q", contentType, c.value, got, c.want)
			}
		}
	}
	if _, got := x.asks("POST", "18280", "/else", `{"readings":[{"value":"97"}]}`); got != "normal /else" {
		t.Errorf("got %q", got)
	}
	for route, n := range map[string]string{"hot-json": "1", "hot-cbor": "1", "rest": "3"} {
		x.counts("18295", `ferry_proxy_requests_total\{code="2xx",listener="`+x.at("18280")+`",route="`+route+`"\} `+n)
	}
}

func TestExampleProxyGateway(t *testing.T) {
	t.Parallel()
	x := newProxyExample(t, "gateway.yaml")
	x.edit(func(text string) string { // so slow that no second one comes back during the test
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

	// Hosts and paths, the server that is not there, and tries again.
	for range 20 {
		x.wants("18380", "/items/7", http.StatusOK, "shop /items/7", "Host", "shop.example.com")
	}
	x.wants("18380", "/items/seven", http.StatusNotFound, "404 Not Found\n", "Host", "shop.example.com")
	x.wants("18380", "/items/7", http.StatusNotFound, "nothing here\n", "Host", "example.org")
	x.counts("18395", `ferry_proxy_requests_total\{code="2xx",listener="public",route="items"\} 20`)
	x.counts("18395", `ferry_proxy_requests_total\{code="4xx",listener="public",route="nothing-here"\} 1`)

	// A redirect, a rewritten request and its answer.
	moved, _ := x.asks("GET", "18380", "/old/page?a=b", "", "Host", "www.example.com")
	if to := moved.Header.Get("Location"); moved.StatusCode != http.StatusMovedPermanently || to != "/new/page?a=b" {
		t.Errorf("redirect: %d to %q", moved.StatusCode, to)
	}
	answer, _ := x.asks("GET", "18380", "/api/v1/pumps", "", "Host", "www.example.com", "X-Debug", "1")
	r := <-seen
	if r.URL.Path != "/v1/pumps" || r.Host != "api.internal" || r.Header.Get("X-Gateway") != "ferry" || r.Header["X-Debug"] != nil {
		t.Errorf("the service got %s of %s, %v", r.URL.Path, r.Host, r.Header)
	}
	if answer.Header.Get("Cache-Control") != "no-store" || answer.Header["Server"] != nil {
		t.Errorf("the client got %v", answer.Header)
	}

	// A limit.
	status := map[int]int{}
	for range 15 {
		limited, _ := x.asks("POST", "18380", "/orders/7", "{}", "Host", "shop.example.com")
		status[limited.StatusCode]++
	}
	if status[http.StatusTooManyRequests] != 5 {
		t.Errorf("answers of 15 orders, of which 10 may pass: %v", status)
	}

	// What fails is logged, whatever the sample.
	x.asks("GET", "18380", "/api/v1/fail", "", "Host", "www.example.com")
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
