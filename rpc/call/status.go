package call

import (
	"context"
	"errors"
	"fmt"
)

// Code says how a call ended. The numbers and names are gRPC's (google.rpc.Code).
type Code uint32

// The codes.
const (
	OK                 Code = 0
	Canceled           Code = 1  // the caller has cancelled the call
	Unknown            Code = 2  // the handler returned an error without a code
	InvalidArgument    Code = 3  // the request cannot be decoded or is refused
	DeadlineExceeded   Code = 4  // the deadline passed before the call was complete
	NotFound           Code = 5  // a thing that the request names does not exist
	AlreadyExists      Code = 6  // a thing that the request creates exists
	PermissionDenied   Code = 7  // the identity has no grant for the method
	ResourceExhausted  Code = 8  // a limit is reached: the server is overloaded, or a message is too large
	FailedPrecondition Code = 9  // the system is not in the state that the method needs
	Aborted            Code = 10 // a conflict with another call
	OutOfRange         Code = 11 // past the end
	Unimplemented      Code = 12 // the server has no such method
	Internal           Code = 13 // the peer violates the protocol
	Unavailable        Code = 14 // no connection, or the server is draining; another attempt may succeed
	DataLoss           Code = 15 // data is lost for good
	Unauthenticated    Code = 16 // no valid identity
)

var codeNames = [...]string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
	"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}

// String returns gRPC's name of the code.
func (c Code) String() string {
	if uint64(c) < uint64(len(codeNames)) {
		return codeNames[c]
	}
	return fmt.Sprintf("CODE(%d)", uint32(c))
}

// Detail is a typed value that explains a Status: google.protobuf.Any on the wire of gRPC.
type Detail struct {
	Type  string // type URL, such as type.googleapis.com/google.rpc.RetryInfo
	Value []byte // the encoded message
}

// Status is how a call ended. A nil *Status means OK. A Status with another code is an error.
type Status struct {
	Code    Code
	Message string // one sentence for the caller; holds no secret
	Details []Detail
}

// Errorf returns a *Status as an error.
func Errorf(code Code, format string, args ...any) error {
	return &Status{Code: code, Message: fmt.Sprintf(format, args...)}
}

func (s *Status) Error() string { return s.Code.String() + ": " + s.Message }

// Is reports whether target is a *Status with the same code, or the error of package context that the code stands for.
func (s *Status) Is(target error) bool {
	switch target {
	case context.Canceled:
		return s.Code == Canceled
	case context.DeadlineExceeded:
		return s.Code == DeadlineExceeded
	}
	t, ok := target.(*Status)
	return ok && t.Code == s.Code
}

// StatusOf returns the status that err stands for: nil for nil, the *Status in its chain, Canceled and DeadlineExceeded for the
// errors of package context, and otherwise Unknown with err's text. io.ErrUnexpectedEOF of a handler is the end of a file as often as of a
// connection; protocols say themselves that theirs has ended.
func StatusOf(err error) *Status {
	if err == nil {
		return nil
	}
	if s, ok := err.(*Status); ok { //nolint:errorlint // the usual case, without an allocation for errors.As
		return s
	}
	var s *Status
	switch {
	case errors.As(err, &s):
		return s
	case errors.Is(err, context.DeadlineExceeded):
		return &Status{Code: DeadlineExceeded, Message: err.Error()}
	case errors.Is(err, context.Canceled):
		return &Status{Code: Canceled, Message: err.Error()}
	}
	return &Status{Code: Unknown, Message: err.Error()}
}

// CodeOfHTTP returns the code for a response with a status of HTTP alone. doc/http-grpc-status-mapping.md of gRPC.
func CodeOfHTTP(status int) Code {
	switch status {
	case 400:
		return Internal
	case 401:
		return Unauthenticated
	case 403:
		return PermissionDenied
	case 404:
		return Unimplemented
	case 413, 431: // the table has neither: as other implementations do with metadata above their limits
		return ResourceExhausted
	case 429, 502, 503, 504:
		return Unavailable
	}
	return Unknown
}
