package admin

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

var unauthorizedDesc = desc("ferry_admin_unauthorized_total", "Requests to the admin server without the token, or with a wrong one.")

// tokenCollector collects the metric of refused requests.
type tokenCollector struct{ unauthorized *atomic.Uint64 }

// Describe sends the description.
func (c tokenCollector) Describe(ch chan<- *prometheus.Desc) { ch <- unauthorizedDesc }

// Collect sends the count of the moment.
func (c tokenCollector) Collect(ch chan<- prometheus.Metric) {
	ch <- counter(unauthorizedDesc, c.unauthorized.Load())
}
