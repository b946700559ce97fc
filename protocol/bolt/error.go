package bolt

import (
	"fmt"
	"math"
)

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

// unknown says that the byte at an offset is none of those that may stand there.
func unknown(data []byte, at int, field, known string) error {
	reason := fmt.Sprintf("%d where %s is known", data[at], known)
	if at == 0 {
		reason += ": does the peer speak Bolt?"
	}
	return &SyntaxError{at, field, reason}
}

// mixed says that a connection changed its dialect. The byte that says so is the first of V1, and ver1 else.
func mixed(have, first Dialect) error {
	at := 1
	if have == V1 {
		at = 0
	}
	return &SyntaxError{at, "dialect", fmt.Sprintf("%v on a connection that began with %v: open another one for it", have, first)}
}

// refused holds what a fixed header says, all in bytes but for toggles, when one of its values is beyond its bound.
type refused struct {
	fixed             int
	toggles           uint8
	class, header     int
	head              int
	size              int64
	maxHead, maxFrame int
}

// reason says which one: first those that implementations would read differently, then those that are not wanted here.
func (r refused) reason() error {
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
