package admin

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/certs/certstest"
)

const secret = "the secret of this server"

func basic(password string) string {
	r, _ := http.NewRequest(http.MethodGet, "/", nil) //nolint:noctx // only its header is used
	r.SetBasicAuth("anybody", password)
	return r.Header.Get("Authorization")
}

func TestToken(t *testing.T) {
	_, url := start(t, Config{Token: secret, Functions: &fakeFunctions{running: map[string]bool{"averages": true}}})
	for _, c := range []struct {
		name, method, path, authorization string
		want                              int
	}{
		{"nothing", "GET", "/", "", 401},
		{"metrics", "GET", "/metrics", "", 401},
		{"profiles", "GET", "/debug/pprof/", "", 401},
		{"a change", "POST", "/api/functions/averages/stop", "", 401},
		{"an unknown path", "GET", "/none", "", 401},
		{"a wrong token", "GET", "/", "Bearer " + secret + "r", 401},
		{"a part of the token", "GET", "/", "Bearer " + secret[:10], 401},
		{"a wrong password", "GET", "/", basic("secret"), 401},
		{"another scheme", "GET", "/", "Digest " + secret, 401},
		{"liveness", "GET", "/ping", "", 200},
		{"readiness", "GET", "/ready", "", 503},
		{"bearer", "GET", "/", "Bearer " + secret, 200},
		{"bearer in lower case", "GET", "/metrics", "bearer " + secret, 200},
		{"password", "GET", "/debug/pprof/", basic(secret), 200},
		{"a change with the password", "POST", "/api/functions/averages/stop", basic(secret), 200},
	} {
		if status, body := do(t, c.method, url+c.path, "Authorization", c.authorization); status != c.want || strings.Contains(body, secret) {
			t.Errorf("%s: got %d %.80q, want %d", c.name, status, body, c.want)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if got := response.Header.Get("WWW-Authenticate"); !strings.HasPrefix(got, "Basic ") {
		t.Errorf("WWW-Authenticate is %q: a browser would not ask for the password", got)
	}
	if _, body := do(t, "GET", url+"/metrics", "Authorization", "Bearer "+secret); !strings.Contains(body, "ferry_admin_unauthorized_total 10\n") {
		t.Error("/metrics does not count the refused requests")
	}
}

// TestOtherSites: no page of another site gets a profile, metrics or messages.
func TestOtherSites(t *testing.T) {
	s, url := start(t, Config{Hosts: []string{"edge-1.plant"}})
	here := "http://" + s.Addr().String()
	for _, c := range []struct {
		name, path string
		header     []string
		want       int
	}{
		{"a program", "/debug/pprof/cmdline", nil, 200},
		{"a typed address", "/debug/pprof/cmdline", []string{"Sec-Fetch-Site", "none"}, 200},
		{"a link of the dashboard", "/debug/pprof/cmdline", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"an image on another site", "/debug/pprof/cmdline", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a page on another port", "/debug/pprof/heap", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"metrics for another site", "/metrics", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"an interface for another site", "/api/proxy", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"an old browser from another site", "/debug/pprof/cmdline", []string{"Referer", "http://evil.example/page"}, 403},
		{"an old browser with an origin", "/debug/pprof/cmdline", []string{"Origin", "http://evil.example"}, 403},
		{"an old browser, origin hidden", "/debug/pprof/cmdline", []string{"Origin", "null"}, 403},
		{"an old browser from here", "/debug/pprof/cmdline", []string{"Referer", here + "/"}, 200},
		{"a link to the dashboard", "/", []string{"Sec-Fetch-Site", "cross-site"}, 200},
		{"a rebound name", "/debug/pprof/cmdline", []string{"Host", "evil.example", "Sec-Fetch-Site", "same-origin"}, 421},
	} {
		if status, body := do(t, "GET", url+c.path, c.header...); status != c.want {
			t.Errorf("%s: got %d %.80q, want %d", c.name, status, body, c.want)
		}
	}
}

func TestReadOnly(t *testing.T) {
	_, url := start(t, Config{ReadOnly: true, Functions: &fakeFunctions{}, Tap: func(context.Context, []string, func(*ferry.Message)) error { return nil }})
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/ping", 200},
		{"HEAD", "/metrics", 200},
		{"GET", "/metrics", 200},
		{"GET", "/ready", 503},
		{"POST", "/metrics", 405},
		{"DELETE", "/ping", 405},
		{"GET", "/", 404},
		{"GET", "/debug/pprof/", 404},
		{"GET", "/api/functions", 404},
		{"GET", "/api/stream?tag=a", 404},
		{"POST", "/api/functions/a/stop", 404},
	} {
		if status, body := do(t, c.method, url+c.path); status != c.want {
			t.Errorf("%s %s: got %d %.80q, want %d", c.method, c.path, status, body, c.want)
		}
	}
}

// TestPrepare changes token and TLS of a running server.
func TestPrepare(t *testing.T) {
	opened := make(chan struct{}, 1)
	cfg := Config{Token: secret, Tap: func(ctx context.Context, _ []string, _ func(*ferry.Message)) error {
		opened <- struct{}{}
		<-ctx.Done()
		return nil
	}}
	s, url := start(t, cfg)
	r, err := http.NewRequestWithContext(t.Context(), "GET", url+"/api/stream?tag=a", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	<-opened
	use := func(c Config) {
		t.Helper()
		change, err := s.Prepare(c)
		if err != nil {
			t.Fatal(err)
		}
		change()
	}
	cfg.Hosts = []string{"edge-1.plant"}
	use(cfg)
	if status, _ := do(t, "GET", url+"/", "Host", "edge-1.plant", "Authorization", "Bearer "+secret); status != 200 {
		t.Errorf("a new host: %d", status)
	}
	cfg.Token = "another secret of this server"
	use(cfg)
	if _, err := io.Copy(io.Discard, response.Body); err != nil { // the stream ends
		t.Error(err)
	}
	if status, _ := do(t, "GET", url+"/", "Authorization", "Bearer "+secret); status != 401 {
		t.Errorf("the old token: %d", status)
	}

	ca := certstest.NewCA(t, "ca")
	cfg.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Issue(t, certstest.Leaf{Names: []string{"127.0.0.1"}}).TLS(t)}}
	use(cfg)
	if status, body := do(t, "GET", url+"/ping"); status != 421 || !strings.Contains(body, "connect again") {
		t.Errorf("a connection from before TLS was turned on: %d %q", status, body)
	}
	http.DefaultClient.CloseIdleConnections()
	if status, _ := do(t, "GET", url+"/ping"); status != 400 {
		t.Errorf("a new connection without TLS: %d", status)
	}
	secured := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}}}
	defer secured.CloseIdleConnections()
	over, err := secured.Get(strings.TrimSuffix(s.URL(), "/") + "/ping") //nolint:noctx // a test's request to its own server
	if err != nil {
		t.Fatal(err)
	}
	over.Body.Close()
	if over.StatusCode != 200 || over.TLS == nil {
		t.Errorf("over TLS: %d", over.StatusCode)
	}
}

// TestSilentConnections: clients that connect and send nothing do not keep others out.
func TestSilentConnections(t *testing.T) {
	s, url := start(t, Config{})
	var silent []net.Conn
	for range maxConnections + 50 {
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		silent = append(silent, c)
	}
	if status, _ := do(t, "GET", url+"/ping"); status != 200 {
		t.Errorf("got %d", status)
	}
	_ = silent[0].SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := silent[0].Read(make([]byte, 1)); n != 0 || err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("the oldest silent connection is open: %d, %v", n, err)
	}
}

// TestSlowHeads: clients that send the first byte of a request and no more do not keep others out.
func TestSlowHeads(t *testing.T) {
	s, url := start(t, Config{})
	for range maxConnections + 50 {
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "G"); err != nil && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			t.Fatal(err)
		}
	}
	if status, _ := do(t, "GET", url+"/ready"); status != 503 { // it was not set ready
		t.Errorf("got %d", status)
	}
	if _, body := do(t, "GET", url+"/metrics"); !strings.Contains(body, `ferry_admin_refused_total{what="connections"}`) {
		t.Error("the closed connections are not counted")
	}
}

// TestCostlyRequests: as many costly requests as are allowed leave room for probes and scrapes; further ones are refused.
func TestCostlyRequests(t *testing.T) {
	tap := func(ctx context.Context, _ []string, _ func(*ferry.Message)) error {
		<-ctx.Done()
		return nil
	}
	s, url := start(t, Config{Tap: tap})
	s.costly.max, s.profiles.max = 2, 1
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 2 {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/stream?tag=a", nil)
		if err != nil {
			t.Fatal(err)
		}
		stream, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Body.Close()
	}
	if status, body := do(t, "GET", url+"/"); status != 503 || !strings.Contains(body, "too many requests") {
		t.Errorf("a further request: %d %q", status, body)
	}
	if status, _ := do(t, "GET", url+"/ping"); status != 200 {
		t.Errorf("a probe: %d", status)
	}
	if status, body := do(t, "GET", url+"/metrics"); status != 200 || !strings.Contains(body, `ferry_admin_refused_total{what="requests"} 1`) {
		t.Errorf("a scrape: %d, want the refused request in it", status)
	}
	cancel()
	for s.costly.used.Load() > 0 { // the server learns that the clients have left
		time.Sleep(time.Millisecond)
	}
	s.profiles.used.Add(1)
	if status, _ := do(t, "GET", url+"/debug/pprof/cmdline"); status != 503 {
		t.Errorf("a profile beyond the limit: %d", status)
	}
	s.profiles.used.Add(-1)
	if status, _ := do(t, "GET", url+"/debug/pprof/cmdline"); status != 200 {
		t.Errorf("a profile: %d", status)
	}
}
