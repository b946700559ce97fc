package envelope

import (
	"fmt"

	"example.com/ferry/codec"
	"example.com/ferry/rpc/call"
)

// Envelope wraps the one message that a unary call has in each direction. Implementations are values without state, and many
// goroutines may use one at the same time. No method panics, whatever data is. Parsing allocates at most a few strings, whatever
// lengths data claims.
type Envelope interface {
	// Name is the envelope's name: json-rpc, jsonrpc2, proto-rpc, msgpackrpc, bsonrpc, grpc.
	Name() string

	// AppendRequest appends r in the envelope to dst. On an error it returns dst unchanged.
	AppendRequest(dst []byte, r Request) ([]byte, error)

	// ParseRequest takes a request apart. Body and Token are parts of data. The error is an *Error with the code InvalidArgument.
	ParseRequest(data []byte) (Request, error)

	// AppendResponse appends r in the envelope to dst. On an error it returns dst unchanged.
	AppendResponse(dst []byte, r Response) ([]byte, error)

	// ParseResponse takes a response apart. Body and Token are parts of data. The error is an *Error with the code Internal. A
	// call that failed is no error of ParseResponse: its Status is set.
	ParseResponse(data []byte) (Response, error)
}

// Request is a call. An envelope that has no place for a field leaves it out; ParseRequest then returns its zero value.
type Request struct {
	Method string // full name, such as greeter.Greeter.Hello; "" in a gRPC message
	ID     uint64 // number of the call, which the response repeats; 0 if the id in the message is not such a number
	Body   []byte // the value, encoded by the codec of the content type

	// Token is the id as the caller wrote it, in the envelope's encoding: JSON-RPC's may be a number, a string in quotes, or null. The
	// response must repeat it. In a request to be written, nil means ID.
	Token []byte
	// Notification says that the caller expects no response. JSON-RPC and MessagePack-RPC have notifications.
	Notification bool
}

// Response is the result of a call.
type Response struct {
	Method string       // proto-rpc and bsonrpc repeat it
	ID     uint64       // of the request
	Token  []byte       // of the request, as in Request
	Body   []byte       // the value; ignored if Status is set
	Status *call.Status // nil if the call has succeeded. gRPC messages leave it out: the call's own status has it
}

// Content is one content type: how the messages of a call are encoded.
type Content struct {
	Type     string      // such as application/json
	Envelope Envelope    // nil if the message is the value alone
	Codec    codec.Codec // of the value
}

// Error is malformed data. errors.As finds a *call.Status with the same code in it.
type Error struct {
	Envelope string
	Code     call.Code // InvalidArgument for a request, Internal for a response
	Offset   int       // in bytes from the start of the message
	Reason   string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s at offset %d", e.Envelope, e.Reason, e.Offset)
}

// As implements the interface of errors.As for *call.Status.
func (e *Error) As(target any) bool {
	s, ok := target.(**call.Status)
	if ok {
		*s = &call.Status{Code: e.Code, Message: e.Error()}
	}
	return ok
}

// kind says which message is read, for its errors.
type kind struct {
	envelope string
	code     call.Code // InvalidArgument for a request, which is checked before anything of it is handled
}

func request(envelope string) kind  { return kind{envelope, call.InvalidArgument} }
func response(envelope string) kind { return kind{envelope, call.Internal} }

func (k kind) errorf(offset int, format string, args ...any) error {
	return &Error{Envelope: k.envelope, Code: k.code, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}
