package bolt

import "fmt"

// SyntaxError says where and why bytes are not a frame, not one that is accepted here, or not a header map.
type SyntaxError struct {
	Offset int // in bytes from the start of the frame; for a header map, from the start of the map

	// Field is what stands there, and one of a few words, so that it can be counted by: protocol, ver1, dialect, type,
	// switch, class length, header length, content length, head, frame, crc, header map.
	Field  string
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("bolt: %s at offset %d: %s", e.Field, e.Offset, e.Reason)
}
