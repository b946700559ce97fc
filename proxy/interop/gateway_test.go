package interop

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/certs/certstest"
	"example.com/ferry/proxy/proxytest"
)

// origin is a server behind a gateway.
type origin struct {
	name     string
	address  string
	protocol string // http1 or http2
	tls      bool
}

// gateway is a process of ferry with two listeners for each origin, in cleartext and with TLS.
type gateway struct {
	*ferry
	authority
	number map[string]int // of the origin
}

// The ports of a gateway's configuration: these numbers and those of the origins after them.
const (
	clearPort  = 21000
	tlsPort    = 22000
	originPort = 23000
	adminPort  = "20000"
)

// gateway starts ferry in front of origins. protocol is the protocol of the listeners, and limits has further lines of each.
func (a authority) gateway(t *testing.T, protocol string, origins []origin, limits ...string) *gateway {
	t.Helper()
	cert, key := a.Issue(t, certstest.Leaf{Names: []string{"127.0.0.1", "localhost"}}).Write(t, a.dir, "gateway")
	g := &gateway{authority: a, number: map[string]int{}}
	var listeners, clusters strings.Builder
	servers := map[string]string{}
	for i, o := range origins {
		fields := "      protocol: " + protocol + "\n      cluster: " + o.name + "\n"
		for _, line := range limits {
			fields += "      " + line + "\n"
		}
		fmt.Fprintf(&listeners, "    - address: 127.0.0.1:%d\n%s", clearPort+i, fields)
		fmt.Fprintf(&listeners, "    - address: 127.0.0.1:%d\n%s", tlsPort+i, fields)
		fmt.Fprintf(&listeners, "      tls: {certificates: [{cert_file: %s, key_file: %s}]}\n", cert, key)
		fmt.Fprintf(&clusters, "    - name: %s\n      protocol: %s\n      endpoints: [{address: 127.0.0.1:%d}]\n", o.name, o.protocol, originPort+i)
		if o.tls {
			fmt.Fprintf(&clusters, "      tls: {ca_file: %s}\n", a.file)
		}
		servers[fmt.Sprint(originPort+i)] = o.address
		g.number[o.name] = i
	}
	g.ferry = runText(t, "gateway.yaml", "proxy:\n  listeners:\n"+listeners.String()+"  clusters:\n"+clusters.String()+"admin:\n  address: 127.0.0.1:"+adminPort+"\n", servers)
	return g
}

// address returns the address of a listener.
func (g *gateway) address(origin string, overTLS bool) string {
	first := clearPort
	if overTLS {
		first = tlsPort
	}
	return g.at(fmt.Sprint(first + g.number[origin]))
}

// base returns the URL of a listener.
func (g *gateway) base(origin string, overTLS bool) string {
	if overTLS {
		return "https://" + g.address(origin, overTLS)
	}
	return "http://" + g.address(origin, overTLS)
}

// client returns a client of net/http that speaks one version, with small windows.
func (a authority) client(t *testing.T, version string) *http.Client {
	tr := &http.Transport{
		Protocols: new(http.Protocols), TLSClientConfig: &tls.Config{RootCAs: a.Pool()}, DisableCompression: true, MaxIdleConnsPerHost: 100,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 20_000, MaxReceiveBufferPerConnection: 100_000},
	}
	tr.Protocols.SetHTTP1(version == "http1")
	tr.Protocols.SetHTTP2(version == "http2")
	tr.Protocols.SetUnencryptedHTTP2(version == "http2")
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// serveGo2 runs a server of net/http that speaks cleartext HTTP/2.
func serveGo2(t *testing.T, h http.Handler) string {
	return proxytest.ServeHTTP2(t, nil, h.ServeHTTP)
}

// inProgress returns the gauges of requests and connections that are not 0. Connections to servers are kept and not listed.
func (g *gateway) inProgress() map[string]float64 {
	found := map[string]float64{}
	for name, value := range g.metrics(adminPort) {
		kind, _, _ := strings.Cut(name, "{")
		if value != 0 && slices.Contains([]string{"ferry_upstream_active", "ferry_upstream_waiting", "ferry_proxy_connections"}, kind) {
			found[name] = value
		}
	}
	return found
}

// waitIdle waits until no client is connected and no request is in progress.
func (g *gateway) waitIdle() {
	g.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		left := g.inProgress()
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("in progress without clients: %v", left)
		}
	}
}
