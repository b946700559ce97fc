package mqttbridge

import (
	"strings"

	"github.com/eclipse/paho.golang/paho"

	"example.com/ferry/internal/mqttmessage"
	"example.com/ferry/protocol/mqtt"
	"example.com/ferry/protocol/native"
)

// PathProperty is the user property with the ids of the nodes that a message has passed, which a slash separates. A bridge drops what
// has passed its own node, so that a message does not go in a circle of nodes and brokers.
const PathProperty = "ferry-path"

// pathOf returns the path in the properties of a message, as a view.
func pathOf(ps mqtt.Properties) []byte {
	for p := range ps.All() {
		if p.ID == mqtt.UserProperty && string(p.Name) == PathProperty {
			return p.Text
		}
	}
	return nil
}

// hasPassed reports whether a message with a path has passed a node, or as many as a path may have.
func hasPassed(path, node string) bool {
	if path == "" {
		return false
	}
	hops := 0
	for one := range strings.SplitSeq(path, "/") {
		if hops++; one == node {
			return true
		}
	}
	return hops >= native.MaxHops
}

// joinPaths returns the nodes of all paths.
func joinPaths(paths ...string) string {
	all := paths[:0]
	for _, p := range paths {
		if p != "" {
			all = append(all, p)
		}
	}
	return strings.Join(all, "/")
}

// publishOf returns the PUBLISH of a message. Its payload is a view.
func publishOf(m *item, prefix, node string) *paho.Publish {
	e := mqttmessage.EntryOf(m.extension)
	to := &paho.PublishProperties{}
	for p := range e.Properties.All() {
		switch p.ID {
		case mqtt.PayloadFormatIndicator:
			to.PayloadFormat = paho.Byte(byte(p.Uint))
		case mqtt.MessageExpiryInterval:
			to.MessageExpiry = paho.Uint32(p.Uint)
		case mqtt.ContentType:
			to.ContentType = string(p.Text)
		case mqtt.ResponseTopic:
			to.ResponseTopic = string(p.Text)
		case mqtt.CorrelationData:
			to.CorrelationData = append([]byte(nil), p.Text...)
		case mqtt.UserProperty:
			if string(p.Name) != PathProperty {
				to.User.Add(string(p.Name), string(p.Text))
			}
		}
	}
	to.User.Add(PathProperty, joinPaths(string(pathOf(e.Properties)), m.path, node))
	return &paho.Publish{QoS: 1, Retain: e.Retain, Topic: prefix + m.tag, Payload: m.payload, Properties: to}
}

// entryOf returns what a message of the other broker says beside topic and payload.
func entryOf(p *paho.Publish) mqttmessage.Entry {
	e := mqttmessage.Entry{Known: true, QoS: p.QoS, Retain: p.Retain}
	from := p.Properties
	if from == nil {
		return e
	}
	if from.PayloadFormat != nil {
		e.Properties = mqtt.AppendUint(e.Properties, mqtt.PayloadFormatIndicator, uint32(*from.PayloadFormat))
	}
	if from.MessageExpiry != nil {
		e.Properties = mqtt.AppendUint(e.Properties, mqtt.MessageExpiryInterval, *from.MessageExpiry)
	}
	if from.ContentType != "" {
		e.Properties = mqtt.AppendText(e.Properties, mqtt.ContentType, from.ContentType)
	}
	if from.ResponseTopic != "" {
		e.Properties = mqtt.AppendText(e.Properties, mqtt.ResponseTopic, from.ResponseTopic)
	}
	if from.CorrelationData != nil {
		e.Properties = mqtt.AppendText(e.Properties, mqtt.CorrelationData, from.CorrelationData)
	}
	for _, u := range from.User {
		e.Properties = mqtt.AppendUser(e.Properties, u.Key, u.Value)
	}
	return e
}
