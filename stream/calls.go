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
	case c.calls != nil:
		return nil, errors.New("stream: the client serves calls already: register all methods with one server")
	}
	c.calls = calls
	if c.conn != nil {
		c.conn.attach(calls)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.calls == calls {
			c.calls = nil
		}
	}, nil
}

// attach begins a session of calls on the connection.
func (cn *conn) attach(calls peer.Calls) {
	s := calls.Connected(cn.peer, cn.welcome)
	cn.mu.Lock()
	cn.calls = s
	closing, why := cn.closing, cn.why
	cn.mu.Unlock()
	if closing {
		s.Closing(why)
	}
}

// onClosing is called when the connection begins to close.
func (cn *conn) onClosing(why error) {
	cn.mu.Lock()
	cn.closing, cn.why = true, why
	calls := cn.calls
	cn.mu.Unlock()
	if calls != nil {
		calls.Closing(why)
	}
}

// callFrame passes a frame of a call to the session of calls. Without one it discards the frame: the node sends calls only to clients
// that have offered services.
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
	r.conn.mu.Lock()
	s := r.conn.calls
	r.conn.mu.Unlock()
	if s == nil {
		return nil
	}
	if s != r.session {
		r.session, r.calls = s, s.NewReceiver()
		for _, m := range r.methods {
			if err := r.calls.Handle(m); err != nil {
				return err
			}
		}
		if f.Kind() == native.Method {
			return nil
		}
	}
	return r.calls.Handle(f)
}
