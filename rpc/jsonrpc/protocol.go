package jsonrpc

import (
	"cmp"
	"time"

	"example.com/ferry/rpc/call"
)

// Protocol is call.Protocol for JSON-RPC over HTTP. The zero value has the defaults. Calls are unary: Open returns Unimplemented.
type Protocol struct {
	// MaxMessage is the largest body of a request or a response, in bytes, before compression. Zero means 4 MiB. A larger request ends with
	// the HTTP status 413, a larger response with ResourceExhausted.
	MaxMessage int

	// MaxServerHeld bounds the bytes that a listener or Handler holds for all requests together: bodies, also decompressed, and responses. A
	// connection may hold as much as all of them leave free: one alone half of it. Above that, a request of more than 64 KiB ends with the HTTP
	// status 503. Zero means 1 GiB.
	MaxServerHeld int

	// MaxBatch is the largest number of calls in a batch. Zero means 100. At most 8 of them are handled at the same time.
	MaxBatch int

	// MaxConns is the largest number of connections, of a listener and of a client. Zero means 10000 for a listener, which closes further
	// ones, and 256 for a client, whose further calls wait.
	MaxConns int

	// Plain makes a client send plain calls, POST /Service/Method with the value alone, as servers of Connect expect them. The content type is
	// application/json or application/protobuf.
	Plain bool

	// BodyTimeout is how long a client may take to send the body of a request, and how long it may take nothing of a response. Zero means 30 s.
	BodyTimeout time.Duration
}

var _ call.Protocol = Protocol{}

// Defaults of Protocol.
const (
	defaultMaxMessage   = 4 << 20
	defaultServerHeld   = 1 << 30
	defaultMaxBatch     = 100
	defaultListenConns  = 10000
	defaultClientConns  = 256
	defaultBodyTimeout  = 30 * time.Second
	batchParallel       = 8                // calls of a batch that are handled at the same time
	headerTimeout       = 10 * time.Second // to send the head of a request
	maxHeader           = 64 << 10         // bytes of a head
	maxFieldLine        = 60 << 10         // bytes of a field in it
	maxFields           = 512
	streamWindow        = 256 << 10            // bytes of a body of HTTP/2 that are on their way
	serverIdleTimeout   = 2 * time.Minute      // an idle connection is closed
	trustTime           = time.Millisecond     // after a response in which a connection is used without a look at it
	trustedResponses    = 3                    // of the greeting and two calls: servers that close after each call without a word never come so far
	clientIdleTimeout   = 90 * time.Second     // less than the server's, so the client closes first
	drainGrace          = time.Second          // for idle connections to learn of a drain
	drainLook           = 5 * time.Millisecond // between looks at the number of connections
	drainQuiet          = 10                   // looks without a connection
	firstConnExpiration = time.Second
)

// withDefaults returns p with its zero fields set.
func (p Protocol) withDefaults() Protocol {
	p.MaxMessage = cmp.Or(p.MaxMessage, defaultMaxMessage)
	p.MaxServerHeld = cmp.Or(p.MaxServerHeld, defaultServerHeld)
	p.MaxBatch = cmp.Or(p.MaxBatch, defaultMaxBatch)
	p.BodyTimeout = cmp.Or(p.BodyTimeout, defaultBodyTimeout)
	return p
}

// Name returns http.
func (Protocol) Name() string { return "http" }

// Content types of requests and responses.
const (
	typeJSON     = "application/json"
	typeJSONRPC  = "application/json-rpc"
	typeJSONRPC2 = "application/jsonrpc2"
	typeProto    = "application/proto" // Connect's name of typeProtobuf
	typeProtobuf = "application/protobuf"
)
