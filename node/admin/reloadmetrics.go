package admin

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Reloads counts the reloads of the node's configuration.
type Reloads struct {
	Applied        uint64
	Refused        uint64
	LastSuccessful bool      // the configuration that was read last is in use
	LastSuccess    time.Time // when the configuration in use was applied
}

var (
	reloadsDesc        = desc("ferry_config_reloads_total", "Configurations that were read: applied, or refused while the previous one stays in use.", "result")
	lastSuccessfulDesc = desc("ferry_config_last_reload_successful", "1 if the configuration that was read last is in use.")
	lastSuccessDesc    = desc("ferry_config_last_reload_success_timestamp_seconds", "When the configuration in use was applied.")
)

// reloadCollector collects the metrics of reloads.
type reloadCollector struct{ reloads func() Reloads }

// Describe sends all descriptions.
func (c reloadCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- reloadsDesc
	ch <- lastSuccessfulDesc
	ch <- lastSuccessDesc
}

// Collect sends the metrics of the moment.
func (c reloadCollector) Collect(ch chan<- prometheus.Metric) {
	r := c.reloads()
	ch <- counter(reloadsDesc, r.Applied, "applied")
	ch <- counter(reloadsDesc, r.Refused, "refused")
	successful := 0
	if r.LastSuccessful {
		successful = 1
	}
	ch <- gauge(lastSuccessfulDesc, successful)
	ch <- prometheus.MustNewConstMetric(lastSuccessDesc, prometheus.GaugeValue, float64(r.LastSuccess.UnixMilli())/1000)
}
