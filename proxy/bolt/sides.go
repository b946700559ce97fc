package bolt

import (
	"time"

	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/route"
)

// The two sides of a request. The downstream side (session) is the client's connection. The upstream side
// (upstreamConn) is a connection to an endpoint. They share the request and call each other through the two
// interfaces below. Neither uses the other's fields.
//
//	client ──frames──► session ──send, startUpload──► upstreamConn ──frames──► server
//	client ◄──frames── session ◄──respond, startLarge── upstreamConn ◄──frames── server
//
// This is a reduced form of the contract in package exchange, for one protocol. An upstream connection carries the
// requests of many clients, a frame is renumbered in place, and the requests of a connection share one deadline
// timer. An exchange.Relay for each request would need a copy and timers for each request. Frames are lent: they are
// valid until the call returns.

// downstream is the client's side, as the upstream side uses it.
type downstream interface {
	// respond writes a whole response and ends r. frame already has the client's request id.
	respond(r *request, frame []byte, status wire.Status)
	// respondStatus ends r with a response of the proxy's own.
	respondStatus(r *request, status wire.Status)
	// endRequest ends r without writing a response.
	endRequest(r *request, status wire.Status)

	// startLarge begins a response that arrives in pieces. endLarge or failLarge follows.
	startLarge(r *request)
	// largeData writes a piece of the response. full means that the client's queue is full: the upstream may pause
	// until resume.
	largeData(r *request, p []byte) (full bool)
	// endLarge ends the response and ends r.
	endLarge(r *request, status wire.Status)
	// failLarge ends r before its response is complete. If the client has received a part of the response, the client
	// is disconnected. Otherwise the client gets an error response.
	failLarge(r *request, cause error)

	// uploading reports whether the first piece of an upload has been sent.
	uploading() bool
	// uploadPending reports whether r is a large request whose first piece has not been sent.
	uploadPending(r *request) bool
	// connectUpload chooses a connection for large request r, whose first piece has not been sent.
	connectUpload(r *request)
	// uploadLost is called when the connection of the upload is closed. notConnected is the reason if the connection
	// was never open, else nil.
	uploadLost(why route.Cause, notConnected error)

	// block pauses reading from the client until unblock, because the queue of u is full. It returns false if the
	// client was already paused.
	block(u upstreamSide) bool
	unblock()
	// resume continues an upload that waits for the upstream.
	resume()

	// closing reports whether the client's connection is about to be closed. An upstream connection opened for such a
	// client is closed when idle.
	closing() bool
	frameTimeout() time.Duration
	checksCRC() bool
}

// upstreamSide is a connection to an endpoint, as the downstream side uses it.
type upstreamSide interface {
	// cancel abandons a request that the connection holds. Its response will be discarded.
	cancel(r *request)
	// unblocked removes d from the clients that are paused until the endpoint reads.
	unblocked(d downstream)
	// resume resumes reading, which was paused after largeData returned full.
	resume()

	// uploadBlocked reports whether the connection cannot accept upload bytes now. It calls downstream.resume later.
	uploadBlocked() bool
	// startUpload assigns large request r the id of its frame on this connection.
	startUpload(r *request) (id uint32)
	uploadData(p []byte)
	// endUpload is called after the last byte of the upload. The response timeout starts.
	endUpload(id uint32)
	// abortUpload aborts the connection before the upload is complete. It returns the request, or nil if the request
	// has already ended. The attempt counts as canceled, not as a failure of the endpoint.
	abortUpload(id uint32, cause error) *request
	// releaseUpload makes the connection available to other requests. The upload has ended or has not started.
	releaseUpload()
}

var (
	_ downstream   = (*session)(nil)
	_ upstreamSide = (*upstreamConn)(nil)
)
