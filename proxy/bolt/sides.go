package bolt

import (
	"time"

	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
)

// A request has two sides. The client's connection is its downstream (session), a connection to an endpoint its upstream
// (upstreamConn). They meet in the request and in the two interfaces below; neither uses the other's fields.
//
//	client ──frames──► session ──send, startUpload──► upstreamConn ──frames──► server
//	client ◄──frames── session ◄──respond, startLarge── upstreamConn ◄──frames── server
//
// This is the contract of package exchange, cut down to one protocol. An upstream connection carries the requests of many clients,
// a frame passes renumbered in place, and requests of one connection share one deadline timer; an exchange.Relay for each request
// would copy and time each of them. Frames are lent: they are valid until the call returns.

// downstream is the client's side, as the upstream side uses it.
type downstream interface {
	// respond writes a whole response and ends r. frame has the client's request id.
	respond(r *request, frame []byte, status wire.Status)
	// respondStatus ends r with a response of the proxy's own.
	respondStatus(r *request, status wire.Status)
	// endRequest ends r without writing a response.
	endRequest(r *request, status wire.Status)

	// startLarge begins a response that comes in pieces. endLarge or failLarge follows.
	startLarge(r *request)
	// largeData writes a piece. It reports whether the client takes no more for now: the upstream may pause until resume.
	largeData(r *request, p []byte) (full bool)
	// endLarge ends the response and r.
	endLarge(r *request, status wire.Status)
	// failLarge ends r within its response. The client gets an error response, or is disconnected if it has seen a part.
	failLarge(r *request, cause error)

	// uploading reports whether an upload has started. Before, nothing of its frame was sent.
	uploading() bool
	// uploadPending reports whether r is a large request of which nothing was sent.
	uploadPending(r *request) bool
	// connectUpload chooses a connection for a large request of which nothing was sent.
	connectUpload(r *request)
	// uploadLost is called when the connection of the upload is closed. notConnected is why it was never open, nil if it was.
	uploadLost(why route.Cause, notConnected error)

	// block stops reading from the client until unblock, because u takes no more. It reports whether it was not blocked before.
	block(u upstreamSide) bool
	unblock()
	// resume continues an upload that waited for the upstream.
	resume()

	// closing reports whether the client's connection is about to end: a connection that is opened for it is closed when idle.
	closing() bool
	frameTimeout() time.Duration
	checksCRC() bool
}

// upstreamSide is a connection to an endpoint, as the downstream side uses it.
type upstreamSide interface {
	// cancel gives up a request that the connection holds. Its response will be discarded.
	cancel(r *request)
	// unblocked removes d from those that wait for the endpoint to read.
	unblocked(d downstream)
	// resume ends the pause that largeData asked for.
	resume()

	// uploadBlocked reports whether the connection takes nothing of an upload now. downstream.resume follows.
	uploadBlocked() bool
	// startUpload returns the id that a large request is sent with.
	startUpload(r *request) (id uint32)
	uploadData(p []byte)
	// endUpload is called behind the last byte: the time for the response begins.
	endUpload(id uint32)
	// abortUpload ends the connection within an upload. It returns the request, nil if that has ended. The attempt counts as
	// canceled, not as the endpoint's failure.
	abortUpload(id uint32, cause error) *request
	// releaseUpload gives the connection back before the upload has started.
	releaseUpload()
}

var (
	_ downstream   = (*session)(nil)
	_ upstreamSide = (*upstreamConn)(nil)
)
