package admin

import (
	"github.com/prometheus/client_golang/prometheus"

	streamweb "example.com/ferry/edge/web"
)

var (
	webConnectionsDesc = desc("ferry_http_connections", "Open connections of an http or https listener.", "listener")
	webEventsDesc      = desc("ferry_http_event_streams", "Streams of server-sent events.", "listener")
	webSocketsDesc     = desc("ferry_http_websockets", "Open WebSockets.", "listener")
	webResponsesDesc   = desc("ferry_http_responses_total", "Responses by class of their status; 1xx are WebSockets.", "listener", "class")
)

// webCollector collects the metrics of the listeners for HTTP.
type webCollector struct{ listeners func() []streamweb.Stats }

// Describe sends no descriptions: which metrics there are depends on the listeners.
func (c webCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of each listener.
func (c webCollector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range c.listeners() {
		ch <- gauge(webConnectionsDesc, s.Connections, s.Address)
		ch <- gauge(webEventsDesc, s.Events, s.Address)
		ch <- gauge(webSocketsDesc, s.WebSockets, s.Address)
		for class, n := range s.Requests {
			ch <- counter(webResponsesDesc, n, s.Address, class)
		}
	}
}
