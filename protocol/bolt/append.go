package bolt

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"time"
)

// Message has the fields of a frame for Append.
type Message struct {
	Dialect Dialect
	Type    Type
	Command Command
	ID      uint32
	Codec   uint8
	Switch  uint8         // SwitchCRC adds a CRC in V2CRC; 0 in V1, which has no switch
	Timeout time.Duration // of a request; rounded down to milliseconds
	Status  Status        // of a response
	Class   string        // at most MaxLength bytes
	Header  Header        // at most MaxLength bytes
	Content []byte
}

// Append appends m as a frame. If a field does not fit in a frame, it returns an error and dst unchanged.
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

// AppendResponse appends a response to req that has a status and no content, in the dialect of req and with a CRC if req has one.
// req needs its fixed header only. A oneway or a response gets no response: nothing is appended.
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

// AppendHeartbeat appends a heartbeat. It has no CRC in any dialect, as in Java.
func AppendHeartbeat(dst []byte, d Dialect, id uint32) ([]byte, error) {
	return Append(dst, Message{Dialect: d, Type: Request, Command: CommandHeartbeat, ID: id, Codec: Hessian2, Timeout: -time.Millisecond})
}

// AppendHeartbeatAck appends the response to a heartbeat, or nothing if that is a oneway or a response itself.
func AppendHeartbeatAck(dst []byte, heartbeat Frame) []byte {
	return AppendResponse(dst, heartbeat, StatusSuccess)
}

// appendFrame appends a message that was checked.
func (m Message) appendFrame(dst []byte) []byte {
	start := len(dst)
	if m.Dialect == V1 {
		dst = append(dst, 1)
	} else {
		dst = binary.BigEndian.AppendUint16(dst, uint16(m.Dialect))
	}
	dst = append(dst, byte(m.Type))
	dst = binary.BigEndian.AppendUint16(dst, uint16(m.Command))
	dst = append(dst, 1) // ver2: commands have one version
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
