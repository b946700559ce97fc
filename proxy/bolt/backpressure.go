package bolt

import (
	"fmt"
	"slices"
)

// Backpressure from a slow server. A server that reads too slowly fills the queue of its connection. A client is
// paused if its frame fills the queue or finds the queue full. The client resumes when the queue has drained. So a
// queue exceeds its high watermark by at most one frame of each client. This also bounds oneways, which have no
// response.

// blockIfFull stops reading from the client d while the queue is full.
func (u *upstreamConn) blockIfFull(d *session) {
	if !u.socket.Full() || !d.block(u) {
		return
	}
	if u.blocked = append(u.blocked, d); len(u.blocked) == 1 {
		u.startWriteTimer(d)
	}
}

// unblockAll resumes reading from all clients that blockIfFull has paused.
func (u *upstreamConn) unblockAll() {
	blocked := u.blocked
	u.blocked = nil
	for _, d := range blocked {
		d.unblock()
	}
}

// unblocked removes client d, which has left, from the paused clients.
func (u *upstreamConn) unblocked(d *session) {
	u.blocked = slices.DeleteFunc(u.blocked, func(other *session) bool { return other == d })
}

// startWriteTimer gives the server frame_timeout to read a part of the queue. The frame_timeout is that of d's
// listener.
func (u *upstreamConn) startWriteTimer(d *session) {
	u.queuedBefore = u.socket.Queued()
	u.socket.SetTimer(stalledWriteTimer, d.frameTimeout())
}

// checkWriteProgress aborts the connection of a server that has read nothing for frame_timeout.
func (u *upstreamConn) checkWriteProgress() {
	switch {
	case len(u.blocked) == 0:
	case u.socket.Queued() < u.queuedBefore:
		u.startWriteTimer(u.blocked[0])
	default:
		u.abort(fmt.Errorf("bolt: %v reads none of %d bytes of requests: frame_timeout", u.pool.endpoint.Addr(), u.socket.Queued()))
	}
}
