package bolt

import (
	"fmt"
	"slices"
)

// A server that reads too slowly fills the queue of its connection. Each client whose frame has filled the queue, or found it full, is
// not read until the queue has drained. So a queue exceeds its high watermark by one frame of each client at most, also with oneways,
// which no response bounds.

// blockIfFull stops reading from the client d while the queue is full.
func (u *upstreamConn) blockIfFull(d downstream) {
	if !u.socket.Full() || !d.block(u) {
		return
	}
	if u.blocked = append(u.blocked, d); len(u.blocked) == 1 {
		u.startWriteTimer(d)
	}
}

// unblockAll resumes reading from all clients that blockIfFull has stopped.
func (u *upstreamConn) unblockAll() {
	blocked := u.blocked
	u.blocked = nil
	for _, d := range blocked {
		d.unblock()
	}
}

// unblocked removes a client that has left.
func (u *upstreamConn) unblocked(d downstream) {
	u.blocked = slices.DeleteFunc(u.blocked, func(other downstream) bool { return other == d })
}

// startWriteTimer gives the server the frame_timeout of d to read a part of the queue.
func (u *upstreamConn) startWriteTimer(d downstream) {
	u.queuedBefore = u.socket.Queued()
	u.socket.SetTimer(stalledWriteTimer, d.frameTimeout())
}

// checkWriteProgress ends the connection of a server that has read nothing for frame_timeout.
func (u *upstreamConn) checkWriteProgress() {
	switch {
	case len(u.blocked) == 0:
	case u.socket.Queued() < u.queuedBefore:
		u.startWriteTimer(u.blocked[0])
	default:
		u.abort(fmt.Errorf("bolt: %v reads none of %d bytes of requests: frame_timeout", u.pool.endpoint.Addr(), u.socket.Queued()))
	}
}
