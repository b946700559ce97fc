// Package mqttmessage maps what MQTT says of a message to the entries of a PUB, and back.
package mqttmessage

import (
	"encoding/binary"

	"example.com/ferry/protocol/mqtt"
	"example.com/ferry/protocol/native"
)

// Entry is what MQTT says of a message beside topic and payload. It is the value of native.TLVMQTT: a byte of flags, the publisher if
// there is one, and the properties as MQTT 5 encodes them, without their length.
type Entry struct {
	Known      bool // the message has an entry: it came by MQTT
	QoS        byte // with which it was published
	Retain     bool // it was published as the retained message of its topic
	Publisher  uint64
	Properties mqtt.Properties // those of a PUBLISH that receivers get
}

// Bits of the flags.
const (
	qosBits       = 0x03
	retainBit     = 0x04
	publisherBit  = 0x08
	publisherSize = 8
)

// MaxProperties is the most bytes of properties that a message keeps. The rest of native.MaxPubExtension is for other entries.
const MaxProperties = 800

// AppendEntry appends e to the extension of a message. e.Properties has at most MaxProperties bytes.
func AppendEntry(extension []byte, e Entry) []byte {
	flags, n := e.QoS, 1+len(e.Properties)
	if e.Retain {
		flags |= retainBit
	}
	if e.Publisher != 0 {
		flags |= publisherBit
		n += publisherSize
	}
	extension = append(extension, byte(native.TLVMQTT), byte(n>>8), byte(n), flags)
	if e.Publisher != 0 {
		extension = binary.BigEndian.AppendUint64(extension, e.Publisher)
	}
	return append(extension, e.Properties...)
}

// EntryOf returns the entry of an extension, as views. Any client can write an extension: properties that are malformed are left out.
func EntryOf(extension []byte) (e Entry) {
	if len(extension) == 0 {
		return e
	}
	value, ok := native.Entry(extension, native.TLVMQTT)
	if !ok || len(value) == 0 || value[0]&qosBits > 2 {
		return e
	}
	flags := value[0]
	value = value[1:]
	e.Known, e.QoS, e.Retain = true, flags&qosBits, flags&retainBit != 0
	if flags&publisherBit != 0 {
		if len(value) < publisherSize {
			return e
		}
		e.Publisher = binary.BigEndian.Uint64(value)
		value = value[publisherSize:]
	}
	if len(value) > 0 && mqtt.CheckProperties(mqtt.Publish, value) == nil {
		e.Properties = Kept(nil, value)
	}
	return e
}

// Kept returns the properties of a PUBLISH that its receivers get: not those of the connection. It appends them to dst if it has to
// leave one out, and returns ps otherwise.
func Kept(dst, ps mqtt.Properties) mqtt.Properties {
	if _, alias := ps.Uint(mqtt.TopicAlias); !alias {
		if _, id := ps.Uint(mqtt.SubscriptionIdentifier); !id {
			return ps
		}
	}
	for p := range ps.All() {
		if p.ID != mqtt.TopicAlias && p.ID != mqtt.SubscriptionIdentifier {
			dst = mqtt.AppendProperty(dst, p)
		}
	}
	return dst
}
