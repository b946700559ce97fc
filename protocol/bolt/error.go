package bolt

import (
	"fmt"
	"math"
)

// SyntaxError says at which offset, and why, bytes are not an acceptable frame or header map.
type SyntaxError struct {
	Offset int // in bytes from the start of the frame; for an error in a header map, from the start of the map

	// Field is the name of the field at Offset. It has few values and may be a label of a metric: protocol, ver1, dialect,
	// type, switch, class length, header length, content length, head, frame, crc or header map.
	Field  string
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("bolt: %s at offset %d: %s", e.Field, e.Offset, e.Reason)
}

// unknownValueError returns the error for a byte with an unknown value.
func unknownValueError(data []byte, at int, field, known string) error {
	reason := fmt.Sprintf("%d where %s is known", data[at], known)
	if at == 0 {
		reason += ": does the peer speak Bolt?"
	}
	return &SyntaxError{at, field, reason}
}

// mixedDialectsError returns the error for a connection that changes its dialect.
func mixedDialectsError(have, first Dialect) error {
	at := 1
	if have == V1 {
		at = 0
	}
	return &SyntaxError{at, "dialect", fmt.Sprintf("%v on a connection that began with %v: open another one for it", have, first)}
}

// exceededLimit has the values of a fixed header of which one exceeds its bound. All values except toggles are in bytes.
type exceededLimit struct {
	fixed             int
	toggles           uint8
	class, header     int
	head              int
	size              int64
	maxHead, maxFrame int
}

// reason returns the error for the value that exceeds its bound. It checks the bounds of other implementations before those of
// Limits.
func (r exceededLimit) reason() error {
	switch {
	case r.toggles > math.MaxInt8:
		return &SyntaxError{switchAt, "switch", fmt.Sprintf("%d: Java peers read at most %d", r.toggles, math.MaxInt8)}
	case r.class > MaxLength:
		return &SyntaxError{r.fixed - 8, "class length", fmt.Sprintf("%d bytes: Java peers read at most %d", r.class, MaxLength)}
	case r.header > MaxLength:
		return &SyntaxError{r.fixed - 6, "header length", fmt.Sprintf("%d bytes: Java peers read at most %d", r.header, MaxLength)}
	case r.size > math.MaxInt32:
		return &SyntaxError{r.fixed - 4, "content length", fmt.Sprintf("a frame of %d bytes: Java peers read at most %d", r.size, math.MaxInt32)}
	case r.head > r.maxHead:
		return &SyntaxError{r.fixed - 8, "head", fmt.Sprintf("%d bytes before the content: at most %d are accepted here", r.head, r.maxHead)}
	}
	return &SyntaxError{r.fixed - 4, "frame", fmt.Sprintf("%d bytes: at most %d are accepted here", r.size, r.maxFrame)}
}
