package stream

import (
	"bytes"
	"errors"

	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// ServeCalls makes calls serve on this connection and on all later ones, until detach is called. Package rpc calls it: see rpc.Serve.
// A client serves the calls of one value at a time.
func (c *Client) ServeCalls(calls peer.Calls) (detach func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ctx.Err() != nil:
		return nil, ErrClosed
	case c.served != nil:
		return nil, errors.New("stream: the client serves calls already: register all methods with one server")
	}
	c.served = calls
	if c.conn != nil {
		c.conn.attach(&c.conn.served, calls)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.served == calls {
			c.served = nil
		}
	}, nil
}

// MakeCalls returns what create has returned the first time. It makes calls on this connection and on all later ones. Package rpc calls
// it: see rpc.DialNode.
func (c *Client) MakeCalls(create func() peer.Calls) (peer.Calls, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return nil, ErrClosed
	}
	if c.made == nil {
		c.made = create()
		if c.conn != nil {
			c.conn.attach(&c.conn.made, c.made)
		}
	}
	return c.made, nil
}

// attachCalls begins the sessions of calls on a new connection. It is called under the lock.
func (c *Client) attachCalls(cn *conn) {
	if c.served != nil {
		cn.attach(&cn.served, c.served)
	}
	if c.made != nil {
		cn.attach(&cn.made, c.made)
	}
}

// attach begins a session of calls on the connection.
func (cn *conn) attach(at *peer.CallSession, calls peer.Calls) {
	cn.peer.Gather()
	cn.attaching.Lock()
	s := calls.Connected(cn.peer, cn.welcome)
	cn.mu.Lock()
	*at = s
	closing, why := cn.closing, cn.why
	cn.mu.Unlock()
	cn.attaching.Unlock()
	if closing {
		s.Closing(why)
	}
}

// sessions returns the sessions of calls, for a frame that has arrived. It waits for a session that begins: a frame may respond to what
// the session has sent already, and nothing else would end the call that the frame belongs to.
func (cn *conn) sessions() (served, made peer.CallSession) {
	cn.attaching.Lock()
	defer cn.attaching.Unlock()
	cn.mu.Lock()
	defer cn.mu.Unlock()
	return cn.served, cn.made
}

// onClosing is called when the connection begins to close.
func (cn *conn) onClosing(why error) {
	cn.mu.Lock()
	cn.closing, cn.why = true, why
	served, made := cn.served, cn.made
	cn.mu.Unlock()
	for _, s := range []peer.CallSession{served, made} {
		if s != nil {
			s.Closing(why)
		}
	}
}

// drainCalls waits until the client makes no call. It reports whether the client may have made calls.
func (cn *conn) drainCalls() bool {
	cn.mu.Lock()
	made := cn.made
	cn.mu.Unlock()
	if made == nil {
		return false
	}
	made.Drain()
	return true
}

// callFrame passes a frame of a call to the session of calls that it belongs to. Without one it discards the frame: the node sends
// calls only to clients that have offered services, and responses only to those that have made calls.
func (r *receiver) callFrame(f native.Frame) error {
	if f.Kind() == native.Method {
		v, err := native.ParseMethod(f)
		if err != nil {
			return err
		}
		if r.methods == nil {
			r.methods = map[uint16][]byte{}
		}
		r.methods[v.Number] = bytes.Clone(f)
	}
	made := f.Kind() == native.Reply || f.Kind() != native.Method && f.Kind() != native.Call && f.OddCall()
	s, next := r.conn.sessions()
	own := &r.served
	if made {
		s, own = next, &r.made
	}
	if s == nil {
		return nil
	}
	if s != own.session {
		own.session, own.receiver = s, s.NewReceiver()
		if !made {
			for _, m := range r.methods {
				if err := own.receiver.Handle(m); err != nil {
					return err
				}
			}
			if f.Kind() == native.Method {
				return nil
			}
		}
	}
	return own.receiver.Handle(f)
}

// callReceiver handles the frames of a session on one stream.
type callReceiver struct {
	session  peer.CallSession
	receiver peer.CallReceiver
}
