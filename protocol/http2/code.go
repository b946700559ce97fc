package http2

import "fmt"

// Code is an error code of RST_STREAM and GOAWAY. RFC 9113, section 7.
type Code uint32

// The error codes. RFC 9113, section 7.
const (
	NoError            Code = 0x0
	ProtocolError      Code = 0x1
	InternalError      Code = 0x2
	FlowControlError   Code = 0x3
	SettingsTimeout    Code = 0x4
	StreamClosed       Code = 0x5
	FrameSizeError     Code = 0x6
	RefusedStream      Code = 0x7
	Cancel             Code = 0x8
	CompressionError   Code = 0x9
	ConnectError       Code = 0xa
	EnhanceYourCalm    Code = 0xb
	InadequateSecurity Code = 0xc
	HTTP11Required     Code = 0xd
)

var codeNames = [...]string{
	"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED", "FRAME_SIZE_ERROR",
	"REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
}

// String returns the name of RFC 9113, such as PROTOCOL_ERROR. An unknown code is written as a number.
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return fmt.Sprintf("code %#x", uint32(c))
}

// ConnError is an error that ends a connection. RFC 9113, section 5.4.1.
type ConnError struct {
	Code   Code
	Reason string // one sentence; it quotes no field value
	Abuse  Abuse  // the exhausted budget; NoAbuse for all other errors
}

func (e *ConnError) Error() string {
	return fmt.Sprintf("http2: %s: %s: close the connection", e.Code, e.Reason)
}

// StreamError says why a stream ended before both sides were complete. RFC 9113, section 5.4.2.
type StreamError struct {
	Code    Code
	Reason  string // one sentence; empty if the peer sent the code
	Remote  bool   // the peer sent the code, in RST_STREAM or GOAWAY
	Refused bool   // the peer has not processed the request, so a retry is safe; RFC 9113, section 8.7
}

func (e StreamError) Error() string {
	side := "this side reset the stream"
	if e.Remote {
		side = "the peer reset the stream"
	}
	if e.Reason == "" {
		return fmt.Sprintf("http2: %s with %s", side, e.Code)
	}
	return fmt.Sprintf("http2: %s with %s: %s", side, e.Code, e.Reason)
}
