package rpc

import (
	"context"
	"sync/atomic"
	"time"

	"example.com/ferry/internal/balance"
	"example.com/ferry/internal/bufpool"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
)

// attempt sends the request of a call once.
type attempt struct {
	client   *Client
	content  *envelope.Content
	head     call.Head
	body     *bufpool.Buf // retained
	wrapped  *bufpool.Buf // body in its envelope; nil without one
	wait     bool
	traffic  *traffic
	avoid    *balance.Endpoint                // where another attempt has just failed
	endpoint atomic.Pointer[balance.Endpoint] // where this one went; nil before
	lost     atomic.Bool                      // another attempt has succeeded, and this one was cancelled
	relayed  bool                             // a node was to pass it on
	ownLimit bool                             // the deadline is that of ClientConfig.Timeout, not the caller's
	took     time.Duration                    // from the choice of the connection to the response
	resp     call.Response
	result   []byte       // the encoded response: part of resp.Data
	status   *call.Status // nil means success
}

// of prepares a as an attempt of u.
func (a *attempt) of(u *unaryCall) {
	u.body.Retain()
	*a = attempt{client: u.client, content: u.content, body: u.body, wait: u.options.wait, ownLimit: u.ownLimit, traffic: &u.traffic}
	a.head = call.Head{
		Method: u.method.name, Content: u.content.Type, Deadline: u.deadline,
		Metadata: u.metadata, Compression: u.options.compression,
	}
}

// setBody makes a copy of data the request.
func (a *attempt) setBody(data []byte) {
	a.body = bufpool.Get(len(data))
	a.body.B = append(a.body.B, data...)
}

// run sends the request and waits for the response.
func (a *attempt) run(ctx context.Context) {
	c := a.client
	conn, status := c.pick(ctx, a.head.Deadline, a.wait, a.avoid)
	if status != nil {
		a.status = status
		return
	}
	a.runOn(ctx, conn)
}

// runOn sends the request on conn, which pick has returned, and waits for the response.
func (a *attempt) runOn(ctx context.Context, conn *conn) {
	c := a.client
	a.endpoint.Store(&conn.endpoint.Endpoint)
	a.relayed = conn.relayed
	start := c.now()
	err := a.send(ctx, conn)
	now := c.now()
	a.status = call.StatusOf(err)
	a.took = now - start
	if a.resp.Unsent && !a.resp.Busy && a.status.Code == call.Unavailable {
		conn.giveUp()
	}
	conn.done(a.outcome(conn), a.took, now)
}

// send makes the call on conn.
func (a *attempt) send(ctx context.Context, conn *conn) error {
	data, id := a.body.B, uint64(0)
	if e := a.content.Envelope; e != nil {
		if conn.numbered != nil {
			id = conn.numbered.NextID()
			a.head.ID = id
		} else {
			id = a.client.ids.Add(1)
		}
		a.wrapped = bufpool.Get(len(data) + 256)
		var err error
		if a.wrapped.B, err = e.AppendRequest(a.wrapped.B, envelope.Request{Method: a.head.Method, ID: id, Body: data}); err != nil {
			return statusf(call.InvalidArgument, "the request cannot be put into its envelope: %v", err)
		}
		data = a.wrapped.B
	}
	a.traffic.sent(data)
	if err := conn.Call(ctx, &a.head, data, &a.resp); err != nil {
		return err
	}
	a.traffic.received(a.resp.Data)
	if err := checkSize("response", len(a.resp.Data), a.client.cfg.MaxMessage); err != nil {
		return err
	}
	a.result = a.resp.Data
	if a.content.Envelope == nil {
		return nil
	}
	r, err := a.content.Envelope.ParseResponse(a.resp.Data)
	switch {
	case err != nil:
		return err
	case r.Status != nil:
		return r.Status
	case r.ID != 0 && r.ID != id:
		return statusf(call.Internal, "the response's envelope has the id %d, and the request has %d", r.ID, id)
	case r.Method != "" && r.Method != a.head.Method:
		return statusf(call.Internal, "the response's envelope names the method %q, and the request %s", r.Method, a.head.Method)
	}
	a.result = r.Body
	return nil
}

// outcome returns what the balancer learns of the attempt.
func (a *attempt) outcome(conn *conn) balance.Outcome {
	switch {
	case a.status != nil && a.resp.Unsent:
		return balance.Canceled // a server that drains has not failed
	case a.status != nil && a.lost.Load():
		return balance.Timeout // slower than a second attempt that began later
	case a.ownLimit && a.status != nil && a.status.Code == call.DeadlineExceeded:
		return balance.Timeout
	}
	return conn.outcome(a.status)
}

// release gives back the memory of the attempt.
func (a *attempt) release() {
	a.resp.Release()
	a.body.Release()
	if a.wrapped != nil {
		a.wrapped.Release()
	}
	a.body, a.wrapped, a.result = nil, nil, nil
}
