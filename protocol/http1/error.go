package http1

import "fmt"

// Error is why a message is refused. The connection it came on cannot be read any further: answer with Status if that is
// still possible, then close it.
type Error struct {
	Status int    // 400, 413, 414, 417, 431 or 505 for a request; 502 for a response
	Offset int64  // bytes from the start of the data given to a parser, or from the start of a body
	Reason string // one sentence for people; quotes at most 40 bytes of what was refused
}

func (e *Error) Error() string {
	return fmt.Sprintf("http1: %s at offset %d: answer %d and close the connection", e.Reason, e.Offset, e.Status)
}

// quote shows the beginning of what a peer sent.
func quote(b []byte) string {
	if len(b) > 40 {
		return fmt.Sprintf("%q...", b[:40])
	}
	return fmt.Sprintf("%q", b)
}
