package native

import "fmt"

// Code is the reason why a connection ended or a request was refused.
type Code uint16

// The codes of version 1.
const (
	CodeOK              Code = 0  // the request is granted; in GOAWAY: the peer has finished
	CodeDraining        Code = 1  // the node stops: connect again later, or to another node
	CodeProtocol        Code = 2  // a frame is malformed or unexpected
	CodeUnauthenticated Code = 3  // no identity has the client's token or certificate
	CodeForbidden       Code = 4  // the identity has no permission for the request
	CodeTooLarge        Code = 5  // a frame exceeds the limit
	CodeLimit           Code = 6  // the client has too many connections, tags or subscriptions
	CodeTimeout         Code = 7  // the peer sent no bytes, or did not complete a frame, in time
	CodeCredit          Code = 8  // the peer sent more than its credit
	CodeVersion         Code = 9  // client and node have no common protocol version
	CodeInvalid         Code = 10 // a payload is not valid for its type
	CodeBadRequest      Code = 11 // the request has a malformed tag, filter, group or predicate
)

var codeNames = [...]string{
	"ok", "draining", "protocol error", "unauthenticated", "forbidden", "too large", "limit reached", "timeout",
	"no credit", "version mismatch", "invalid payload", "bad request",
}

// String returns the name of the code.
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return fmt.Sprintf("code %d", uint16(c))
}

// Error is a Code with its reason. A parser returns an Error if the peer violates the protocol. An Error also represents what a
// peer sent in GOAWAY or RESULT.
type Error struct {
	Code   Code
	Reason string // one sentence for the operator; holds no secret
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
