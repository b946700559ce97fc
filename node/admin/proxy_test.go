package admin

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"example.com/ferry/internal/balance"
	"example.com/ferry/proxy"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// TestProxyState checks the JSON of /api/proxy, on whose names scripts depend.
func TestProxyState(t *testing.T) {
	metrics := traffic.NewMetrics(2)
	l, r := metrics.Listener("public"), metrics.Route("public", "users")
	l.Opened(0)
	l.Opened(1)
	l.Closed(1)
	l.Refused(1, traffic.NoRoute)
	l.ConnectionRefused(0, traffic.AddressLimit)
	r.Done(0, traffic.HTTP(200), 3*time.Millisecond, 100, 1000)
	r.Done(0, traffic.HTTP(404), 3*time.Millisecond, 0, 0)
	r.Done(1, traffic.HTTP(503), 90*time.Second, 20, 30)
	r.Retried(1)
	metrics.Route("admin", "all")
	up := upstream.EndpointStats{Address: "127.0.0.1:1", EndpointStats: balance.EndpointStats{Weight: 2, Configured: 3, Drained: true, Healthy: true, Active: 2, Conns: 3, Ejected: time.Minute}}
	up.Outcomes = [upstream.Outcomes]int64{1000, 1, 20, 300, 4000, 50000}
	down := upstream.EndpointStats{Address: "127.0.0.1:2", EndpointStats: balance.EndpointStats{Weight: 1, Configured: 1, Ejected: time.Minute + 1500*time.Microsecond, Ejections: 4, Downs: 5}}
	snapshot := proxy.Snapshot{
		Now: time.Minute,
		Bound: []proxy.Bound{
			{Listener: "public", Protocol: proxy.HTTP1, Address: "127.0.0.1:80"},
			{Listener: "admin", Protocol: proxy.Bolt, Address: "127.0.0.1:81"},
		},
		Traffic: metrics.Snapshot(),
		Clusters: []upstream.Stats{{
			Name: "web", Endpoints: []upstream.EndpointStats{up, down},
			Stats: balance.Stats{Active: 7, Waiting: 8, RefusedRequests: 9, RefusedConnections: 10, RefusedWaiting: 11}, LookupsFailed: 12, ChecksFailed: 13,
		}},
	}
	for i := range snapshot.Traffic.Routes { // 18 buckets each are more than a reader can check
		took := &snapshot.Traffic.Routes[i].Took
		took.Buckets = took.Buckets[4:6]
	}
	_, url := start(t, Config{Proxy: func() proxy.Snapshot { return snapshot }})
	status, body := do(t, "GET", url+"/api/proxy")
	if status != http.StatusOK {
		t.Fatalf("got %d %s", status, body)
	}
	const want = `{
  "now": 60,
  "listeners": [
    {"name": "public", "protocol": "http1", "address": "127.0.0.1:80", "connections": 1, "accepted": 2,
     "refused": {"bad_request": 0, "client_rate_limited": 0, "max_duration": 0, "no_endpoint": 0, "no_route": 1, "overload": 0, "rate_limited": 0, "shed": 0, "slow_client": 0},
     "refused_connections": {"connections": 0, "connections_per_address": 1, "shed": 0}},
    {"name": "admin", "protocol": "bolt", "address": "127.0.0.1:81", "connections": 0, "accepted": 0, "refused": {}, "refused_connections": {}}
  ],
  "routes": [
    {"listener": "public", "name": "users", "requests": {"2xx": 1, "4xx": 1, "5xx": 1}, "failed": 1, "in": 120, "out": 1030, "retries": 1,
     "took": {"count": 3, "sum": 90.006, "buckets": [{"up_to": 0.0025, "count": 0}, {"up_to": 0.005, "count": 2}]}},
    {"listener": "admin", "name": "all", "requests": {}, "failed": 0, "in": 0, "out": 0, "retries": 0,
     "took": {"count": 0, "sum": 0, "buckets": [{"up_to": 0.0025, "count": 0}, {"up_to": 0.005, "count": 0}]}}
  ],
  "clusters": [
    {"name": "web", "active": 7, "waiting": 8, "refused": {"connections": 10, "requests": 9, "waiting": 11}, "lookups_failed": 12, "checks_failed": 13,
     "endpoints": [
       {"address": "127.0.0.1:1", "weight": 2, "configured_weight": 3, "drained": true, "healthy": true, "active": 2, "connections": 3,
        "requests": {"canceled": 50000, "connect_failure": 20, "failure": 1, "local_failure": 0, "rejected": 0, "reset": 300, "success": 1000, "timeout": 4000, "unavailable": 0},
        "failed": 4321, "ejections": 0, "downs": 0},
       {"address": "127.0.0.1:2", "weight": 1, "configured_weight": 1, "drained": false, "healthy": false, "ejected_for": 0.002, "active": 0, "connections": 0,
        "requests": {"canceled": 0, "connect_failure": 0, "failure": 0, "local_failure": 0, "rejected": 0, "reset": 0, "success": 0, "timeout": 0, "unavailable": 0},
        "failed": 0, "ejections": 4, "downs": 5}
     ]}
  ]
}`
	var short bytes.Buffer
	if err := json.Compact(&short, []byte(want)); err != nil {
		t.Fatal(err)
	}
	if body != short.String()+"\n" {
		t.Errorf("got\n%s\nwant\n%s", body, short.String())
	}
}

func TestProxyStateOfOthers(t *testing.T) {
	_, url := start(t, Config{})
	if status, body := do(t, "GET", url+"/api/proxy"); status != http.StatusNotFound {
		t.Errorf("without a proxy: got %d %s", status, body)
	}
	_, url = start(t, Config{Proxy: func() proxy.Snapshot { return proxy.Snapshot{} }})
	const want = `{"now":0,"listeners":[],"routes":[],"clusters":[]}` + "\n" // empty lists, not null
	if status, body := do(t, "GET", url+"/api/proxy"); status != http.StatusOK || body != want {
		t.Errorf("of nothing: got %d %s, want %s", status, body, want)
	}
}
