package admin

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Vitals are what all parts of the node depend on. Counters count from the start of the node.
type Vitals struct {
	Stalls           uint64        // times the process stood still
	Stalled          time.Duration // how long in all
	ClockJumps       uint64        // steps of the clock
	Shortages        uint64        // times few descriptors were left
	DescriptorsShort bool          // few are left now
}

var (
	stallsDesc       = desc("ferry_stalls_total", "Times the process stood still for 3 s or more, because it was stopped or got no time.")
	stalledDesc      = desc("ferry_stalled_seconds_total", "Time for which the process stood still.")
	clockJumpsDesc   = desc("ferry_clock_jumps_total", "Steps of the system's clock by 2 s or more.")
	shortagesDesc    = desc("ferry_descriptor_shortages_total", "Times so few descriptors were left that new connections had to wait.")
	descriptorsShort = desc("ferry_descriptors_short", "1 while new connections wait because few descriptors are left.")
)

// vitalsCollector collects Vitals.
type vitalsCollector struct{ load func() Vitals }

// Describe sends the descriptions.
func (c vitalsCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{stallsDesc, stalledDesc, clockJumpsDesc, shortagesDesc, descriptorsShort} {
		ch <- d
	}
}

// Collect sends the metrics.
func (c vitalsCollector) Collect(ch chan<- prometheus.Metric) {
	v := c.load()
	ch <- counter(stallsDesc, v.Stalls)
	ch <- prometheus.MustNewConstMetric(stalledDesc, prometheus.CounterValue, v.Stalled.Seconds())
	ch <- counter(clockJumpsDesc, v.ClockJumps)
	ch <- counter(shortagesDesc, v.Shortages)
	ch <- gauge(descriptorsShort, boolToInt(v.DescriptorsShort))
}
