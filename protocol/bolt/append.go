package bolt

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"time"
)

// Message has the fields that Append writes into a frame.
type Message struct {
	Dialect Dialect
	Type    Type
	Command Command
	ID      uint32
	Codec   uint8
	Switch  uint8         // in V2CRC, SwitchCRC adds a CRC; 0 in V1, which has no switch
	Timeout time.Duration // timeout of a request; rounded down to milliseconds
	Status  Status        // status of a response
	Class   string        // name of the content's class, at most MaxLength bytes
	Header  Header        // encoded header map, at most MaxLength bytes
	Content []byte
}

// Append appends m as a frame. If a field does not fit in a frame, Append returns an error and dst unchanged.
func Append(dst []byte, m Message) ([]byte, error) {
	millis := m.Timeout / time.Millisecond
	size := int64(MaxFixed+len(m.Class)+len(m.Header)+crcLen) + int64(len(m.Content))
	switch {
	case m.Dialect != V1 && m.Dialect != V2 && m.Dialect != V2CRC:
		return dst, fmt.Errorf("bolt: cannot write %v: use V1, V2 or V2CRC", m.Dialect)
	case m.Type > Oneway:
		return dst, fmt.Errorf("bolt: cannot write %v: use Response, Request or Oneway", m.Type)
	case m.Switch > math.MaxInt8 || m.Switch != 0 && m.Dialect == V1:
		return dst, fmt.Errorf("bolt: cannot write switch %d in %v: v1 has none, and 127 is the greatest", m.Switch, m.Dialect)
	case millis != time.Duration(int32(millis)):
		return dst, fmt.Errorf("bolt: cannot write timeout %v: %d ms is the longest", m.Timeout, math.MaxInt32)
	case len(m.Class) > MaxLength:
		return dst, fmt.Errorf("bolt: cannot write a class of %d bytes: %d is the longest", len(m.Class), MaxLength)
	case len(m.Header) > MaxLength:
		return dst, fmt.Errorf("bolt: cannot write a header of %d bytes: %d is the longest", len(m.Header), MaxLength)
	case size > math.MaxInt32:
		return dst, fmt.Errorf("bolt: cannot write a content of %d bytes: a frame has at most %d", len(m.Content), math.MaxInt32)
	}
	return m.appendFrame(dst), nil
}

// AppendResponse appends a response to req with a status and without content. The response has the dialect of req, and a CRC
// if req has one. req may be a Frame that has only its fixed header. If req is a oneway or a response, AppendResponse appends
// nothing.
func AppendResponse(dst []byte, req Frame, status Status) []byte {
	if req.Type() != Request {
		return dst
	}
	command := CommandResponse
	if req.Command() == CommandHeartbeat {
		command = CommandHeartbeat
	}
	return Message{
		Dialect: req.Dialect(), Type: Response, Command: command, ID: req.ID(), Codec: req.Codec(),
		Switch: req.Switch() & SwitchCRC, Status: status,
	}.appendFrame(dst)
}

// AppendHeartbeat appends a heartbeat. Like Java's heartbeats, it has no CRC in any dialect.
func AppendHeartbeat(dst []byte, d Dialect, id uint32) ([]byte, error) {
	return Append(dst, Message{Dialect: d, Type: Request, Command: CommandHeartbeat, ID: id, Codec: Hessian2, Timeout: -time.Millisecond})
}

// AppendHeartbeatAck appends the response to a heartbeat. If heartbeat is a oneway or a response, it appends nothing.
func AppendHeartbeatAck(dst []byte, heartbeat Frame) []byte {
	return AppendResponse(dst, heartbeat, StatusSuccess)
}

// appendFrame appends m, whose fields Append has checked.
func (m Message) appendFrame(dst []byte) []byte {
	start := len(dst)
	if m.Dialect == V1 {
		dst = append(dst, 1)
	} else {
		dst = binary.BigEndian.AppendUint16(dst, uint16(m.Dialect))
	}
	dst = append(dst, byte(m.Type))
	dst = binary.BigEndian.AppendUint16(dst, uint16(m.Command))
	dst = append(dst, 1) // ver2: all commands have version 1
	dst = binary.BigEndian.AppendUint32(dst, m.ID)
	dst = append(dst, m.Codec)
	if m.Dialect != V1 {
		dst = append(dst, m.Switch)
	}
	if m.Type == Response {
		dst = binary.BigEndian.AppendUint16(dst, uint16(m.Status))
	} else {
		dst = binary.BigEndian.AppendUint32(dst, uint32(m.Timeout/time.Millisecond))
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(m.Class)))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(m.Header)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(m.Content)))
	dst = append(dst, m.Class...)
	dst = append(dst, m.Header...)
	dst = append(dst, m.Content...)
	if m.Dialect == V2CRC && m.Switch&SwitchCRC != 0 {
		dst = binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[start:]))
	}
	return dst
}
