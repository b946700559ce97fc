package admin

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/ferry/link"
	"example.com/ferry/link/forward"
	"example.com/ferry/link/mqttbridge"
)

// outgoingDescs are the metrics that links to other nodes and bridges to other MQTT brokers have in common.
type outgoingDescs struct {
	connected, connects, confirmed, refused, returned, dropped *prometheus.Desc
	memory, spooling, spooled, spool, spoolMax, spoolLost      *prometheus.Desc
}

var (
	forwardDescs = outgoingDescs{
		connected: desc("ferry_forward_connected", "1 while a link to another node is connected.", "link"),
		connects:  desc("ferry_forward_connects_total", "Connections that a link has made.", "link"),
		confirmed: desc("ferry_forward_messages_total", "Messages that the other node has confirmed.", "link"),
		refused:   desc("ferry_forward_refused_total", "Messages that the other node has dropped, or whose tag it does not take.", "link"),
		returned:  desc("ferry_forward_returned_total", "Messages that a link has left out because they have come from the other node.", "link"),
		dropped:   desc("ferry_forward_dropped_total", "Messages that a link has not forwarded.", "link", "reason"),
		memory:    desc("ferry_forward_memory_bytes", "Bytes of messages in memory that the other node has not confirmed.", "link"),
		spooling:  desc("ferry_forward_spooling", "1 while new messages go to the spool on disk.", "link"),
		spooled:   desc("ferry_forward_spooled_total", "Messages that a link has written to its spool.", "link"),
		spool:     desc("ferry_forward_spool_bytes", "Bytes of the spool's records that the other node has not confirmed.", "link"),
		spoolMax:  desc("ferry_forward_spool_max_bytes", "Bound of the spool's files.", "link"),
		spoolLost: desc("ferry_forward_spool_lost_total", "Records of the spool that were lost because a file was damaged.", "link"),
	}
	forwardTagsDesc = desc("ferry_forward_tags", "Tags that a link has requested of the other node.", "link")

	bridgeDescs = outgoingDescs{
		connected: desc("ferry_bridge_connected", "1 while a bridge to another MQTT broker is connected.", "bridge"),
		connects:  desc("ferry_bridge_connects_total", "Connections that a bridge has made.", "bridge"),
		confirmed: desc("ferry_bridge_sent_total", "Messages that the other broker has confirmed.", "bridge"),
		refused:   desc("ferry_bridge_refused_total", "Messages that the other broker does not take.", "bridge"),
		returned:  desc("ferry_bridge_returned_total", "Messages that a bridge has left out because they had been on the other side before.", "bridge"),
		dropped:   desc("ferry_bridge_dropped_total", "Messages that a bridge has not passed on.", "bridge", "reason"),
		memory:    desc("ferry_bridge_memory_bytes", "Bytes of messages in memory that the other broker has not confirmed.", "bridge"),
		spooling:  desc("ferry_bridge_spooling", "1 while new messages to the other broker go to the spool on disk.", "bridge"),
		spooled:   desc("ferry_bridge_spooled_total", "Messages that a bridge has written to its spool.", "bridge"),
		spool:     desc("ferry_bridge_spool_bytes", "Bytes of the spool's records that the other broker has not confirmed.", "bridge"),
		spoolMax:  desc("ferry_bridge_spool_max_bytes", "Bound of the spool's files.", "bridge"),
		spoolLost: desc("ferry_bridge_spool_lost_total", "Records of the spool that were lost because a file was damaged.", "bridge"),
	}
	bridgeReceivedDesc = desc("ferry_bridge_received_total", "Messages of the other broker that were published on this node.", "bridge")
)

// collect sends the metrics of a link or bridge.
func (d *outgoingDescs) collect(ch chan<- prometheus.Metric, s *link.Stats) {
	ch <- gauge(d.connected, boolToInt(s.Connected), s.Name)
	ch <- counter(d.connects, s.Connects, s.Name)
	ch <- counter(d.confirmed, s.Confirmed, s.Name)
	ch <- counter(d.refused, s.Refused, s.Name)
	ch <- counter(d.returned, s.Returned, s.Name)
	for reason, n := range s.Dropped {
		ch <- counter(d.dropped, n, s.Name, reason)
	}
	ch <- gauge(d.memory, s.WaitingBytes, s.Name)
	ch <- gauge(d.spooling, boolToInt(s.Spooling), s.Name)
	ch <- counter(d.spooled, s.Spooled, s.Name)
	ch <- bytesGauge(d.spool, s.Spool.Bytes, s.Name)
	ch <- bytesGauge(d.spoolMax, s.Spool.MaxBytes, s.Name)
	ch <- counter(d.spoolLost, s.Spool.Lost, s.Name)
}

// bytesGauge is a gauge of more bytes than an int may hold.
func bytesGauge(d *prometheus.Desc, n int64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), validLabels(labels)...)
}

// outgoingCollector collects the metrics of the links to other nodes, and of the bridges to other MQTT brokers. Each may be nil.
type outgoingCollector struct {
	links   func() []forward.Stats
	bridges func() []mqttbridge.Stats
}

// Describe sends no descriptions: which metrics there are depends on the links and bridges.
func (c outgoingCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of each link and bridge.
func (c outgoingCollector) Collect(ch chan<- prometheus.Metric) {
	if c.links != nil {
		for _, s := range c.links() {
			forwardDescs.collect(ch, &s.Stats)
			ch <- gauge(forwardTagsDesc, s.Tags, s.Name)
		}
	}
	if c.bridges != nil {
		for _, s := range c.bridges() {
			bridgeDescs.collect(ch, &s.Stats)
			ch <- counter(bridgeReceivedDesc, s.Received, s.Name)
		}
	}
}
