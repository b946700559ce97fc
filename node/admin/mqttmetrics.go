package admin

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/ferry/edge/mqtt"
)

var (
	mqttConnectionsDesc = desc("ferry_mqtt_connections", "Open connections of a listener for MQTT.", "listener")
	mqttSessionsDesc    = desc("ferry_mqtt_sessions", "MQTT sessions: connected, or waiting for their clients.", "state")
	mqttRetainedDesc    = desc("ferry_mqtt_retained_messages", "Retained MQTT messages.")
	mqttRetainedSize    = desc("ferry_mqtt_retained_bytes", "Bytes of retained MQTT messages.")
	mqttInFlightDesc    = desc("ferry_mqtt_in_flight_messages", "Messages with QoS 1 and 2 that MQTT clients have not acknowledged.")
	mqttInFlightSize    = desc("ferry_mqtt_in_flight_bytes", "Bytes of these messages.")
	mqttMessagesDesc    = desc("ferry_mqtt_messages_total", "MQTT messages by QoS: in from clients, out to clients, without repeated ones.", "qos", "dir")
	mqttRefusedDesc     = desc("ferry_mqtt_refused_total", "Messages of MQTT clients that were refused: forbidden, invalid, or above a limit.")
	mqttConnectsDesc    = desc("ferry_mqtt_refused_connects_total", "Connections of MQTT clients that were refused.")
	mqttDroppedDesc     = desc("ferry_mqtt_dropped_total", "Messages for MQTT clients that were larger than these accept, or had expired.")
	mqttWillsDesc       = desc("ferry_mqtt_wills_total", "Wills that were published.")
)

// mqttCollector collects the metrics of the listeners for MQTT.
type mqttCollector struct{ server func() *mqtt.Server }

// Describe sends no descriptions: which metrics there are depends on the listeners.
func (c mqttCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of all sessions, and of each listener.
func (c mqttCollector) Collect(ch chan<- prometheus.Metric) {
	server := c.server()
	if server == nil {
		return
	}
	s := server.Stats()
	for _, l := range s.Listeners {
		ch <- gauge(mqttConnectionsDesc, l.Connections, l.Address)
	}
	ch <- gauge(mqttSessionsDesc, s.Connected, "connected")
	ch <- gauge(mqttSessionsDesc, max(s.Sessions-s.Connected, 0), "waiting")
	ch <- gauge(mqttRetainedDesc, s.Retained)
	ch <- gauge(mqttRetainedSize, s.RetainedBytes)
	ch <- gauge(mqttInFlightDesc, s.InFlight)
	ch <- gauge(mqttInFlightSize, s.InFlightBytes)
	for qos := range s.Received {
		ch <- counter(mqttMessagesDesc, s.Received[qos], strconv.Itoa(qos), "in")
		ch <- counter(mqttMessagesDesc, s.Sent[qos], strconv.Itoa(qos), "out")
	}
	ch <- counter(mqttRefusedDesc, s.Refused)
	ch <- counter(mqttConnectsDesc, s.RefusedConnects)
	ch <- counter(mqttDroppedDesc, s.Dropped)
	ch <- counter(mqttWillsDesc, s.Wills)
}
