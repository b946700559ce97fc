package admin

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/ferry/link/mqttbridge"
)

var (
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
		spool:     desc("ferry_bridge_spool_bytes", "Bytes of the spool's messages that the other broker has not confirmed.", "bridge"),
		spoolMax:  desc("ferry_bridge_spool_max_bytes", "Bound of the spool's files.", "bridge"),
		spoolLost: desc("ferry_bridge_spool_lost_total", "Messages of the spool that were lost because a file was damaged.", "bridge"),
	}
	bridgeReceivedDesc = desc("ferry_bridge_received_total", "Messages of the other broker that were published on this node.", "bridge")
)

// bridgeCollector collects the metrics of the bridges to other MQTT brokers.
type bridgeCollector struct{ bridges func() []mqttbridge.Stats }

// Describe sends no descriptions: which metrics there are depends on the bridges.
func (c bridgeCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of each bridge.
func (c bridgeCollector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range c.bridges() {
		bridgeDescs.collect(ch, &outgoingState{
			name: s.Name, connected: s.Connected, connects: s.Connects, confirmed: s.Sent, refused: s.Refused, returned: s.Returned,
			dropped: s.Dropped, memory: s.WaitingBytes, spooling: s.Spooling, spooled: s.Spooled, spool: s.Spool,
		})
		ch <- counter(bridgeReceivedDesc, s.Received, s.Name)
	}
}
