package main

import (
	"errors"

	"example.com/ferry/bench/internal/events"
	"example.com/ferry/bench/internal/harness"
)

// noChange is the ID that the events have.
var noChange = []*identity{newIdentity(events.UUID(0)), newIdentity(events.UUID(0))}

var errMoved = errors.New("the new ID does not have the length of the old one")

// limits are rows that do the minimal work of any program.
func limits() []contender {
	return []contender{
		{
			name: overwrite, kind: harness.Limit, version: "hand-written", in: inCBOR, ids: sameLength, without: []string{shuffled, absent},
			tools: func(int) tools {
				out := make(message, 1)
				return tools{edit: func(doc []byte, id *identity) (message, error) {
					out[0] = doc
					return out, overwriteID(doc, id.bytes)
				}}
			},
		},
		{
			name: memcpy, kind: harness.Limit, version: "copy", in: inCBOR, ids: noChange, without: []string{absent},
			tools: func(size int) tools {
				out, dst := make(message, 1), make([]byte, size)
				return tools{edit: func(doc []byte, _ *identity) (message, error) {
					out[0] = dst[:copy(dst, doc)]
					return out, nil
				}}
			},
		},
		{
			name: unmodified, kind: harness.Limit, version: "nothing but the loop", in: inCBOR, ids: noChange, without: []string{absent},
			tools: func(int) tools {
				out := make(message, 1)
				return tools{edit: func(doc []byte, _ *identity) (message, error) {
					out[0] = doc
					return out, nil
				}}
			},
		},
	}
}

var errShape = errors.New("not an event with an id before the readings")

// overwriteID overwrites the ID in a map of up to 23 pairs with short keys, in which only texts and numbers precede the ID.
// It checks each read. RFC 8949, section 3.
func overwriteID(doc, id []byte) error {
	const uint, text, maps = 0, 3, 5 // major types
	if len(doc) == 0 || doc[0]>>5 != maps || doc[0]&0x1f > 23 {
		return errShape
	}
	pos := 1
	for range doc[0] & 0x1f {
		if pos >= len(doc) || doc[pos]>>5 != text || doc[pos]&0x1f > 23 {
			return errShape
		}
		end := pos + 1 + int(doc[pos]&0x1f)
		if end >= len(doc) {
			return errShape
		}
		key, head := doc[pos+1:end], doc[end]
		pos = end + 1
		switch {
		case head>>5 == uint && head&0x1f == 27:
			pos += 8
			continue
		case head>>5 == text && head&0x1f < 24:
			end = pos + int(head&0x1f)
		case head>>5 == text && head&0x1f == 24 && pos < len(doc):
			end = pos + 1 + int(doc[pos])
			pos++
		default:
			return errShape
		}
		if end > len(doc) {
			return errShape
		}
		if string(key) == "id" {
			if end-pos != len(id) {
				return errMoved
			}
			copy(doc[pos:end], id)
			return nil
		}
		pos = end
	}
	return errShape
}
