package call

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// Head begins a call.
type Head struct {
	Method      string    // full name, such as greeter.Greeter.Hello: the service greeter.Greeter, a dot, the method
	Content     string    // content type of the messages, such as application/json
	ID          uint64    // number of the call on its connection, which an envelope repeats; 0 if the protocol has no numbers. See Numbered
	Deadline    time.Time // zero means none
	Metadata    Metadata  // the caller's. A handler may keep its fields after Finish
	Compression string    // of the messages on the wire: "", gzip or zstd. The protocol compresses and decompresses
}

// EarlierDeadline returns when a call with ctx ends: the earlier deadline of both, or zero if there is none. own says that ctx does not end then.
func (h *Head) EarlierDeadline(ctx context.Context) (at time.Time, own bool) {
	at, ok := ctx.Deadline()
	if h.Deadline.IsZero() || ok && !h.Deadline.Before(at) {
		return at, false
	}
	return h.Deadline, true
}

// Peer is the other end of a connection.
type Peer struct {
	Addr     net.Addr
	TLS      *tls.ConnectionState // nil without TLS
	Identity string               // name that a node has verified; "" if there is none
	Ended    <-chan struct{}      // closed when the connection has ended; nil if the protocol does not tell
}

// Service receives the calls of a Protocol. rpc.Server implements it.
type Service interface {
	// Method returns the method with a full name, or nil. The result is valid as long as the Service, so a protocol that
	// announces names once asks once.
	Method(name string) Method
	// Serve handles one call on the goroutine of its caller, and calls s.Finish once before it returns. m may be nil: the call then ends
	// with Unimplemented. ctx ends when the caller cancels, the deadline passes or the connection is lost. Many calls run at once.
	Serve(ctx context.Context, m Method, s ServerStream)
}

// Admitter is a Service that can tell from a head whether it serves the caller at all. A protocol that holds a message before it calls Serve asks before the
// message is large.
type Admitter interface {
	// Admit returns why no call with the metadata of head is served, or nil. The head may be without a method.
	Admit(ctx context.Context, head *Head, peer *Peer) error
}

// Method is a registered method.
type Method interface {
	Name() string
	// Shape says whether the caller and the server send more than one message.
	Shape() (clientStreams, serverStreams bool)
}

// ServerStream is a server's end of a call. One goroutine may call Recv while another calls Send. It may implement Undecodable.
type ServerStream interface {
	// Head returns the call's head. It is valid until Finish.
	Head() *Head
	Peer() *Peer
	// Recv returns the next message of the caller, without the protocol's framing and decompressed. It is valid until the next Recv or
	// Finish. After the last message the error is io.EOF. Another error is a *Status.
	Recv() ([]byte, error)
	// SetHeader adds fields to the header that precedes the first message. After the first Send it returns an error.
	SetHeader(Metadata) error
	// Send sends a copy of data. It blocks while the caller's credit or the connection's queue is used up, until ctx ends.
	Send(data []byte) error
	// Finish ends the call. If last is not nil, it is sent as one more message, together with the status where the protocol can do so. A nil
	// status is OK. data is copied. Recv and Send must not be called afterwards; a Recv that waits in another goroutine ends with an error. Finish may
	// wait, as Send does, while the connection's queue is full, until ctx ends. Then it sends the status only.
	Finish(last []byte, status *Status, trailer Metadata)
}

// Undecodable is a ServerStream whose protocol has a code of its own for requests that cannot be decoded. The code of others is
// InvalidArgument.
type Undecodable interface {
	UndecodableCode() Code
}

// Conn is a client's end of one connection. Any number of goroutines may use it.
type Conn interface {
	// Call sends one message and waits for one. On success *resp holds the message until resp.Release. The error is a *Status; a
	// *Status with Unsent set in resp means that the server has not seen the call, so another attempt is safe. Call ends with
	// DeadlineExceeded at head.Deadline, even if ctx has no deadline. It uses head and data only until it returns.
	Call(ctx context.Context, head *Head, data []byte, resp *Response) error
	// Open begins a call of any shape. The stream ends with ctx.
	Open(ctx context.Context, head *Head) (ClientStream, error)
	// Closing is closed when the connection accepts no further call: the server drains, or the connection is lost.
	Closing() <-chan struct{}
	// Err returns why the connection ended, or nil while it is open.
	Err() error
	// Close ends the connection once no call is in progress or ctx has ended. Calls that are still in progress get Unavailable.
	Close(ctx context.Context) error
}

// Numbered is a Conn whose protocol numbers calls. An envelope in a request repeats the call's number, so its encoder has to know the
// number before Call.
type Numbered interface {
	// NextID returns a number for one Call. The caller sets it as Head.ID. Call chooses a number itself if Head.ID is 0. A number
	// that is never used costs nothing.
	NextID() uint64
}

// Relayed is a Conn whose other end may pass calls on to servers that have other connections.
type Relayed interface {
	// Relayed reports whether it does. A call that no server has begun says nothing about the connection then.
	Relayed() bool
}

// Response is the result of a unary call.
type Response struct {
	Data            []byte // valid until Release
	Header, Trailer Metadata
	Unsent          bool   // the server has certainly not begun the call; set beside an error
	Busy            bool   // beside Unsent: only this call was refused, and the connection takes others
	Free            func() // releases Data; nil if nothing is to be released
}

// Release gives back the memory of Data.
func (r *Response) Release() {
	if r.Free != nil {
		r.Free()
	}
	r.Data, r.Free = nil, nil
}

// Unbegun is a ClientStream that knows whether a server has begun its call.
type Unbegun interface {
	// Unbegun reports, after Recv has returned an error, that no server has begun the call, so another attempt is safe.
	Unbegun() bool
}

// ClientStream is a client's end of a call. One goroutine may call Recv while another calls Send. It may implement Unbegun.
type ClientStream interface {
	// Send sends a copy of data. It blocks while the server's credit or the connection's queue is used up. After the call has ended it
	// returns io.EOF, and Recv says why.
	Send(data []byte) error
	// CloseSend says that no message follows.
	CloseSend() error
	// Header waits for the server's header.
	Header() (Metadata, error)
	// Recv returns the next message, valid until the next Recv. The error is io.EOF after a call that ended with OK, otherwise a *Status.
	Recv() ([]byte, error)
	// Trailer returns the server's trailer, after Recv has returned an error.
	Trailer() Metadata
	// Cancel ends the call if it has not ended. It may be called more than once, and while Send or Recv blocks.
	Cancel()
}
