package admin

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/ferry/internal/certs"
)

var (
	certificateReloadsDesc = desc("ferry_certificate_reloads_total", "Times that a changed certificate file was read, by result: success or error.", "kind", "file", "result")
	certificateExpiryDesc  = desc("ferry_certificate_expiry_timestamp_seconds", "First expiry of the certificates that are in use from a file.", "kind", "file")
)

// certificateCollector collects the metrics of certificate files.
type certificateCollector struct{ snapshot func() []certs.Stats }

// Describe sends no descriptions: which files there are depends on the configuration, which can change.
func (c certificateCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of each file.
func (c certificateCollector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range c.snapshot() {
		kind := s.Role.String()
		ch <- counter(certificateReloadsDesc, uint64(s.Reloads), kind, s.File, "success")
		ch <- counter(certificateReloadsDesc, uint64(s.Failures), kind, s.File, "error")
		ch <- prometheus.MustNewConstMetric(certificateExpiryDesc, prometheus.GaugeValue, float64(s.Expiry.Unix()), validLabels([]string{kind, s.File})...)
	}
}
