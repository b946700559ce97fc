package bolt

import (
	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/upstream"
)

// uploadConn returns a connection with nothing in flight for a large frame of d, or nil if there can be none. If a
// client leaves before its frame is complete, the connection must be closed. So no other request may wait for a
// response on it.
func (p *pool) uploadConn(dialect wire.Dialect, d downstream) upstreamSide {
	u := p.exclusiveConn(dialect, d.closing())
	if u == nil {
		return nil
	}
	u.uploadClient = d
	return u
}

func (u *upstreamConn) uploadBlocked() bool { return !u.connected || u.socket.Full() }

func (u *upstreamConn) startUpload(r *request) (id uint32) {
	if r.oneway {
		return u.sent.nextID()
	}
	r.upstream = u
	return u.sent.add(r)
}

func (u *upstreamConn) uploadData(p []byte) {
	u.socket.Write(p)
	u.usedAt = u.pool.loop.Now()
}

func (u *upstreamConn) endUpload(id uint32) {
	if r := u.sent.find(id); r != nil {
		r.receivedAt = u.pool.loop.Now()
		r.setDeadline(r.receivedAt)
		u.watchDeadline(r.deadline)
	}
	u.releaseUpload()
}

func (u *upstreamConn) abortUpload(id uint32, cause error) *request {
	r := u.sent.find(id)
	if r != nil {
		u.cancel(r)
		r.exchange.EndAttempt(upstream.Canceled)
	}
	u.abort(cause)
	return r
}

func (u *upstreamConn) releaseUpload() {
	u.uploadClient = nil
	if len(u.deferredControl) > 0 {
		u.socket.Write(u.deferredControl)
		u.deferredControl = nil
	}
	u.closeIfDone()
}
