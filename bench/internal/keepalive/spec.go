package keepalive

import (
	"cmp"
	"fmt"
	"net/netip"
	"time"

	"example.com/ferry/bench/internal/routeset"
)

// Spec describes the connections of a client.
type Spec struct {
	Wire  Wire
	Addr  string // IPv4 address and port of the server
	From  string // local IPv4 address of the connections; empty lets the system choose
	Conns int
	Size  int // bytes of each body, at least 16

	Routes routeset.Set // Routed: what the requests take

	Streams int    // HTTP/2: requests in flight on each connection, if the server accepts so many
	CA      string // file of the certificate that the server's one is verified by; empty means cleartext

	Protocol string // Handshake and Resumption: the ALPN protocol

	Path string // Bodies: path of the requests; of a PUT, its start, which the number of the connection follows
	Put  bool   // Bodies: requests are PUTs with bodies of Size; otherwise the responses have such bodies

	Cores []int // cores that the client may use; empty means all
}

// Load describes one run. With a Rate, requests are sent on the connections in turn. With neither Rate nor Once, all connections are busy:
// each response triggers the next request.
type Load struct {
	Rate   float64       // requests a second, in turn over all connections
	Once   int           // if not 0: one request on each connection, at most Once in flight; the window ends with the last response
	Warm   time.Duration // from the first request to the window
	Window time.Duration // length of the measurement; with a Rate, requests that are due in the window are measured
	PIDs   []int         // processes whose CPU time in the window is reported

	Patience time.Duration // how long to wait for responses after the window; 0 means 15 s
}

// Report is the result of a Load.
type Report struct {
	Requests int           // number of responses in the window
	Bytes    int64         // Bodies: bytes of response bodies received in the window, or of request bodies that have their response
	Window   time.Duration // actual length of the window
	CPU      time.Duration // CPU time of Load.PIDs in the window
	Times    Histogram     // from when a request was sent, or due, until its response was verified
	Late     Histogram     // from when a request was due until it was sent

	Failures int    // failed connections and unanswered requests, including those before the window
	Failure  string // text of the first failure
}

// Merge adds the counts of o to r. The first failure is that of r, if r has one.
func (r *Report) Merge(o *Report) {
	r.Requests += o.Requests
	r.Bytes += o.Bytes
	r.Window += o.Window
	r.CPU += o.CPU
	r.Times.Merge(o.Times)
	r.Late.Merge(o.Late)
	r.Failures += o.Failures
	r.Failure = cmp.Or(r.Failure, o.Failure)
}

// Wire is the protocol between client and backend.
type Wire string

// The protocols.
const (
	HTTP1 Wire = "http1"
	HTTP2 Wire = "http2"
	Bolt  Wire = "bolt"

	Routed Wire = "routed" // HTTP/1.1: GET requests that take the routes of Spec.Routes, for a proxy that names the route to the backend

	GRPC       Wire = "grpc"        // unary calls; see package grpcload
	GRPCStream Wire = "grpc-stream" // messages in long bidirectional streams; see package grpcload

	Handshake  Wire = "handshake"  // a client's only: TLS 1.3 connections that are closed after their full handshake
	Resumption Wire = "resumption" // the same, with resumed sessions
)

// wire encodes requests and responses and checks them.
type wire interface {
	// request returns a request that carries id. It is valid until the next call.
	request(id uint64) []byte
	// answered checks the first response in in against request id. It returns the length of the response, or 0 if the response is incomplete.
	checkResponse(in []byte, id uint64) (n int, err error)
	// respond appends the response to the first request in in. It returns the length of the request, or 0 if the request is incomplete.
	respond(dst, in []byte) (out []byte, n int, err error)
}

// newWire returns a protocol. routes is for a client of Routed; bodies of Routed have no size.
func newWire(w Wire, size int, routes routeset.Set) (wire, error) {
	if w == Routed {
		return &routed{set: routes}, nil
	}
	if size < markLen {
		return nil, fmt.Errorf("keepalive: bodies of %d bytes: want %d at least", size, markLen)
	}
	switch w {
	case HTTP1:
		return newHTTP1(size), nil
	case Bolt:
		return newBolt(size)
	}
	return nil, fmt.Errorf("keepalive: wire %q: want %q or %q", w, HTTP1, Bolt)
}

// addrPort parses an IPv4 address and a port.
func addrPort(s string) (netip.AddrPort, error) {
	a, err := netip.ParseAddrPort(s)
	if err != nil || !a.Addr().Is4() {
		return a, fmt.Errorf("keepalive: %q: want an IPv4 address and a port", s)
	}
	return a, nil
}
