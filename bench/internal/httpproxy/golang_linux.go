package httpproxy

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"runtime"
	"time"

	"github.com/valyala/fasthttp"

	"example.com/ferry/bench/internal/harness"
)

// A process of this program that finds this variable in its environment is one of the proxies below.
const variable = "FERRY_BENCH_HTTPPROXY"

// maxIdle is the maximum number of idle connections to the upstream.
const most = 20_000

// Main runs a proxy if this process was started as one, and does not return then. A benchmark's main and the TestMain of its
// tests must call Main early.
func Main() {
	forward := map[string]func(l net.Listener, s Setup) error{"fasthttp": serveFastHTTP, "reverseproxy": serveReverseProxy}[os.Getenv(variable)]
	if forward == nil {
		return
	}
	fmt.Fprintln(os.Stderr, serve(forward, os.Args[1]))
	os.Exit(1)
}

// serve runs the proxy until an error. Its argument is the Setup in JSON.
func serve(forward func(net.Listener, Setup) error, text string) error {
	var s Setup
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	l, err := net.Listen("tcp", s.Listen)
	if err != nil {
		return err
	}
	failed := make(chan error)
	go func() { failed <- forward(l, s) }()
	go func() { failed <- serveGoroutines(s.Admin) }()
	return <-failed
}

// serveGoroutines serves the number of goroutines, in the format of Prometheus's client library for Go.
func serveGoroutines(addr string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "go_goroutines %d\n", runtime.NumGoroutine())
	})
	server := http.Server{Addr: addr, Handler: mux, ReadHeaderTimeout: time.Minute}
	return server.ListenAndServe()
}

// ourselves returns a proxy that runs as a process of this program.
func ourselves(name, version, role string) (Program, error) {
	self, err := os.Executable()
	return Program{Name: name, Version: version, Goroutines: true, argv: func(s Setup, _ string) []string {
		text, _ := json.Marshal(s) // a Setup holds nothing that JSON does not know
		return []string{"env", variable + "=" + role, self, string(text)}
	}}, err
}

func fastHTTP() (Program, error) {
	return ourselves("fasthttp", harness.Version("github.com/valyala/fasthttp"), "fasthttp")
}

func serveFastHTTP(l net.Listener, s Setup) error {
	client := fasthttp.HostClient{
		Addr: s.Upstream, MaxConns: most, MaxIdleConnDuration: time.Hour,
		NoDefaultUserAgentHeader: true, DisableHeaderNamesNormalizing: true, DisablePathNormalizing: true,
	}
	server := fasthttp.Server{
		NoDefaultServerHeader: true, NoDefaultDate: true, NoDefaultContentType: true, DisableHeaderNamesNormalizing: true,
		Handler: func(c *fasthttp.RequestCtx) {
			c.Request.Header.Del("Connection")
			if err := client.Do(&c.Request, &c.Response); err != nil {
				c.Error(err.Error(), fasthttp.StatusBadGateway)
				return
			}
			c.Response.Header.Del("Connection")
		},
	}
	return server.Serve(l)
}

func reverseProxy() (Program, error) {
	p, err := ourselves("httputil.ReverseProxy", runtime.Version(), "reverseproxy")
	p.supports = always
	return p, err
}

func serveReverseProxy(l net.Listener, s Setup) error {
	target := &url.URL{Scheme: "http", Host: s.Upstream}
	transport := &http.Transport{
		MaxIdleConns: most, MaxIdleConnsPerHost: most, IdleConnTimeout: time.Hour, DisableCompression: true,
		Protocols: protocols(s.UpstreamHTTP2, s.UpstreamTLS.Cert != ""),
	}
	if s.UpstreamTLS.Cert != "" {
		ca, err := os.ReadFile(s.UpstreamTLS.Cert)
		if err != nil {
			return err
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(ca)
		target.Scheme = "https"
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, ServerName: "localhost", CurvePreferences: []tls.CurveID{tls.X25519}}
	}
	server := http.Server{ReadHeaderTimeout: time.Minute, Protocols: protocols(s.HTTP2, s.TLS.Cert != ""), Handler: &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: transport,
	}}
	if s.TLS.Cert != "" {
		server.TLSConfig = &tls.Config{CurvePreferences: []tls.CurveID{tls.X25519}}
		return server.ServeTLS(l, s.TLS.Cert, s.TLS.Key)
	}
	return server.Serve(l)
}

// protocols returns the one protocol of a side.
func protocols(http2, secure bool) *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(!http2)
	p.SetHTTP2(http2 && secure)
	p.SetUnencryptedHTTP2(http2 && !secure)
	return p
}
