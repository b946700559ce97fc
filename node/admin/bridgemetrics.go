package admin

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/ferry/stream/mqtt/bridge"
)

var (
	bridgeConnectedDesc = desc("ferry_bridge_connected", "1 while a bridge to another MQTT broker is connected.", "bridge")
	bridgeConnectsDesc  = desc("ferry_bridge_connects_total", "Connections that a bridge has made.", "bridge")
	bridgeSentDesc      = desc("ferry_bridge_sent_total", "Messages that the other broker has confirmed.", "bridge")
	bridgeReceivedDesc  = desc("ferry_bridge_received_total", "Messages of the other broker that were published on this node.", "bridge")
	bridgeRefusedDesc   = desc("ferry_bridge_refused_total", "Messages that the other broker does not take.", "bridge")
	bridgeReturnedDesc  = desc("ferry_bridge_returned_total", "Messages that a bridge has left out because they had been on the other side before.", "bridge")
	bridgeDroppedDesc   = desc("ferry_bridge_dropped_total", "Messages that a bridge has not passed on.", "bridge", "reason")
	bridgeMemoryDesc    = desc("ferry_bridge_memory_bytes", "Bytes of messages in memory that the other broker has not confirmed.", "bridge")
	bridgeSpoolingDesc  = desc("ferry_bridge_spooling", "1 while new messages to the other broker go to the spool on disk.", "bridge")
	bridgeSpooledDesc   = desc("ferry_bridge_spooled_total", "Messages that a bridge has written to its spool.", "bridge")
	bridgeSpoolDesc     = desc("ferry_bridge_spool_bytes", "Bytes of the spool's messages that the other broker has not confirmed.", "bridge")
	bridgeSpoolMaxDesc  = desc("ferry_bridge_spool_max_bytes", "Bound of the spool's files.", "bridge")
	bridgeLostDesc      = desc("ferry_bridge_spool_lost_total", "Messages of the spool that were lost because a file was damaged.", "bridge")
)

// bridgeCollector collects the metrics of the bridges to other MQTT brokers.
type bridgeCollector struct{ bridges func() []bridge.Stats }

// Describe sends no descriptions: which metrics there are depends on the bridges.
func (c bridgeCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of each bridge.
func (c bridgeCollector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range c.bridges() {
		ch <- gauge(bridgeConnectedDesc, boolToInt(s.Connected), s.Name)
		ch <- counter(bridgeConnectsDesc, s.Connects, s.Name)
		ch <- counter(bridgeSentDesc, s.Sent, s.Name)
		ch <- counter(bridgeReceivedDesc, s.Received, s.Name)
		ch <- counter(bridgeRefusedDesc, s.Refused, s.Name)
		ch <- counter(bridgeReturnedDesc, s.Returned, s.Name)
		for reason, n := range s.Dropped {
			ch <- counter(bridgeDroppedDesc, n, s.Name, reason)
		}
		ch <- gauge(bridgeMemoryDesc, s.WaitingBytes, s.Name)
		ch <- gauge(bridgeSpoolingDesc, boolToInt(s.Spooling), s.Name)
		ch <- counter(bridgeSpooledDesc, s.Spooled, s.Name)
		ch <- bytesGauge(bridgeSpoolDesc, s.Spool.Bytes, s.Name)
		ch <- bytesGauge(bridgeSpoolMaxDesc, s.Spool.MaxBytes, s.Name)
		ch <- counter(bridgeLostDesc, s.Spool.Lost, s.Name)
	}
}
