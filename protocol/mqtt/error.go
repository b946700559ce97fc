package mqtt

import "fmt"

// Error is a violation of the standard.
type Error struct {
	Code ReasonCode // what the receiver sends, in 5.0
	Kind Kind       // the kind of the packet; 0 if it is unknown

	// Close says that the connection must end. Otherwise Code goes into the acknowledgement of the packet.
	Close  bool
	Reason string // one sentence for the operator
}

func (e *Error) Error() string {
	if e.Kind == 0 {
		return fmt.Sprintf("mqtt: %v: %s", e.Code, e.Reason)
	}
	return fmt.Sprintf("mqtt: %v: %v: %s", e.Kind, e.Code, e.Reason)
}

// AppendResponse appends what a server sends before it closes the connection: CONNACK if the client is not connected yet,
// DISCONNECT otherwise. It appends nothing where the version has no packet for it. v is the version in the CONNECT, 0 if there
// was none. Without a Reason the packet has no Reason String, and 5 bytes at most.
func (e *Error) AppendResponse(dst []byte, v Version, connected bool) []byte {
	switch {
	case v == 0, connected && v != V5:
		return dst
	case connected:
		code := e.Code
		if !code.allowedIn(Disconnect) {
			code = ProtocolError
		}
		return AppendDisconnect(dst, v, DisconnectPacket{Code: code, Properties: e.properties()})
	case v == V5:
		code := e.Code
		if !code.allowedIn(Connack) {
			code = ProtocolError
		}
		return AppendConnack(dst, v, &ConnackPacket{Code: code, Properties: e.properties()})
	case e.Code == UnsupportedProtocolVersion, e.Code == ClientIdentifierNotValid: // the only ones of 3.1.1 that a packet alone decides
		return AppendConnack(dst, v, &ConnackPacket{Code: e.Code})
	}
	return dst
}

func (e *Error) properties() Properties {
	if e.Reason == "" {
		return nil
	}
	return AppendText(nil, ReasonString, e.Reason)
}

func violation(k Kind, code ReasonCode, format string, args ...any) *Error {
	return &Error{Code: code, Kind: k, Close: true, Reason: fmt.Sprintf(format, args...)}
}
