package admin

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/ferry/proxy"
	"example.com/ferry/proxy/overload"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

var (
	proxyConnectionsDesc = desc("ferry_proxy_connections", "Clients connected to a listener of the proxy.", "listener")
	proxyAcceptedDesc    = desc("ferry_proxy_accepted_total", "Connections that a listener accepted.", "listener")
	proxyRefusedDesc     = desc("ferry_proxy_refused_total", "Requests that were not forwarded, or not to their end.", "listener", "reason")
	connsRefusedDesc     = desc("ferry_connections_refused_total", "Connections that were closed when a listener of the proxy accepted them.", "listener", "reason")
	connsAbusedDesc      = desc("ferry_connections_abused_total", "Connections that were ended because the client misused HTTP/2.", "listener", "reason")
	proxyHandshakesDesc  = desc("ferry_tls_handshakes_total", "TLS handshakes of clients by result.", "listener", "result")
	proxyRequestsDesc    = desc("ferry_proxy_requests_total", "Requests by the status of their response: 2xx, a Bolt status, or grpc_ and a gRPC status.", "listener", "route", "code")
	proxySecondsDesc     = desc("ferry_proxy_request_seconds", "Time from a request's first byte to its response's last.", "listener", "route")
	proxyBytesDesc       = desc("ferry_proxy_bytes_total", "Bytes of requests (in) and responses (out), heads included.", "listener", "route", "dir")
	proxyRetriesDesc     = desc("ferry_proxy_retries_total", "Attempts after a failed one.", "listener", "route")
	proxyPausesDesc      = desc("ferry_proxy_accept_pauses_total", "Times that accepting paused: out of descriptors, or at max_connections.")

	overloadLevelDesc    = desc("ferry_overload_level", "What is shed: 0 nothing, 1 idle connections, 2 requests too, 3 new connections too.")
	overloadRaisedDesc   = desc("ferry_overload_raised_total", "Times that a level of overload was entered from a lower one.", "level")
	overloadPressureDesc = desc("ferry_overload_pressure", "What is in use, as a part of its limit: memory, loop_latency, connections.", "resource")
	overloadShareDesc    = desc("ferry_overload_refused_share", "Share of the requests that are refused.")
	overloadIdleDesc     = desc("ferry_overload_idle_closed_total", "Idle connections that were closed because memory or connections were short.")

	logWrittenDesc = desc("ferry_proxy_log_lines_total", "Entries written to the access log.")
	logDroppedDesc = desc("ferry_proxy_log_dropped_total", "Entries that the access log dropped.")
	logErrorsDesc  = desc("ferry_proxy_log_errors_total", "Writes of the access log that failed and were tried again.")

	upstreamRequestsDesc    = desc("ferry_upstream_requests_total", "Attempts by outcome.", "cluster", "endpoint", "outcome")
	upstreamActiveDesc      = desc("ferry_upstream_active", "Requests in flight, until the end of their response.", "cluster", "endpoint")
	upstreamConnectionsDesc = desc("ferry_upstream_connections", "Connections to an endpoint, including those being opened.", "cluster", "endpoint")
	upstreamHealthyDesc     = desc("ferry_upstream_healthy", "0 while health checks find an endpoint down, else 1.", "cluster", "endpoint")
	upstreamEjectedDesc     = desc("ferry_upstream_ejected", "1 while an endpoint is ejected, as its requests failed.", "cluster", "endpoint")
	upstreamDrainedDesc     = desc("ferry_upstream_drained", "1 while an operator has drained an endpoint, else 0.", "cluster", "endpoint")
	upstreamWeightDesc      = desc("ferry_upstream_weight", "Weight of an endpoint, by the configuration or an operator.", "cluster", "endpoint")
	upstreamEjectionsDesc   = desc("ferry_upstream_ejections_total", "Ejections of an endpoint.", "cluster", "endpoint")
	upstreamDownsDesc       = desc("ferry_upstream_downs_total", "Times that health checks found an endpoint down that was up.", "cluster", "endpoint")
	upstreamHandshakesDesc  = desc("ferry_upstream_tls_handshakes_total", "TLS handshakes with endpoints, by whether they resumed a session.", "cluster", "resumed")
	upstreamTLSFailedDesc   = desc("ferry_upstream_tls_failures_total", "TLS connections to endpoints that failed, by reason.", "cluster", "reason")
	upstreamWaitingDesc     = desc("ferry_upstream_waiting", "Requests that wait for a connection.", "cluster")
	upstreamRefusedDesc     = desc("ferry_upstream_refused_total", "Requests and connections refused by a limit of their cluster.", "cluster", "limit")
	upstreamLookupsDesc     = desc("ferry_upstream_lookups_failed_total", "Lookups of names, and checks of files of endpoints, that failed.", "cluster")
	upstreamChecksDesc      = desc("ferry_upstream_checks_failed_total", "Health checks that failed.", "cluster")
)

// proxyCollector collects the metrics of the proxy.
type proxyCollector struct{ snapshot func() proxy.Snapshot }

// Describe sends no descriptions: which metrics there are depends on the configuration, which can change.
func (c proxyCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends one snapshot's metrics.
func (c proxyCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.snapshot()
	for _, l := range s.Traffic.Listeners {
		ch <- gauge(proxyConnectionsDesc, l.Connections, l.Name)
		ch <- counter(proxyAcceptedDesc, l.Accepted, l.Name)
		for why, n := range l.Refused {
			ch <- counter(proxyRefusedDesc, n, l.Name, why.String())
		}
		for why, n := range l.RefusedConnections {
			ch <- counter(connsRefusedDesc, n, l.Name, why.String())
		}
		for how, n := range l.Abused {
			ch <- counter(connsAbusedDesc, n, l.Name, how.String())
		}
		for result, n := range l.Handshakes {
			ch <- counter(proxyHandshakesDesc, n, l.Name, result.String())
		}
	}
	for _, r := range s.Traffic.Routes {
		collectRoute(ch, r)
	}
	for _, c := range s.Clusters {
		collectCluster(ch, c)
	}
	var pauses int64
	for _, l := range s.Loops {
		pauses += l.AcceptPauses
	}
	ch <- counter(proxyPausesDesc, uint64(pauses))
	collectOverload(ch, &s)
	ch <- counter(logWrittenDesc, s.Access.Written)
	ch <- counter(logDroppedDesc, s.Access.Dropped)
	ch <- counter(logErrorsDesc, s.Access.Errors)
}

func collectOverload(ch chan<- prometheus.Metric, s *proxy.Snapshot) {
	o := &s.Overload
	ch <- gauge(overloadLevelDesc, int(o.Level))
	for l, n := range o.Raised {
		if level := overload.Level(l); level != overload.Normal {
			ch <- counter(overloadRaisedDesc, n, strings.ReplaceAll(level.String(), " ", "_"))
		}
	}
	for _, r := range []struct {
		name        string
		used, limit float64
	}{
		{"memory", float64(o.Memory), float64(o.MemoryBudget)},
		{"loop_latency", o.Lag.Seconds(), o.LagLimit.Seconds()},
		{"connections", float64(o.Connections), float64(o.MaxConnections)},
	} {
		if r.limit > 0 {
			ch <- prometheus.MustNewConstMetric(overloadPressureDesc, prometheus.GaugeValue, r.used/r.limit, r.name)
		}
	}
	ch <- prometheus.MustNewConstMetric(overloadShareDesc, prometheus.GaugeValue, o.Share)
	ch <- counter(overloadIdleDesc, s.IdleClosed)
}

func collectRoute(ch chan<- prometheus.Metric, r traffic.RouteStats) {
	for code, n := range r.Requests {
		ch <- counter(proxyRequestsDesc, n, r.Listener, r.Name, code.String())
	}
	ch <- histogram(proxySecondsDesc, tookOf(r.Took), r.Listener, r.Name)
	ch <- counter(proxyBytesDesc, r.In, r.Listener, r.Name, "in")
	ch <- counter(proxyBytesDesc, r.Out, r.Listener, r.Name, "out")
	ch <- counter(proxyRetriesDesc, r.Retries, r.Listener, r.Name)
}

func collectCluster(ch chan<- prometheus.Metric, c upstream.Stats) {
	for _, e := range c.Endpoints {
		for o, n := range e.Outcomes {
			ch <- counter(upstreamRequestsDesc, uint64(n), c.Name, e.Address, upstream.Outcome(o).String())
		}
		ch <- gauge(upstreamActiveDesc, int(e.Active), c.Name, e.Address)
		ch <- gauge(upstreamConnectionsDesc, int(e.Conns), c.Name, e.Address)
		ch <- gauge(upstreamHealthyDesc, boolToInt(e.Healthy), c.Name, e.Address)
		ch <- gauge(upstreamEjectedDesc, boolToInt(e.Ejected > 0), c.Name, e.Address)
		ch <- gauge(upstreamDrainedDesc, boolToInt(e.Drained), c.Name, e.Address)
		ch <- gauge(upstreamWeightDesc, e.Weight, c.Name, e.Address)
		ch <- counter(upstreamEjectionsDesc, uint64(e.Ejections), c.Name, e.Address)
		ch <- counter(upstreamDownsDesc, uint64(e.Downs), c.Name, e.Address)
	}
	if c.TLS {
		ch <- counter(upstreamHandshakesDesc, uint64(c.TLSHandshakes-c.TLSResumed), c.Name, "false")
		ch <- counter(upstreamHandshakesDesc, uint64(c.TLSResumed), c.Name, "true")
		for why, n := range c.TLSFailed {
			ch <- counter(upstreamTLSFailedDesc, uint64(n), c.Name, upstream.TLSFailure(why).String())
		}
	}
	ch <- gauge(upstreamWaitingDesc, int(c.Waiting), c.Name)
	ch <- counter(upstreamRefusedDesc, uint64(c.RefusedRequests), c.Name, "requests")
	ch <- counter(upstreamRefusedDesc, uint64(c.RefusedConnections), c.Name, "connections")
	ch <- counter(upstreamRefusedDesc, uint64(c.RefusedWaiting), c.Name, "waiting")
	ch <- counter(upstreamLookupsDesc, uint64(c.LookupsFailed), c.Name)
	ch <- counter(upstreamChecksDesc, uint64(c.ChecksFailed), c.Name)
}

// boolToInt returns 1 for true and 0 for false.
func boolToInt(is bool) int {
	if is {
		return 1
	}
	return 0
}
