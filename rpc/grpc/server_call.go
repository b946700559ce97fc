package grpc

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/compress"
	"example.com/ferry/internal/h2conn"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/internal/callctx"
)

// serverCall is a server's end of a call:
//
//	gathering ──► running ──► finished
//	    └─── refused, or cancelled ──┘
//
// gathering: the handler of a method with one request waits for all of it, and for its end: it must be one message. A call of another shape
// begins with running.
type serverCall struct {
	pipe
	conn   *serverConn
	ctx    *callctx.Context
	found  found
	head   call.Head
	unary  bool // each side sends one message
	single bool // the client sends one message

	wire        string // content-type of the response
	compression string // of the response

	// These fields are guarded by the lock of the connection.
	running    bool
	since      time.Time // of the first tick while the call gathers
	finished   bool
	headerSent bool
	header     call.Metadata
}

var (
	_           call.ServerStream = (*serverCall)(nil)
	_           call.Undecodable  = (*serverCall)(nil)
	errFinished                   = errors.New("grpc: the call has ended, so nothing can be sent")
	errSent                       = errors.New("grpc: the header is sent already: set it before the first message")
	serverCalls sync.Pool         // calls of unary methods
	unfinished  = &call.Status{Code: call.Internal, Message: "grpc: the service has not finished the call"}
)

func newServerCall(c *serverConn, s *http2.Stream, f found) *serverCall {
	unary, single := false, false
	if f.method != nil {
		clientStreams, serverStreams := f.method.Shape()
		unary, single = !clientStreams && !serverStreams, !clientStreams
	}
	var sc *serverCall
	if unary {
		sc, _ = serverCalls.Get().(*serverCall)
	}
	if sc == nil {
		sc = &serverCall{pipe: newPipe(nil)}
	}
	sc.link, sc.conn, sc.stream, sc.found, sc.unary, sc.single = &c.link, c, s, f, unary, single
	return sc
}

// recycle puts the object of a unary call into the pool. Its handler and its stream must not refer to it any more. Objects of streams are not
// used again, because goroutines of their handlers may still refer to them.
func (sc *serverCall) recycle() {
	if !sc.unary {
		return
	}
	for _, c := range []chan struct{}{sc.readable, sc.writable} {
		select {
		case <-c:
		default:
		}
	}
	*sc = serverCall{pipe: pipe{readable: sc.readable, writable: sc.writable}}
	serverCalls.Put(sc)
}

// Run calls the handler. It is called by a worker.
func (sc *serverCall) Run() {
	sc.found.service.Serve(sc.ctx, sc.found.method, sc)
	sc.Finish(nil, unfinished, nil) // has no effect on a finished call
	sc.recycle()
}

// gather lets the handler begin when the request is complete, and lets the client send the rest of it until then. It needs the lock.
func (sc *serverCall) gather() {
	size := prefixSize
	if sc.in != nil {
		var status *call.Status
		if size, status = messageSize(sc.in.B, sc.link.cfg.MaxMessage); status != nil {
			sc.fail(status)
			return
		}
	}
	switch n := sc.arrived(); {
	case n > size || sc.inEnd && n == 0: // doc/statuscodes.md of gRPC, "Request cardinality violation"
		sc.fail(statusf(call.Unimplemented, "grpc: method %s takes one message, and the request has %s", sc.head.Method, countOf(n)))
	case sc.inEnd: // a message that is cut off is the error of Recv
		sc.conn.start(sc)
	default:
		sc.giveCredit()
	}
}

func countOf(bytes int) string {
	if bytes == 0 {
		return "none"
	}
	return "more than one"
}

// fail ends the call with a status. A running handler gets it from Recv and Send. It needs the lock.
func (sc *serverCall) fail(status *call.Status) {
	if sc.running {
		sc.dropArrived()
		sc.end(status)
		sc.ctx.End(context.Canceled)
		return
	}
	sc.write(nil, false, status, nil)
	sc.drop()
	sc.ctx.End(context.Canceled)
	sc.recycle()
}

// reset cancels the call because its stream has ended. It needs the lock.
func (sc *serverCall) reset(why http2.StreamError) {
	sc.dropArrived()
	if !sc.running {
		sc.drop()
		sc.ctx.End(context.Canceled)
		sc.recycle()
		return
	}
	sc.end(statusf(call.Canceled, "grpc: %v", why))
	sc.ctx.End(context.Canceled)
}

// drop releases the stream. It needs the lock.
func (sc *serverCall) drop() {
	sc.finished = true
	sc.dropArrived()
	sc.stopCounting()
	sc.stream.Release()
	sc.stream = nil
}

// Head returns the head of the call.
func (sc *serverCall) Head() *call.Head { return &sc.head }

// UndecodableCode returns the code of a request that its codec cannot decode. doc/statuscodes.md of gRPC.
func (sc *serverCall) UndecodableCode() call.Code { return call.Internal }

// Peer returns the client.
func (sc *serverCall) Peer() *call.Peer { return &sc.conn.peer }

// Recv returns the next message of the client.
func (sc *serverCall) Recv() ([]byte, error) {
	return sc.recv(sc.ctx)
}

// SetHeader adds to the header.
func (sc *serverCall) SetHeader(m call.Metadata) error {
	if err := m.Check(); err != nil {
		return err
	}
	h2 := sc.conn.h2
	h2.Lock()
	defer h2.Unlock()
	switch {
	case sc.finished:
		return errFinished
	case sc.headerSent:
		return errSent
	}
	sc.header = append(sc.header, m...)
	return nil
}

// Send sends a message.
func (sc *serverCall) Send(data []byte) error {
	if status := checkLength(data); status != nil {
		return status
	}
	small := shrink(data, sc.compression)
	if small != nil {
		data = small.B
		defer small.Release()
	}
	wait := h2conn.Until{Done: sc.ctx.Done()}
	h2 := sc.conn.h2
	h2.Lock()
	defer h2.Unlock()
	if sc.finished {
		return errFinished
	}
	if sc.canSend() {
		sc.writeHeader()
	}
	if !sc.awaitRoom(wait) || !sc.send(data, small != nil, false, wait) {
		switch {
		case sc.broken != nil:
			return sc.broken
		case sc.ctx.Err() != nil:
			return call.StatusOf(sc.ctx.Err())
		}
		return errFinished
	}
	return nil
}

// writeHeader sends the header, unless it is sent. It needs the lock.
func (sc *serverCall) writeHeader() {
	if sc.headerSent {
		return
	}
	sc.headerSent = true
	e := sc.stream.BeginHeaders()
	sc.writeHead(e)
	if sc.compression != "" {
		e.FieldString("grpc-encoding", sc.compression)
	}
	writeMetadata(e, sc.header)
	e.End(false)
}

// writeHead writes the fields that each response begins with.
func (sc *serverCall) writeHead(e *http2.Encoder) {
	e.Status(200)
	e.FieldString("content-type", sc.wire)
	if sc.head.Compression != "" {
		e.FieldString("grpc-accept-encoding", compress.Names)
	}
}

// Finish ends the call. The header, the message and the status of a short response leave in one write. A message of more than 32 KiB waits
// for the client's credit, as in Send: a client that reads nothing cannot make the server queue large responses. What is queued in the end
// is counted by serverConn.Hold, and h2conn.Config.StallTimeout bounds its time.
func (sc *serverCall) Finish(last []byte, status *call.Status, trailer call.Metadata) {
	if err := trailer.Check(); err != nil {
		last, trailer = nil, nil
		if status == nil {
			status = statusf(call.Internal, "the handler sets an invalid trailer: %s", call.StatusOf(err).Message)
		}
	}
	if bad := checkLength(last); bad != nil {
		last, status = nil, bad
	}
	small := (*bufpool.Buf)(nil)
	if last != nil {
		if small = shrink(last, sc.compression); small != nil {
			last = small.B
			defer small.Release()
		}
	}
	h2 := sc.conn.h2
	h2.Lock()
	if sc.finished {
		h2.Unlock()
		return
	}
	sc.finished = true // what another goroutine sends while Finish waits would follow the last message
	sc.write(last, small != nil, status, trailer)
	sc.drop()
	h2.Unlock()
	if sc.unary { // a goroutine that the handler of a stream has left behind may still read the last message
		sc.dropTaken()
	}
	sc.ctx.End(context.Canceled)
}

// write sends the end of a response. It needs the lock, which it unlocks while a large message waits.
func (sc *serverCall) write(last []byte, compressed bool, status *call.Status, trailer call.Metadata) {
	s := sc.stream
	if s.Ended() {
		return
	}
	if last != nil {
		sc.writeHeader()
		wait := h2conn.Until{}
		if len(last) >= h2conn.Piece {
			wait.Done, wait.Idle = sc.ctx.Done(), sc.link.cfg.ResponseTimeout
		}
		if !sc.send(last, compressed, false, wait) {
			return
		}
	} else if len(sc.header) > 0 {
		sc.writeHeader()
	}
	e := s.BeginHeaders()
	if !sc.headerSent {
		sc.writeHead(e) // a response without a message is one head
	}
	maxHeader := sc.conn.h2.HTTP2().PeerMaxHeader()
	status, trailer = fitTrailer(maxHeader, status, trailer)
	writeStatus(e, status, statusRoom(maxHeader, trailer))
	writeMetadata(e, trailer)
	e.End(true)
}
