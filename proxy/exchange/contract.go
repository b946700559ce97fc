package exchange

import "example.com/ferry/proxy/route"

// The contract between the two sides of a request. A Downstream speaks a client's protocol, an Upstream a server's; neither
// knows the other. A Relay stands between them: it calls both, and both call it. All of them belong to one event loop.
//
//	client ──bytes──► Downstream ──RequestData──► Relay ──RequestData──► Upstream ──bytes──► server
//	client ◄──bytes── Downstream ◄─ResponseData── Relay ◄─ResponseData── Upstream ◄──bytes── server
//
// Bytes, heads and trailers are lent: they are valid until the call returns. A side that cannot take more says so
// (RequestFull, ResponseFull), and the Relay's answer to the other side is "pause". A pause concerns one request only: a side
// that shares its connection among requests withholds that request's flow-control window and reads on for the others.
//
// A body passes as content, or framed: as it lies between the two peers, chunks included. It is framed only if the side that
// takes it says so when it gets the head, which it does if the head is of its own protocol. A framed body has its trailers
// within.

// Downstream is the client's side of a request. Its Relay calls it.
type Downstream interface {
	// SendRequest gives the request to up from its first byte on: Request, RequestData with what Relay.Replay keeps of the body,
	// and RequestEnd if the request is whole. It is called when there is an upstream: within Relay.Forward, later if the request had
	// to wait, and again for each retry.
	SendRequest(up Upstream)
	// ResumeRequest ends a pause of the request's body.
	ResumeRequest()

	// Interim passes on a response of 1xx other than 101. A client of a protocol without such responses does not get it.
	Interim(h ResponseHead)
	// Response begins the response. end says that no body follows. framed asks for the body as it lies. ResponseEnd follows in
	// any case, unless Reset comes first.
	Response(h ResponseHead, end bool) (framed bool)
	ResponseData(p []byte)
	// ResponseEnd ends the response. trailers is nil if there are none. The side calls Relay.Finish.
	ResponseEnd(trailers Fields)
	// Reject answers with a response of the proxy's own, as no other has begun. The side calls Relay.Finish.
	Reject(why Rejection)
	// Reset ends a response that began and cannot be completed, so that the client does not take it for the whole; behind a
	// response it ends the connection, or the stream, whose request body does not come to its end. The side calls Relay.Finish
	// unless it has.
	Reset()

	// ResponseFull reports whether the client has more to read than it should: the response is paused.
	ResponseFull() bool
	// Unsent is how many bytes of the response the client has not taken. It is asked seldom and may call the system.
	Unsent() int
	// BodyRead is how many bytes of the request's body have come from the client.
	BodyRead() int64
}

// Upstream is the server's side of a request. Its Relay calls it. It exists from Connector.Open until it calls ResponseEnd or
// Failed of its Relay, or Cancel is called: afterwards neither calls the other.
type Upstream interface {
	// Request begins the request, changed as Relay.Changes says. end says that no body follows. framed asks for the body as it
	// lies. RequestEnd follows in any case, unless Cancel comes first.
	Request(h RequestHead, end bool) (framed bool)
	RequestData(p []byte)
	// RequestEnd ends the request. trailers is nil if there are none.
	RequestEnd(trailers Fields)
	// ResumeResponse ends a pause of the response's body.
	ResumeResponse()
	// Cancel gives the request up. What the server still sends for it is dropped.
	Cancel()

	// RequestFull reports whether the server has more to read than it should: the request is paused.
	RequestFull() bool
	// Unsent is how many bytes of the request the server has not taken. It is asked seldom and may call the system.
	Unsent() int
	// Reused reports whether the connection served other requests before: the server may have closed it unseen.
	Reused() bool
}

// Connector opens Upstreams of one protocol. Plan has one for each cluster.
type Connector interface {
	// Open returns an Upstream for r at r.Endpoint, nil if too many requests wait for a connection. If ready is false, the request
	// has to wait for one, and the Upstream calls r.Connected when it has it. fresh asks for a connection that has served no other
	// request.
	Open(r *Relay, fresh bool) (up Upstream, ready bool)
}

// Fields are the fields of a head or of trailers, in the order in which they came, without those that concern one connection
// only (RFC 9110, section 7.6.1).
type Fields interface {
	// All calls yield for each field until it returns false, so that a range statement can use it.
	All(yield func(name, value []byte) bool)
	// Get returns the first value of that name, in upper or lower case, nil if there is none.
	Get(name string) []byte
}

// RequestHead is a request's head. Where a protocol lacks something, it is nil. A side whose own protocol h is of asserts its
// type, and takes what it needs without going through the fields.
type RequestHead interface {
	Fields
	Method() []byte
	Scheme() []byte
	Authority() []byte
	Path() []byte                // as sent, without the query
	Query() (q []byte, has bool) // without the question mark
	ContentLength() int64        // bytes, -1 if the head does not say
	// ExpectsContinue reports whether the client waits for 100 Continue before it sends the body (RFC 9110, section 10.1.1). An
	// Upstream passes that on, and the server's 100 comes back as Interim; with Changes.ContinueSent it does not.
	ExpectsContinue() bool
	// UpgradeTo is the protocol the client asks to change to, nil if it does not.
	UpgradeTo() []byte
}

// ResponseHead is a response's head.
type ResponseHead interface {
	Fields
	Status() int
	ContentLength() int64 // bytes, -1 if the head does not say
}

// Changes say how a request's head changes on its way. The downstream side fills them in, and Forward what the route says;
// the upstream side applies them in its own encoding.
type Changes struct {
	Host          string // in place of the request's; empty keeps that
	Strip         int    // bytes of the path that Prefix replaces
	Prefix        string
	ForwardedFor  string // the client's address, for X-Forwarded-For; empty leaves that field alone
	Proto         string // http or https, for X-Forwarded-Proto; empty leaves that field alone
	KeepForwarded bool   // add to the X-Forwarded fields that came, rather than replace them
	Via           string // the proxy's name, for Via; empty for none
	Fields        *route.FieldEdits
	Upgrade       bool // ask for the protocol that the client asks for
	ContinueSent  bool // the proxy has answered 100 Continue itself
}

// Failure is why an Upstream has no response.
type Failure struct {
	Cause    route.Cause // OnConnectFailure or OnReset
	Err      error       // why there is no connection, with OnConnectFailure; nil if that is not known
	TimedOut bool        // the connection was not made in time
	Sent     bool        // the server may have seen some of the request
	Stale    bool        // a connection that served other requests ended without a byte of this response: no fault of the server
}
