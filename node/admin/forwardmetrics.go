package admin

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/ferry/stream/forward"
)

var (
	forwardConnectedDesc = desc("ferry_forward_connected", "1 while a link to another node is connected.", "link")
	forwardConnectsDesc  = desc("ferry_forward_connects_total", "Connections that a link has made.", "link")
	forwardedDesc        = desc("ferry_forward_messages_total", "Messages that the other node has confirmed.", "link")
	forwardRefusedDesc   = desc("ferry_forward_refused_total", "Messages that the other node has dropped, or whose tag it does not take.", "link")
	forwardReturnedDesc  = desc("ferry_forward_returned_total", "Messages that a link has left out because they have come from the other node.", "link")
	forwardDroppedDesc   = desc("ferry_forward_dropped_total", "Messages that a link has not forwarded.", "link", "reason")
	forwardTagsDesc      = desc("ferry_forward_tags", "Tags that a link has requested of the other node.", "link")
	forwardMemoryDesc    = desc("ferry_forward_memory_bytes", "Bytes of messages in memory that the other node has not confirmed.", "link")
	forwardSpoolingDesc  = desc("ferry_forward_spooling", "1 while new messages go to the spool on disk.", "link")
	forwardSpooledDesc   = desc("ferry_forward_spooled_total", "Messages that a link has written to its spool.", "link")
	forwardSpoolDesc     = desc("ferry_forward_spool_bytes", "Bytes of the spool's records that the other node has not confirmed.", "link")
	forwardSpoolMaxDesc  = desc("ferry_forward_spool_max_bytes", "Bound of the spool's files.", "link")
	forwardLostDesc      = desc("ferry_forward_spool_lost_total", "Records of the spool that were lost because a file was damaged.", "link")
)

// forwardCollector collects the metrics of the links to other nodes.
type forwardCollector struct{ links func() []forward.Stats }

// Describe sends no descriptions: which metrics there are depends on the links.
func (c forwardCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of each link.
func (c forwardCollector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range c.links() {
		ch <- gauge(forwardConnectedDesc, boolToInt(s.Connected), s.Name)
		ch <- counter(forwardConnectsDesc, s.Connects, s.Name)
		ch <- counter(forwardedDesc, s.Forwarded, s.Name)
		ch <- counter(forwardRefusedDesc, s.Refused, s.Name)
		ch <- counter(forwardReturnedDesc, s.Returned, s.Name)
		for reason, n := range s.Dropped {
			ch <- counter(forwardDroppedDesc, n, s.Name, reason)
		}
		ch <- gauge(forwardTagsDesc, s.Tags, s.Name)
		ch <- gauge(forwardMemoryDesc, s.WaitingBytes, s.Name)
		ch <- gauge(forwardSpoolingDesc, boolToInt(s.Spooling), s.Name)
		ch <- counter(forwardSpooledDesc, s.Spooled, s.Name)
		ch <- bytesGauge(forwardSpoolDesc, s.Spool.Bytes, s.Name)
		ch <- bytesGauge(forwardSpoolMaxDesc, s.Spool.MaxBytes, s.Name)
		ch <- counter(forwardLostDesc, s.Spool.Lost, s.Name)
	}
}

// bytesGauge is a gauge of more bytes than an int may hold.
func bytesGauge(d *prometheus.Desc, n int64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), validLabels(labels)...)
}
