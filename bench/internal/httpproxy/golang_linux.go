package httpproxy

import (
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
	forward := map[string]func(l net.Listener, upstream string) error{"fasthttp": serveFastHTTP, "reverseproxy": serveReverseProxy}[os.Getenv(variable)]
	if forward == nil {
		return
	}
	fmt.Fprintln(os.Stderr, serve(forward, os.Args[1], os.Args[2], os.Args[3]))
	os.Exit(1)
}

// serve runs the proxy until an error.
func serve(forward func(net.Listener, string) error, listen, upstream, admin string) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	failed := make(chan error)
	go func() { failed <- forward(l, upstream) }()
	go func() { failed <- serveGoroutines(admin) }()
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
		return []string{"env", variable + "=" + role, self, s.Listen, s.Upstream, s.Admin}
	}}, err
}

func fastHTTP() (Program, error) {
	return ourselves("fasthttp", harness.Version("github.com/valyala/fasthttp"), "fasthttp")
}

func serveFastHTTP(l net.Listener, upstream string) error {
	client := fasthttp.HostClient{
		Addr: upstream, MaxConns: most, MaxIdleConnDuration: time.Hour,
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
	return ourselves("httputil.ReverseProxy", runtime.Version(), "reverseproxy")
}

func serveReverseProxy(l net.Listener, upstream string) error {
	target := &url.URL{Scheme: "http", Host: upstream}
	server := http.Server{ReadHeaderTimeout: time.Minute, Handler: &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{MaxIdleConns: most, MaxIdleConnsPerHost: most, IdleConnTimeout: time.Hour, DisableCompression: true},
	}}
	return server.Serve(l)
}
