package native

import "fmt"

// Code says why a connection ended or a request was refused.
type Code uint16

// The codes of version 1.
const (
	CodeOK              Code = 0  // granted; or a GOAWAY of a peer that is done
	CodeDraining        Code = 1  // the node stops: reconnect, here later or elsewhere
	CodeProtocol        Code = 2  // malformed or unexpected frame
	CodeUnauthenticated Code = 3  // no identity has this token or certificate
	CodeForbidden       Code = 4  // the identity may not do this
	CodeTooLarge        Code = 5  // a frame above the limit
	CodeLimit           Code = 6  // too many connections, tags or subscriptions
	CodeTimeout         Code = 7  // silence, or a half frame, for too long
	CodeCredit          Code = 8  // sent without credit
	CodeVersion         Code = 9  // no common protocol version
	CodeInvalid         Code = 10 // a payload that is not what its type says
	CodeBadRequest      Code = 11 // a tag, filter, group or predicate that cannot be
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

// Error is a Code with its reason: what a peer broke, or what it answered.
type Error struct {
	Code   Code
	Reason string // one sentence for people; never holds a secret
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
