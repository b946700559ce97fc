package mqtt

// ConnackPacket is the response to CONNECT. Section 3.2. Properties is a view.
type ConnackPacket struct {
	SessionPresent bool
	Code           ReasonCode // in 3.1.1, the code of 5.0 for the return code
	Properties     Properties
}

// ParseConnack reads a CONNACK. A server that speaks only 3.1.1 refuses a CONNECT of 5.0 by a CONNACK of 3.1.1: then Code is
// UnsupportedProtocolVersion.
func ParseConnack(p Packet) (ConnackPacket, error) {
	if p.Version == V5 && string(p.Body) == "\x00\x01" { // MQTT 3.1.1, section 3.2.2.3
		p.Version = V311
	}
	r := bodyReader{b: p.Body, kind: Connack}
	flags, code := r.u8("flags"), r.u8("reason code")
	c := ConnackPacket{SessionPresent: flags&1 != 0, Code: ReasonCode(code)}
	switch {
	case p.Version == V5:
		c.Properties, _ = r.properties(inConnack, p.FromServer)
		if !c.Code.allowedIn(Connack) {
			r.fail(ProtocolError, "reason code 0x%02x", code)
		}
	case int(code) < len(returnCodes):
		c.Code = returnCodes[code]
	default:
		r.fail(MalformedPacket, "return code %d", code)
	}
	switch {
	case flags > 1:
		r.fail(MalformedPacket, "flags %08b: the upper seven are reserved", flags)
	case c.SessionPresent && c.Code != Success: // section 3.2.2.1.1
		r.fail(ProtocolError, "a session is present after a failure")
	}
	return c, r.end()
}

// AppendConnack appends a CONNACK. In 3.1.1 it has Code.Return() and no properties.
func AppendConnack(dst []byte, v Version, c *ConnackPacket) []byte {
	var flags byte
	if c.SessionPresent {
		flags = 1
	}
	if v != V5 {
		return append(appendHeader(dst, Connack, 2), flags, c.Code.Return())
	}
	dst = append(appendHeader(dst, Connack, 2+propertiesSize(c.Properties)), flags, byte(c.Code))
	return appendProperties(dst, c.Properties)
}
