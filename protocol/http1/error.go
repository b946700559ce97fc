package http1

import "fmt"

// Error says why a message is refused. The bytes that follow on the connection cannot be parsed. If no response has started,
// respond with Status. Then close the connection.
type Error struct {
	Status int    // a request: 400, 413, 414, 417, 431 or 505; a response: 502
	Offset int64  // in bytes; for a head, from the start of the parsed data; for a body, from the start of the body
	Reason string // one sentence; quotes at most 40 bytes of the message
}

func (e *Error) Error() string {
	return fmt.Sprintf("http1: %s at offset %d: respond with %d and close the connection", e.Reason, e.Offset, e.Status)
}

// quote returns the first bytes of b in quotation marks.
func quote(b []byte) string {
	if len(b) > 40 {
		return fmt.Sprintf("%q...", b[:40])
	}
	return fmt.Sprintf("%q", b)
}
