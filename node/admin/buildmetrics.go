package admin

import "github.com/prometheus/client_golang/prometheus"

var buildDesc = desc("ferry_build_info", "1, with the version of the program.", "version")

// buildCollector collects the version of the program.
type buildCollector struct{ version string }

// Describe sends the description.
func (c buildCollector) Describe(ch chan<- *prometheus.Desc) { ch <- buildDesc }

// Collect sends the metric.
func (c buildCollector) Collect(ch chan<- prometheus.Metric) { ch <- gauge(buildDesc, 1, c.version) }
