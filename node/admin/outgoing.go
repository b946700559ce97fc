package admin

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/ferry/link/spool"
)

// outgoingDescs are the metrics that links to other nodes and bridges to other MQTT brokers have in common.
type outgoingDescs struct {
	connected, connects, confirmed, refused, returned, dropped *prometheus.Desc
	memory, spooling, spooled, spool, spoolMax, spoolLost      *prometheus.Desc
}

// outgoingState is the state of a link or bridge at one moment.
type outgoingState struct {
	name                                   string
	connected, spooling                    bool
	connects, confirmed, refused, returned uint64
	dropped                                map[string]uint64
	memory                                 int
	spooled                                uint64
	spool                                  spool.Stats
}

// collect sends the metrics of a link or bridge.
func (d *outgoingDescs) collect(ch chan<- prometheus.Metric, s *outgoingState) {
	ch <- gauge(d.connected, boolToInt(s.connected), s.name)
	ch <- counter(d.connects, s.connects, s.name)
	ch <- counter(d.confirmed, s.confirmed, s.name)
	ch <- counter(d.refused, s.refused, s.name)
	ch <- counter(d.returned, s.returned, s.name)
	for reason, n := range s.dropped {
		ch <- counter(d.dropped, n, s.name, reason)
	}
	ch <- gauge(d.memory, s.memory, s.name)
	ch <- gauge(d.spooling, boolToInt(s.spooling), s.name)
	ch <- counter(d.spooled, s.spooled, s.name)
	ch <- bytesGauge(d.spool, s.spool.Bytes, s.name)
	ch <- bytesGauge(d.spoolMax, s.spool.MaxBytes, s.name)
	ch <- counter(d.spoolLost, s.spool.Lost, s.name)
}

// bytesGauge is a gauge of more bytes than an int may hold.
func bytesGauge(d *prometheus.Desc, n int64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), validLabels(labels)...)
}
