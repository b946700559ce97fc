package grpc

import (
	"context"
	"time"

	"example.com/ferry/internal/compress"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/rpc/call"
)

// clientCall is what both kinds of calls of a client share: it gets what arrives. Its fields are guarded by the lock of the connection
// until ended is true, and do not change afterwards.
type clientCall struct {
	pipe
	conn     *clientConn
	deadline time.Time // zero means none
	unary    bool      // the response must be one message
	gotHead  bool      // the head of the response has arrived
	ended    bool      // status is final
	unsent   bool      // the server has not begun the call
	busy     bool      // beside unsent: the server has refused this call alone
	status   *call.Status
	header   call.Metadata
	trailer  call.Metadata
	onEnd    func() // called under the lock when the head has arrived and when the call ends; nil if nothing waits
}

// headers takes the head of the response, or its trailers.
func (cc *clientCall) headers(h *http2.Head, end bool) {
	switch {
	case h.Trailers || end:
		cc.endWith(h)
		return
	case h.Status >= 100 && h.Status < 200:
		return // interim
	}
	if status := cc.readHead(h); status != nil {
		cc.abort(status)
		return
	}
	cc.gotHead = true
	if cc.onEnd != nil {
		cc.onEnd()
	}
}

// readHead judges the head of a response with messages.
func (cc *clientCall) readHead(h *http2.Head) *call.Status {
	if h.Status != 200 {
		return statusf(call.CodeOfHTTP(h.Status), "grpc: the server responds with HTTP status %d", h.Status)
	}
	field := h.Get("content-type")
	if _, ok := cc.conn.content.received(field); !ok {
		return statusf(call.Unknown, "grpc: the server responds with content type %.100q, which is not gRPC's", field)
	}
	if encoding := h.Get("grpc-encoding"); len(encoding) > 0 && string(encoding) != "identity" {
		switch string(encoding) {
		case compress.Gzip:
			cc.encoding = compress.Gzip
		case compress.Zstd:
			cc.encoding = compress.Zstd
		default:
			return statusf(call.Internal, "grpc: the server responds with grpc-encoding %.100q, which was not offered", encoding)
		}
	}
	m, ok := readMetadata(h)
	if !ok {
		return statusf(call.Internal, "grpc: the header of the response has a binary value that is not base64, or more than %d values", maxValues)
	}
	cc.header = m
	return nil
}

// endWith ends the call with the status of its last head.
func (cc *clientCall) endWith(h *http2.Head) {
	status, has := readStatus(h)
	switch {
	case !has && !h.Trailers && h.Status != 200:
		status = statusf(call.CodeOfHTTP(h.Status), "grpc: the server responds with HTTP status %d", h.Status)
	case !has:
		status = statusf(call.Unknown, "grpc: the server ends the call without grpc-status")
	}
	m, ok := readMetadata(h)
	if !ok && status == nil {
		status = statusf(call.Internal, "grpc: the trailer of the response has a binary value that is not base64, or more than %d values", maxValues)
	}
	cc.trailer = m
	cc.finish(status)
}

// data takes a piece of the response.
func (cc *clientCall) data(piece []byte, end bool) {
	if !cc.gotHead {
		return
	}
	cc.arrive(piece)
	if cc.unary {
		if status := cc.gather(); status != nil {
			cc.abort(status)
			return
		}
	}
	if end {
		cc.finish(statusf(call.Internal, "grpc: the server ends the call without trailers"))
	}
}

// gather checks the one message of a unary response as it arrives, and lets the server send the rest of it.
func (cc *clientCall) gather() *call.Status {
	if cc.in == nil {
		return nil
	}
	size, status := messageSize(cc.in.B, cc.link.cfg.MaxMessage)
	switch {
	case status != nil:
		return status
	case len(cc.in.B) > size && len(cc.in.B) > prefixSize:
		return statusf(call.Unimplemented, "grpc: the server sends more than one message, but the call is unary") // doc/statuscodes.md of gRPC
	}
	cc.giveCredit()
	return nil
}

// reset ends the call early.
func (cc *clientCall) reset(why http2.StreamError) {
	why.Refused = why.Refused && !cc.gotHead // a server that responds has begun
	cc.unsent = why.Refused
	cc.busy = why.Refused && cc.conn.unusable() == nil
	status := statusOfReset(why)
	if status.Code == call.Canceled && !cc.deadline.IsZero() && !time.Now().Before(cc.deadline) {
		status = deadlineExceeded() // the server has noticed first
	}
	cc.finish(status)
}

func deadlineExceeded() *call.Status {
	return statusf(call.DeadlineExceeded, "grpc: the deadline has passed")
}

// finish ends the call, unless it has ended, and releases its stream, which is reset if the server has not ended it. It needs the lock.
func (cc *clientCall) finish(status *call.Status) {
	if cc.ended {
		return
	}
	cc.ended, cc.status = true, status
	if s := cc.stream; s != nil {
		cc.stream = nil
		s.Release()
		cc.conn.admit()
	}
	if cc.onEnd != nil {
		cc.onEnd()
	}
	cc.end(status)
}

// abort ends the call, unless it has ended, before the server has ended it. It needs the lock.
func (cc *clientCall) abort(status *call.Status) {
	if cc.stream != nil {
		cc.stream.Reset(http2.Cancel)
	}
	cc.finish(status)
}

// start opens a stream and sends the head. It needs the lock. On an error, the server knows nothing of the call.
func (cc *clientCall) start(ctx context.Context, head *call.Head, timeout <-chan time.Time) *call.Status {
	s, status := cc.conn.open(ctx, timeout)
	if status != nil {
		return status
	}
	left := time.Duration(0)
	if !cc.deadline.IsZero() {
		left = max(time.Until(cc.deadline), 1)
	}
	if status := cc.conn.writeHead(s, head, left); status != nil {
		s.Release()
		cc.conn.admit()
		return status
	}
	cc.stream = s
	s.User = cc
	return nil
}
