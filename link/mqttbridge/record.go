package mqttbridge

import (
	"encoding/binary"
	"errors"

	"example.com/ferry"
)

// The payload of a record of the spool:
//
//	offset  size
//	     0     1  1, the version of this layout
//	     1     2  length of the path
//	     3     2  length of the extension
//	     5        path, extension, payload
const (
	layout     = 1
	layoutSize = 5
)

var errRecord = errors.New("bridge: a record of the spool has another layout")

// recordOf returns the message that the spool stores.
func recordOf(m *item) ferry.Message {
	b := make([]byte, 0, layoutSize+len(m.path)+len(m.extension)+len(m.payload))
	b = binary.BigEndian.AppendUint16(append(b, layout), uint16(len(m.path)))
	b = binary.BigEndian.AppendUint16(b, uint16(len(m.extension)))
	b = append(append(append(b, m.path...), m.extension...), m.payload...)
	return ferry.Message{Tag: m.tag, Type: m.typ, Time: m.time, Payload: b}
}

// itemOf reads a record. The result has views of its payload.
func itemOf(r *ferry.Message) (m item, err error) {
	b := r.Payload
	if len(b) < layoutSize || b[0] != layout {
		return m, errRecord
	}
	path, extension := int(binary.BigEndian.Uint16(b[1:])), int(binary.BigEndian.Uint16(b[3:]))
	if b = b[layoutSize:]; len(b) < path+extension {
		return m, errRecord
	}
	return item{r.Tag, r.Type, r.Time, string(b[:path]), b[path : path+extension], b[path+extension:], nil}, nil
}
