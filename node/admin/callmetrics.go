package admin

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/ferry/broker/calls"
	"example.com/ferry/rpc/call"
)

var (
	callsDesc         = desc("ferry_calls_total", "Calls between clients that have ended, by the code that the caller got.", "service", "code")
	callsActiveDesc   = desc("ferry_calls_in_progress", "Calls between clients that have not ended, with those that wait.", "service")
	callsWaitingDesc  = desc("ferry_calls_waiting", "Calls that wait in the node because all instances of their service are busy.", "service")
	callInstancesDesc = desc("ferry_call_instances", "Clients that serve a service now.", "service")
	callSecondsDesc   = desc("ferry_call_seconds", "Time from the arrival of a call at the node to its response.", "service")
)

// callCollector collects the metrics of the services that clients offer to each other.
type callCollector struct {
	services func() []calls.ServiceStats

	mu    sync.Mutex
	names series[string]
}

// Describe sends no descriptions: which metrics there are depends on the services.
func (c *callCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of all services. Those beyond maxSeries, and calls to names that no client has offered, are one, "other".
func (c *callCollector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sums := map[string]*calls.ServiceStats{}
	for _, s := range c.services() {
		label := "other"
		if s.Name != "" {
			label = c.names.label(s.Name, label)
		}
		if sums[label] == nil {
			sums[label] = &calls.ServiceStats{}
		}
		sums[label].Add(&s)
	}
	for label, s := range sums {
		for code, n := range s.Codes {
			if n > 0 {
				ch <- counter(callsDesc, n, label, call.Code(code).String())
			}
		}
		ch <- gauge(callsActiveDesc, s.Active, label)
		ch <- gauge(callsWaitingDesc, s.Waiting, label)
		ch <- gauge(callInstancesDesc, s.Instances, label)
		ch <- histogram(callSecondsDesc, HistogramOf(s.Latency), label)
	}
}
