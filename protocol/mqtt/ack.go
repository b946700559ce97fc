package mqtt

import "encoding/binary"

// AckPacket is a PUBACK, PUBREC, PUBREL or PUBCOMP, as Kind says. Sections 3.4 to 3.7. Properties is a view.
type AckPacket struct {
	Kind       Kind
	ID         uint16
	Code       ReasonCode // 3.1.1 has only Success
	Properties Properties
}

// ParseAck reads a PUBACK, PUBREC, PUBREL or PUBCOMP.
func ParseAck(p Packet) (AckPacket, error) {
	r := bodyReader{b: p.Body, kind: p.Kind}
	a := AckPacket{Kind: p.Kind, ID: r.id()}
	if p.Version == V5 {
		a.Code, a.Properties, _ = r.reason(p.FromServer)
	}
	return a, r.end()
}

// AppendAck appends a PUBACK, PUBREC, PUBREL or PUBCOMP. In 3.1.1 it has neither Code nor Properties.
func AppendAck(dst []byte, v Version, a AckPacket) []byte {
	length := 2
	if v == V5 {
		length += reasonSize(a.Code, a.Properties)
	}
	dst = binary.BigEndian.AppendUint16(appendHeader(dst, a.Kind, length), a.ID)
	if v == V5 {
		dst = appendReason(dst, a.Code, a.Properties)
	}
	return dst
}

// appendReason appends the end of a packet: code and properties, each of which is left out if it and what follows are 0.
// Sections 3.4.2, 3.14.2 and 3.15.2.
func appendReason(dst []byte, code ReasonCode, ps Properties) []byte {
	if code != Success || len(ps) > 0 {
		dst = append(dst, byte(code))
	}
	if len(ps) > 0 {
		dst = appendProperties(dst, ps)
	}
	return dst
}

// reasonSize returns the number of bytes that appendReason appends.
func reasonSize(code ReasonCode, ps Properties) int {
	switch {
	case len(ps) > 0:
		return 1 + propertiesSize(ps)
	case code != Success:
		return 1
	}
	return 0
}
