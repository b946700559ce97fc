package exchange

import (
	"example.com/ferry/loop"
	"example.com/ferry/protocol/http1"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/upstream"
)

// The contract between the two sides of a request. A Downstream speaks the client's protocol, an Upstream speaks the
// server's. Neither knows the other: a Relay stands between them. The Relay calls both sides, and both sides call the
// Relay. All three belong to one event loop.
//
//	client ──bytes──► Downstream ──RequestData──► Relay ──RequestData──► Upstream ──bytes──► server
//	client ◄──bytes── Downstream ◄─ResponseData── Relay ◄─ResponseData── Upstream ◄──bytes── server
//
// Bytes, heads and trailers are lent: they are valid until the call returns. A side whose queue is full reports it
// (RequestFull, ResponseFull). The Relay then tells the other side to pause. A pause concerns one request only. A
// side whose connection carries several requests withholds that request's flow-control window and keeps reading for
// the others.
//
// A body passes in one of two forms. Content is the body without its framing. A framed body is the body's bytes as
// received, chunk headers and trailers included. The receiving side gets a framed body only if it asks for one when
// it gets the head. It asks if the head is of its own protocol.
//
// A request with Changes.Upgrade asks for a tunnel to the protocol UpgradeTo. Neither RequestData nor RequestEnd comes
// before its response. The server accepts with a status 2xx, in HTTP/1.1 with 101, which the Upstream passes on as 200.
// Afterwards both bodies are the bytes of the tunnel, and end when a side ends. Every other response refuses the tunnel.
// Two sides of HTTP/1.1 join their connections instead and leave the Relay.

// Downstream is the client's side of a request. Its Relay calls it.
type Downstream interface {
	// ClientAddr returns the client's IP address without a port, or an empty string if there is none.
	ClientAddr() string
	// RequestHead returns the request's head, or nil before it is complete.
	RequestHead() RequestHead

	// SendRequest sends the request to up from its first byte: Request, then RequestData with the body bytes in
	// Relay.Replay, then RequestEnd if the request is complete. The Relay calls it once a request that has waited has its
	// connection, and in each further attempt.
	SendRequest(up Upstream)
	// ResumeRequest ends a pause of the request's body.
	ResumeRequest()

	// Interim passes on a 1xx response other than 101. If the client's protocol has no such responses, Interim does
	// nothing.
	Interim(h ResponseHead)
	// Response begins the response. end means that no body follows. The side returns framed to ask for a framed body.
	// ResponseEnd follows in any case, unless Reset is called first.
	Response(h ResponseHead, end bool) (framed bool)
	// ResponseData passes on a piece of the body. last means that ResponseEnd follows without trailers. It is false if that
	// is not known yet.
	ResponseData(p []byte, last bool)
	// ResponseEnd ends the response. trailers is nil if there are none. The side then calls Relay.Finish.
	ResponseEnd(trailers Fields)
	// Respond sends a response of the proxy's own that is no error: that of a route without a cluster. The Relay calls it within Relay.Respond.
	Respond(status int, fields []http1.Pair, body string)
	// Reject sends an error response of the proxy's own. The Relay calls Reject only before a response has started. The side
	// then calls Relay.Finish.
	Reject(why Rejection)
	// Reset ends a response that has started and cannot be completed, so that the client does not treat the response
	// as complete. After a complete response, Reset ends the connection or the stream, because the rest of the
	// request body will not arrive. The side then calls Relay.Finish, unless it has called Relay.Finish before.
	Reset()

	// ResponseFull reports whether the client's queue is at its high watermark. The response is then paused.
	ResponseFull() bool
	// Unsent returns the number of response bytes that the client has not acknowledged. The Relay calls it seldom, so
	// it may make a system call.
	Unsent() int
	// BodyRead returns the number of request body bytes that were read from the client.
	BodyRead() int64
}

// Upstream is the server's side of a request. Its Relay calls it. Connector.Open creates an Upstream. It lives until
// it calls Relay.ResponseEnd, Relay.UpstreamFailed or Relay.ResponseMalformed, or until the Relay calls Cancel.
// Afterwards neither calls the other.
type Upstream interface {
	// Request begins the request and applies Relay.Changes to the head. end means that no body follows. The side
	// returns framed to ask for a framed body. RequestEnd follows in any case, unless Cancel is called first.
	Request(h RequestHead, end bool) (framed bool)
	// RequestData passes on a piece of the body. last means that RequestEnd follows without trailers. It is false if that is
	// not known yet.
	RequestData(p []byte, last bool)
	// RequestEnd ends the request. trailers is nil if there are none.
	RequestEnd(trailers Fields)
	// ResumeResponse ends a pause of the response's body.
	ResumeResponse()
	// Cancel abandons the request. Whatever the server still sends for the request is discarded.
	Cancel()

	// RequestFull reports whether the server's queue is at its high watermark. The request is then paused.
	RequestFull() bool
	// Unsent returns the number of request bytes that the server has not acknowledged. The Relay calls it seldom, so
	// it may make a system call.
	Unsent() int
	// MayResend says which requests the Relay may have to send again even if the route has no retry policy. In HTTP/1.1,
	// idempotent requests on a reused connection may be sent again: the server may have closed it without the proxy's
	// noticing. In HTTP/2, a server may refuse any stream. h is the request's head before Request, and then nil.
	MayResend(h RequestHead, idempotent bool) Resend
}

// Resend is what a failed connection may leave to do for the Relay.
type Resend uint8

// The values of Resend.
const (
	ResendNone   Resend = iota
	ResendUnsent        // the Upstream keeps a request of which no byte was sent: it calls ReplayBuffer.KeepUnsent
	ResendAll
)

// ResponseSink is a Downstream whose client the loop can write a framed body to, without the Downstream's seeing the bytes: see
// loop.Splicer.
type ResponseSink interface {
	// ResponseConn returns the client's connection, or nil while ResponseData is needed.
	ResponseConn() *loop.Conn
	// ResponseSpliced counts n bytes of the body that were written to ResponseConn.
	ResponseSpliced(n int)
}

// RequestSink is an Upstream whose server the loop can write a framed body to, without the Upstream's seeing the bytes.
type RequestSink interface {
	// RequestConn returns the server's connection, or nil while RequestData is needed.
	RequestConn() *loop.Conn
	// RequestSpliced counts n bytes of the body that were written to RequestConn.
	RequestSpliced(n int)
}

// Connector opens Upstreams of one protocol. A Plan has one Connector for each cluster.
type Connector interface {
	// Open returns an Upstream that connects r to r.Endpoint. up is nil if too many requests already wait for a
	// connection. If ready is false, the request waits for a connection, and the Upstream calls r.Connected once the
	// connection is available. fresh asks for a connection that has served no other request.
	Open(r *Relay, fresh bool) (up Upstream, ready bool)
}

// Fields are the fields of a head or of trailers, in their original order. Fields that concern one connection only
// are left out (RFC 9110, section 7.6.1).
type Fields interface {
	// All calls yield for each field until yield returns false. All can be used in a range statement.
	All(yield func(name, value []byte) bool)
	// Get returns the first value of the field called name, or nil if there is no such field. Case does not matter.
	Get(name string) []byte
}

// RequestHead is a request's head. A part that the protocol does not have is nil. A side may use a type assertion to
// recognize a head of its own protocol, and then read the head directly.
type RequestHead interface {
	Fields
	route.Values
	Method() []byte
	Scheme() []byte
	Authority() []byte
	Path() []byte                // as sent, without the query; empty for OPTIONS *
	Query() (q []byte, has bool) // without the question mark; has is false if the path has none
	ContentLength() int64        // in bytes; -1 if the head does not say
	// ExpectsContinue reports whether the client waits for 100 Continue before it sends the body (RFC 9110, section
	// 10.1.1). An Upstream forwards the expectation, and the server's 100 returns through Interim. If
	// Changes.NoExpect is true, the Upstream does not forward the expectation.
	ExpectsContinue() bool
	// UpgradeTo returns the protocol that the client asks to upgrade to, or nil.
	UpgradeTo() []byte
}

// ResponseHead is the head of a response.
type ResponseHead interface {
	Fields
	Status() int
	ContentLength() int64 // in bytes; -1 if the head does not say
}

// Changes are the changes to a request's head on its way to the server. The downstream side fills in the listener's
// changes, and Forward adds those of the route. The upstream side applies all of them in its own encoding. Upgrade asks the server for a tunnel.
// NoExpect means that the proxy has already sent 100 Continue to the client.
type Changes struct{ http1.RequestEdit }

// SetForwarded sets what servers learn of a client by X-Forwarded fields. addr is empty if the client has no address or it is not known: the
// client's own X-Forwarded-For is removed nevertheless. trusted means that the client is a proxy whose fields stay.
func (c *Changes) SetForwarded(addr string, tls, trusted bool) {
	c.ForwardedFor, c.Proto, c.KeepForwarded, c.NoForwardedFor = addr, "http", trusted, !trusted
	if tls {
		c.Proto = "https"
	}
}

// Failure describes why an attempt has no response.
type Failure struct {
	Cause     route.Cause // OnConnectFailure, OnReset or OnRefusedStream
	Err       error       // why connecting failed; set with OnConnectFailure, nil if unknown
	TimedOut  bool        // connecting took too long
	Sent      bool        // the server may have processed a part of the request
	Canceled  bool        // the server has canceled the request: RST_STREAM with CANCEL
	Stale     bool        // not a fault of the server: a reused connection ended before the first byte of the response, or the server goes away
	Shared    bool        // the loss of a connection that requests share; set for one of them, as the endpoint has failed once
	Blameless bool        // the connection is one whose loss says nothing about the endpoint
}

// outcome returns what the failure says about the endpoint.
func (f *Failure) outcome() upstream.Outcome {
	switch {
	case f.Blameless:
		return upstream.Canceled
	case f.Shared:
		return upstream.Unavailable
	}
	return outcomeByCause[f.Cause]
}
