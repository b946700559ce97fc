package mqtt

// DisconnectPacket is the last packet of a connection. Section 3.14. Properties is a view. In 3.1.1 it is empty.
type DisconnectPacket struct {
	Code       ReasonCode
	Properties Properties
}

// ParseDisconnect reads a DISCONNECT.
func ParseDisconnect(p Packet) (DisconnectPacket, error) {
	r := bodyReader{b: p.Body, kind: Disconnect}
	var d DisconnectPacket
	if p.Version == V5 {
		d.Code, d.Properties, _ = r.reason(p.FromServer)
		if d.Code == DisconnectWithWill && p.FromServer { // section 3.14.2.1
			r.fail(ProtocolError, "servers do not send reason code 0x04")
		}
	}
	return d, r.end()
}

// AppendDisconnect appends a DISCONNECT. In 3.1.1 it has neither Code nor Properties, and only clients send it.
func AppendDisconnect(dst []byte, v Version, d DisconnectPacket) []byte {
	if v != V5 {
		return appendHeader(dst, Disconnect, 0)
	}
	return appendReason(appendHeader(dst, Disconnect, reasonSize(d.Code, d.Properties)), d.Code, d.Properties)
}

// AuthPacket is a step of an extended authentication. Section 3.15. Properties is a view.
type AuthPacket struct {
	Code       ReasonCode
	Properties Properties
}

// ParseAuth reads an AUTH.
func ParseAuth(p Packet) (AuthPacket, error) {
	r := bodyReader{b: p.Body, kind: Auth}
	var a AuthPacket
	var seen propertySet
	a.Code, a.Properties, seen = r.reason(p.FromServer)
	if len(p.Body) > 0 && !seen.has(AuthenticationMethod) { // section 3.15.2.2.2
		r.fail(ProtocolError, "there is no %v", AuthenticationMethod)
	}
	return a, r.end()
}

// AppendAuth appends an AUTH.
func AppendAuth(dst []byte, a AuthPacket) []byte {
	return appendReason(appendHeader(dst, Auth, reasonSize(a.Code, a.Properties)), a.Code, a.Properties)
}

// reason reads the end of a packet: code and properties, which may be left out.
func (r *bodyReader) reason(fromServer bool) (code ReasonCode, ps Properties, seen propertySet) {
	if len(r.b) == 0 {
		return Success, nil, 0
	}
	if code = ReasonCode(r.u8("reason code")); !code.allowedIn(r.kind) {
		r.fail(ProtocolError, "reason code 0x%02x", uint8(code))
	}
	if len(r.b) > 0 {
		ps, seen = r.properties(1<<r.kind, fromServer)
	}
	return code, ps, seen
}

// AppendPingreq appends a PINGREQ. Section 3.12.
func AppendPingreq(dst []byte) []byte { return appendHeader(dst, Pingreq, 0) }

// AppendPingresp appends a PINGRESP. Section 3.13.
func AppendPingresp(dst []byte) []byte { return appendHeader(dst, Pingresp, 0) }
