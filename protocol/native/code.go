package native

import "fmt"

// Code is the reason for which a connection ended or a request was refused.
type Code uint16

// The codes of version 1.
const (
	CodeOK              Code = 0  // granted; in GOAWAY: the peer has finished
	CodeDraining        Code = 1  // the node stops: reconnect later, or to another node
	CodeProtocol        Code = 2  // malformed or unexpected frame
	CodeUnauthenticated Code = 3  // no identity has this token or certificate
	CodeForbidden       Code = 4  // the identity may not do this
	CodeTooLarge        Code = 5  // a frame above the limit
	CodeLimit           Code = 6  // too many connections, tags or subscriptions
	CodeTimeout         Code = 7  // no bytes, or no more bytes of a frame, for too long
	CodeCredit          Code = 8  // sent without credit
	CodeVersion         Code = 9  // no common protocol version
	CodeInvalid         Code = 10 // a payload that is not valid for its type
	CodeBadRequest      Code = 11 // a malformed tag, filter, group or predicate
)

var codeNames = [...]string{
	"ok", "draining", "protocol error", "unauthenticated", "forbidden", "too large", "limit reached", "timeout",
	"no credit", "version mismatch", "invalid payload", "bad request",
}

// String names the code.
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return fmt.Sprintf("code %d", uint16(c))
}

// Error is a Code with its reason. Parsers return it for a peer's violation; it is also what a peer sent in GOAWAY or RESULT.
type Error struct {
	Code   Code
	Reason string // one sentence for a person; holds no secret
}

func (e *Error) Error() string {
	if e.Reason == "" {
		return "native: " + e.Code.String()
	}
	return "native: " + e.Code.String() + ": " + e.Reason
}

// Temporary reports whether the same request may succeed later, on a new connection.
func (e *Error) Temporary() bool {
	switch e.Code {
	case CodeOK, CodeDraining, CodeLimit, CodeTimeout, CodeCredit:
		return true
	}
	return false
}
