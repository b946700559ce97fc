package http1

import "fmt"

// Error is why a message is refused. The rest of its connection cannot be parsed: respond with Status if no response has
// started, then close the connection.
type Error struct {
	Status int    // 400, 413, 414, 417, 431 or 505 for a request; 502 for a response
	Offset int64  // bytes from the start of the data given to a parser, or from the start of a body
	Reason string // one sentence; quotes at most 40 bytes of the message
}

func (e *Error) Error() string {
	return fmt.Sprintf("http1: %s at offset %d: respond with %d and close the connection", e.Reason, e.Offset, e.Status)
}

// quote returns the first bytes of b in quotes.
func quote(b []byte) string {
	if len(b) > 40 {
		return fmt.Sprintf("%q...", b[:40])
	}
	return fmt.Sprintf("%q", b)
}
