package mqtt

import (
	"encoding/binary"
	"slices"
)

// Flags of PUBLISH. Section 3.3.1.
const (
	flagRetain = 0x01
	flagDup    = 0x08
)

// PublishPacket is one message. Section 3.3. Its slices are views.
type PublishPacket struct {
	QoS        byte   // 0, 1 or 2
	Dup        bool   // the packet was sent before
	Retain     bool   // client: keep the message for later subscriptions; server: the message was kept
	ID         uint16 // packet identifier, with QoS 1 and 2
	Topic      []byte // empty only if Properties has a TopicAlias
	Properties Properties
	Payload    []byte
}

// ParsePublish reads a PUBLISH. The topic is valid and has no wildcards.
func ParsePublish(p Packet) (m PublishPacket, err error) {
	b := p.Body
	m.QoS, m.Dup, m.Retain = p.Flags>>1&3, p.Flags&flagDup != 0, p.Flags&flagRetain != 0
	topic, n := lengthPrefixed(b)
	if n == 0 {
		return m, violation(Publish, MalformedPacket, "the packet ends within the topic")
	}
	m.Topic, b = topic, b[n:]
	if !plain(topic) || len(topic) == 0 && p.Version != V5 {
		if e := checkTopic(topic); e != nil {
			e.Kind, e.Close = Publish, true
			return m, e
		}
	}
	if m.QoS > 0 {
		if len(b) < 2 {
			return m, violation(Publish, MalformedPacket, "the packet ends before the packet identifier")
		}
		if m.ID = binary.BigEndian.Uint16(b); m.ID == 0 {
			return m, violation(Publish, ProtocolError, "the packet identifier is 0")
		}
		b = b[2:]
	}
	if p.Version == V5 {
		if len(topic) > 0 && len(b) > 0 && b[0] == 0 {
			b = b[1:]
		} else {
			r := bodyReader{b: b, kind: Publish}
			var seen propertySet
			if m.Properties, seen = r.properties(inPublish, p.FromServer); r.err != nil {
				return m, r.err
			}
			if len(topic) == 0 && !seen.has(TopicAlias) {
				return m, violation(Publish, ProtocolError, "there is neither a topic nor a %v", TopicAlias)
			}
			b = r.b
		}
	}
	m.Payload = b
	return m, nil
}

// AppendPublish appends a PUBLISH. It returns an *Error if the topic or the packet is too long, or a packet identifier is
// missing.
func AppendPublish(dst []byte, v Version, m *PublishPacket) ([]byte, error) {
	length := m.length(v)
	switch {
	case len(m.Topic) > MaxText:
		return dst, &Error{Code: TopicNameInvalid, Kind: Publish, Reason: "the topic has more than 65535 bytes"}
	case length > maxVarint:
		return dst, &Error{Code: PacketTooLarge, Kind: Publish, Reason: "the packet has more than 268435460 bytes"}
	case m.QoS > 2 || m.QoS > 0 && m.ID == 0:
		return dst, &Error{Code: ProtocolError, Kind: Publish, Reason: "QoS is at most 2, and above 0 it needs a packet identifier"}
	}
	first := byte(Publish)<<4 | m.QoS<<1
	if m.Dup {
		first |= flagDup
	}
	if m.Retain {
		first |= flagRetain
	}
	dst = slices.Grow(dst, 5+length)
	dst = appendPrefixed(appendVarint(append(dst, first), length), m.Topic)
	if m.QoS > 0 {
		dst = binary.BigEndian.AppendUint16(dst, m.ID)
	}
	if v == V5 {
		dst = appendProperties(dst, m.Properties)
	}
	return append(dst, m.Payload...), nil
}

// PublishSize returns the number of bytes that AppendPublish appends.
func PublishSize(v Version, m *PublishPacket) int {
	length := m.length(v)
	return 1 + varintSize(length) + length
}

// length returns the remaining length.
func (m *PublishPacket) length(v Version) int {
	n := 2 + len(m.Topic) + len(m.Payload)
	if m.QoS > 0 {
		n += 2
	}
	if v == V5 {
		n += propertiesSize(m.Properties)
	}
	return n
}
