package bolt

import "fmt"

// Dialect is the version of a frame's layout: its first byte, the protocol, and in version 2 its second byte, ver1. A connection
// keeps the Dialect of its first frame, as a server responds in that one, whatever comes later.
type Dialect uint16

// The dialects. Frames of V2CRC end with a CRC-32 if their switch says so.
const (
	V1    Dialect = 0x0100
	V2    Dialect = 0x0201
	V2CRC Dialect = 0x0202
)

// String names the dialect.
func (d Dialect) String() string {
	switch d {
	case V1:
		return "v1"
	case V2:
		return "v2"
	case V2CRC:
		return "v2 with CRC"
	}
	return fmt.Sprintf("dialect %#04x", uint16(d))
}

// Type is the type of a frame.
type Type uint8

// The types.
const (
	Response Type = 0 // of the request with the same id
	Request  Type = 1 // expects a response
	Oneway   Type = 2 // a request without a response
)

// String names the type.
func (t Type) String() string {
	switch t {
	case Response:
		return "response"
	case Request:
		return "request"
	case Oneway:
		return "oneway"
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// Command is the purpose of a frame. Next accepts commands that are not listed below.
type Command uint16

// The commands.
const (
	CommandHeartbeat Command = 0 // request and response; without content
	CommandRequest   Command = 1
	CommandResponse  Command = 2
	CommandGoaway    Command = 100 // of MOSN: the server is about to close the connection; send no more requests
)

// String names the command.
func (c Command) String() string {
	switch c {
	case CommandHeartbeat:
		return "heartbeat"
	case CommandRequest:
		return "request"
	case CommandResponse:
		return "response"
	case CommandGoaway:
		return "goaway"
	}
	return fmt.Sprintf("command %d", uint16(c))
}

// Status is the status of a response.
type Status uint16

// The statuses. A Java client closes the connection on any other.
const (
	StatusSuccess         Status = 0
	StatusError           Status = 1
	StatusServerException Status = 2
	StatusUnknown         Status = 3
	StatusThreadpoolBusy  Status = 4 // overload: the request was not processed
	StatusComm            Status = 5 // communication failed
	StatusNoProcessor     Status = 6 // no handler for the request, or no route
	StatusTimeout         Status = 7
	StatusClientSend      Status = 8 // the request could not be sent
	StatusCodec           Status = 9 // the frame could not be decoded
	StatusClosed          Status = 0x10
	StatusSerial          Status = 0x11 // the server could not serialize its response
	StatusDeserial        Status = 0x12 // the server could not deserialize the request
)

var statusNames = [...]string{
	"success", "error", "server exception", "unknown", "server threadpool busy", "communication error", "no processor",
	"timeout", "client send error", "codec exception", 0x10: "connection closed", "server serial exception",
	"server deserial exception",
}

// String names the status.
func (s Status) String() string {
	if int(s) < len(statusNames) && statusNames[s] != "" {
		return statusNames[s]
	}
	return fmt.Sprintf("status %#x", uint16(s))
}

// Hessian2 is the default codec of contents in Java.
const Hessian2 uint8 = 1

// SwitchCRC is the bit of a frame's switch that adds a CRC-32 in V2CRC. It has no meaning in the other dialects.
const SwitchCRC uint8 = 1
