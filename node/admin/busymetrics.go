package admin

import "github.com/prometheus/client_golang/prometheus"

var adminRefusedDesc = desc("ferry_admin_refused_total", "What this admin server refused because of its limits: connections it closed before they had sent a request, requests it gave 503.", "what")

// busyCollector collects what an admin server has refused.
type busyCollector struct{ s *Server }

// Describe sends the description.
func (c busyCollector) Describe(ch chan<- *prometheus.Desc) { ch <- adminRefusedDesc }

// Collect sends the counters.
func (c busyCollector) Collect(ch chan<- prometheus.Metric) {
	ch <- counter(adminRefusedDesc, c.s.conns.evicted.Load(), "connections")
	ch <- counter(adminRefusedDesc, c.s.refused.Load(), "requests")
}
