package admin

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/ferry/internal/balance"
	"example.com/ferry/loop"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/proxy"
	"example.com/ferry/proxy/overload"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

func TestProxyMetrics(t *testing.T) {
	metrics := traffic.NewMetrics(2)
	l, r := metrics.Listener("public"), metrics.Route("public", `users "1"`)
	l.Opened(0)
	l.Opened(1)
	l.Closed(1)
	l.Refused(1, traffic.NoRoute)
	l.ConnectionRefused(1, traffic.ConnectionLimit)
	l.Abused(1, http2.AbuseResets)
	r.Done(0, traffic.HTTP(200), 3*time.Millisecond, 100, 1000)
	r.Done(1, traffic.HTTP(503), 90*time.Second, 20, 30)
	r.Retried(1)
	metrics.Listener("bad\xff")
	metrics.Route("bad\xff", "\xff")
	down := upstream.EndpointStats{Address: "127.0.0.1:2", EndpointStats: balance.EndpointStats{Ejected: time.Second, Ejections: 4, Downs: 5}}
	up := upstream.EndpointStats{Address: "127.0.0.1:1", EndpointStats: balance.EndpointStats{Healthy: true, Active: 2, Conns: 3}}
	up.Outcomes[upstream.Success], up.Outcomes[upstream.Timeout] = 6, 7
	clusters := []upstream.Stats{{
		Name: "web", Endpoints: []upstream.EndpointStats{up, down},
		TLS: true, TLSHandshakes: 30, TLSResumed: 12, TLSFailed: [upstream.TLSFailures]int64{upstream.TLSExpired: 14},
		Stats: balance.Stats{Waiting: 8, RefusedRequests: 9, RefusedConnections: 10, RefusedWaiting: 11}, LookupsFailed: 12, ChecksFailed: 13,
	}}
	_, url := start(t, Config{Proxy: func() proxy.Snapshot {
		return proxy.Snapshot{
			Traffic: metrics.Snapshot(), Clusters: clusters, Access: traffic.LogStats{Written: 14, Dropped: 15, Errors: 16},
			Loops: []loop.Stats{{AcceptPauses: 17}, {AcceptPauses: 1}},
			Overload: overload.Stats{
				Sample: overload.Sample{Memory: 95, Connections: 30}, Level: overload.RefusingRequests, Share: 0.5,
				Raised: [4]uint64{0, 8, 7, 6}, MemoryBudget: 100, MaxConnections: 40,
			},
			IdleClosed: 19,
		}
	}})
	status, body := do(t, "GET", url+"/metrics")
	if status != 200 {
		t.Fatalf("got %d %s", status, body)
	}
	for _, want := range []string{
		`ferry_proxy_connections{listener="public"} 1`,
		`ferry_proxy_accepted_total{listener="public"} 2`,
		`ferry_proxy_refused_total{listener="public",reason="no_route"} 1`,
		`ferry_proxy_refused_total{listener="public",reason="overload"} 0`,
		`ferry_connections_refused_total{listener="public",reason="connections"} 1`,
		`ferry_connections_refused_total{listener="public",reason="connections_per_address"} 0`,
		`ferry_connections_abused_total{listener="public",reason="resets"} 1`,
		`ferry_connections_abused_total{listener="public",reason="pings"} 0`,
		`ferry_overload_level 2`,
		`ferry_overload_refused_share 0.5`,
		`ferry_overload_idle_closed_total 19`,
		`ferry_overload_pressure{resource="memory"} 0.95`,
		`ferry_overload_pressure{resource="connections"} 0.75`,
		`ferry_overload_raised_total{level="shrinking"} 8`,
		`ferry_overload_raised_total{level="refusing_connections"} 6`,
		`ferry_proxy_connections{listener="bad?"} 0`,
		`ferry_proxy_request_seconds_count{listener="bad?",route="?"} 0`,
		`ferry_proxy_requests_total{code="2xx",listener="public",route="users \"1\""} 1`,
		`ferry_proxy_requests_total{code="5xx",listener="public",route="users \"1\""} 1`,
		`ferry_proxy_request_seconds_bucket{listener="public",route="users \"1\"",le="0.0025"} 0`,
		`ferry_proxy_request_seconds_bucket{listener="public",route="users \"1\"",le="0.005"} 1`,
		`ferry_proxy_request_seconds_bucket{listener="public",route="users \"1\"",le="60"} 1`,
		`ferry_proxy_request_seconds_bucket{listener="public",route="users \"1\"",le="+Inf"} 2`,
		`ferry_proxy_request_seconds_sum{listener="public",route="users \"1\""} 90.003`,
		`ferry_proxy_request_seconds_count{listener="public",route="users \"1\""} 2`,
		`ferry_proxy_bytes_total{dir="in",listener="public",route="users \"1\""} 120`,
		`ferry_proxy_bytes_total{dir="out",listener="public",route="users \"1\""} 1030`,
		`ferry_proxy_retries_total{listener="public",route="users \"1\""} 1`,
		`ferry_proxy_accept_pauses_total 18`,
		`ferry_proxy_log_lines_total 14`,
		`ferry_proxy_log_dropped_total 15`,
		`ferry_proxy_log_errors_total 16`,
		`ferry_upstream_requests_total{cluster="web",endpoint="127.0.0.1:1",outcome="success"} 6`,
		`ferry_upstream_requests_total{cluster="web",endpoint="127.0.0.1:1",outcome="timeout"} 7`,
		`ferry_upstream_requests_total{cluster="web",endpoint="127.0.0.1:2",outcome="reset"} 0`,
		`ferry_upstream_active{cluster="web",endpoint="127.0.0.1:1"} 2`,
		`ferry_upstream_connections{cluster="web",endpoint="127.0.0.1:1"} 3`,
		`ferry_upstream_healthy{cluster="web",endpoint="127.0.0.1:1"} 1`,
		`ferry_upstream_healthy{cluster="web",endpoint="127.0.0.1:2"} 0`,
		`ferry_upstream_ejected{cluster="web",endpoint="127.0.0.1:1"} 0`,
		`ferry_upstream_ejected{cluster="web",endpoint="127.0.0.1:2"} 1`,
		`ferry_upstream_ejections_total{cluster="web",endpoint="127.0.0.1:2"} 4`,
		`ferry_upstream_downs_total{cluster="web",endpoint="127.0.0.1:2"} 5`,
		`ferry_upstream_tls_handshakes_total{cluster="web",resumed="false"} 18`,
		`ferry_upstream_tls_handshakes_total{cluster="web",resumed="true"} 12`,
		`ferry_upstream_tls_failures_total{cluster="web",reason="expired"} 14`,
		`ferry_upstream_tls_failures_total{cluster="web",reason="name"} 0`,
		`ferry_upstream_waiting{cluster="web"} 8`,
		`ferry_upstream_refused_total{cluster="web",limit="requests"} 9`,
		`ferry_upstream_refused_total{cluster="web",limit="connections"} 10`,
		`ferry_upstream_refused_total{cluster="web",limit="waiting"} 11`,
		`ferry_upstream_lookups_failed_total{cluster="web"} 12`,
		`ferry_upstream_checks_failed_total{cluster="web"} 13`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("missing %s", want)
		}
	}
}

// TestMetricsOfAProxyAtWork forwards a request through a proxy and checks its metrics.
func TestMetricsOfAProxyAtWork(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	backend := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })}
	go backend.Serve(ln)
	t.Cleanup(func() { backend.Close() })
	p, err := proxy.New(&proxy.Config{
		Loops:     1,
		Listeners: []proxy.Listener{{Name: "public", Address: "127.0.0.1:0", Protocol: proxy.HTTP1, Cluster: "web"}},
		Clusters:  []upstream.Config{{Name: "web", Endpoints: []upstream.EndpointConfig{{Address: ln.Addr().String()}}}},
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Shutdown(t.Context()) })
	_, url := start(t, Config{Proxy: p.Snapshot})

	conn, err := net.Dial("tcp", strings.TrimPrefix(p.Addresses()[0], "http1://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(response.Body); err != nil || string(text) != "hello" {
		t.Fatalf("got %q, %v", text, err)
	}
	_, state := do(t, "GET", url+"/api/proxy")
	want := `"listeners":[{"name":"public","protocol":"http1","address":"` + conn.RemoteAddr().String() + `","connections":1,`
	if !strings.Contains(state, want) {
		t.Errorf("/api/proxy: got %s, want %s", state, want)
	}
	_, body := do(t, "GET", url+"/metrics")
	for _, want := range []string{
		`ferry_proxy_connections{listener="public"} 1`,
		`ferry_proxy_requests_total{code="2xx",listener="public",route="web"} 1`,
		`ferry_proxy_bytes_total{dir="in",listener="public",route="web"} ` + strconv.Itoa(len("GET / HTTP/1.1\r\nHost: a\r\n\r\n")),
		`ferry_upstream_requests_total{cluster="web",endpoint="` + ln.Addr().String() + `",outcome="success"} 1`,
		`ferry_upstream_active{cluster="web",endpoint="` + ln.Addr().String() + `"} 0`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("missing %s", want)
		}
	}
}
