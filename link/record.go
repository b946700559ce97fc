package link

import (
	"encoding/binary"
	"errors"

	"example.com/ferry"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// spooled is the payload of a record of the spool: a run of messages of one tag.
//
//	offset  size
//	     0     1  1, the version of this layout
//	     1     1  number of nodes of the path; 0 for messages of clients of this node
//	     2        for each node: length (1 byte), id
//	              number of messages (4 bytes, big-endian)
//	              frames: PUBs whose tag number and source id mean nothing
type spooled struct {
	path   native.Path
	count  int
	frames []byte
}

const layout = 1

var errRecord = errors.New("link: a record of the spool has another layout")

func appendRecord(dst []byte, path *native.Path, count int, frames []byte) []byte {
	dst = append(dst, layout, 0)
	if path != nil {
		dst[len(dst)-1] = byte(len(*path))
		for _, node := range *path {
			dst = append(append(dst, byte(len(node))), node...)
		}
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(count))
	return append(dst, frames...)
}

// recordOf returns the message that the spool stores. Its time is that of the first frame.
func recordOf(tag string, payload, frames []byte) ferry.Message {
	return ferry.Message{Tag: tag, Payload: payload, Time: native.Frame(frames).Time()}
}

// decode reads a payload. The frames of the result are a part of it.
func decode(b []byte) (s spooled, err error) {
	if len(b) < 2 || b[0] != layout {
		return s, errRecord
	}
	nodes := int(b[1])
	for b = b[2:]; nodes > 0; nodes-- {
		if len(b) == 0 || len(b) < 1+int(b[0]) {
			return spooled{}, errRecord
		}
		s.path = append(s.path, string(b[1:1+int(b[0])]))
		b = b[1+int(b[0]):]
	}
	if len(b) < 4 {
		return spooled{}, errRecord
	}
	s.count, s.frames = int(binary.BigEndian.Uint32(b)), b[4:]
	for rest := s.frames; len(rest) > 0; rest = rest[native.Size(rest):] {
		f, err := native.Split(rest, len(rest))
		if err != nil || f == nil || f.Kind() != native.Pub {
			return spooled{}, errRecord
		}
	}
	if peer.Count(s.frames) != s.count {
		return spooled{}, errRecord
	}
	return s, nil
}

// paths has one pointer for equal paths of records.
type paths map[string]*native.Path

// intern returns the pointer for a path; nil for the path of this node alone.
func (p paths) intern(path native.Path) *native.Path {
	if len(path) == 0 {
		return nil
	}
	key := ""
	for _, node := range path {
		key += node + "/"
	}
	same := p[key]
	if same == nil {
		if len(p) == native.MaxPaths {
			clear(p)
		}
		same = &path
		p[key] = same
	}
	return same
}
