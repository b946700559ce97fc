package admin

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/ferry/link/forward"
)

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
)

// forwardCollector collects the metrics of the links to other nodes.
type forwardCollector struct{ links func() []forward.Stats }

// Describe sends no descriptions: which metrics there are depends on the links.
func (c forwardCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of each link.
func (c forwardCollector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range c.links() {
		forwardDescs.collect(ch, &outgoingState{
			name: s.Name, connected: s.Connected, connects: s.Connects, confirmed: s.Forwarded, refused: s.Refused, returned: s.Returned,
			dropped: s.Dropped, memory: s.WaitingBytes, spooling: s.Spooling, spooled: s.Spooled, spool: s.Spool,
		})
		ch <- gauge(forwardTagsDesc, s.Tags, s.Name)
	}
}
