package bolt

import "fmt"

// Dialect is the version of a frame's layout. It combines the first byte, the protocol, and in version 2 the second byte,
// ver1. All frames of a connection have the same Dialect, because a server responds in the dialect of the first frame.
type Dialect uint16

// The dialects. In V2CRC, a bit of the switch says that the frame ends with a CRC-32.
const (
	V1    Dialect = 0x0100
	V2    Dialect = 0x0201
	V2CRC Dialect = 0x0202
)

// String returns the name of the dialect.
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
	Response Type = 0 // responds to the request with the same id
	Request  Type = 1 // expects a response
	Oneway   Type = 2 // a request that expects no response
)

// String returns the name of the type.
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

// Command is the purpose of a frame. Next also accepts commands that are not listed below.
type Command uint16

// The commands.
const (
	CommandHeartbeat Command = 0 // request and response without content
	CommandRequest   Command = 1
	CommandResponse  Command = 2
	CommandGoaway    Command = 100 // defined by MOSN: the server is about to close the connection; send no more requests
)

// String returns the name of the command.
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

// The statuses. On any other status, a Java client closes the connection.
const (
	StatusSuccess         Status = 0
	StatusError           Status = 1
	StatusServerException Status = 2
	StatusUnknown         Status = 3
	StatusThreadpoolBusy  Status = 4 // the server is overloaded and did not process the request
	StatusComm            Status = 5 // the communication failed
	StatusNoProcessor     Status = 6 // the server has no handler for the request, or the proxy has no route
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

// String returns the name of the status.
func (s Status) String() string {
	if int(s) < len(statusNames) && statusNames[s] != "" {
		return statusNames[s]
	}
	return fmt.Sprintf("status %#x", uint16(s))
}

// Hessian2 is the number of Hessian 2, the default serialization of contents in Java.
const Hessian2 uint8 = 1

// SwitchCRC is the bit of a frame's switch that adds a CRC-32 in V2CRC. In the other dialects the bit has no meaning.
const SwitchCRC uint8 = 1
