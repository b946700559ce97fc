package jsonrpc

import (
	"context"
	"io"
	"slices"
	"sync"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
)

// serverCall is one call at a server: call.ServerStream over a request that has arrived whole.
type serverCall struct {
	head     call.Head
	peer     *call.Peer
	envelope envelope.Envelope // nil for a plain call
	request  envelope.Request

	mu       sync.Mutex // SetHeader and Recv may come late, from a goroutine that a handler has left behind
	header   call.Metadata
	trailer  call.Metadata
	sent     []byte       // by Send
	response *bufpool.Buf // the result in its envelope; nil for a notification
	status   *call.Status
	received bool
	finished bool
}

var _ call.ServerStream = (*serverCall)(nil)

func (c *serverCall) Head() *call.Head { return &c.head }
func (c *serverCall) Peer() *call.Peer { return c.peer }

func (c *serverCall) Recv() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.received || c.finished { // its memory may be another request's once the call has ended
		return nil, io.EOF
	}
	c.received = true
	return c.request.Body, nil
}

func (c *serverCall) SetHeader(m call.Metadata) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished {
		return call.Errorf(call.FailedPrecondition, "jsonrpc: the header was sent")
	}
	all := slices.Concat(c.header, m)
	if err := checkResponseMetadata(all); err != nil {
		return err
	}
	c.header = all
	return nil
}

// Send keeps the one message of the response until Finish. find refuses methods with streams as far as it knows them. Only calls that are passed on send, and who
// serves them is not trusted: what is no JSON could end the envelope and begin the response of another call.
func (c *serverCall) Send(data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent != nil || c.finished {
		return call.Errorf(call.Unimplemented, "jsonrpc: the response has more than one message, and JSON-RPC has no streams")
	}
	if c.head.Content == typeJSON && len(data) > 0 && !envelope.ValidJSON(data) {
		return call.Errorf(call.Internal, "jsonrpc: the response of the service is not JSON")
	}
	c.sent = append([]byte{}, data...)
	return nil
}

func (c *serverCall) Finish(last []byte, status *call.Status, trailer call.Metadata) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := checkResponseMetadata(trailer); err != nil {
		trailer = nil
		if status == nil { // its caller would take the response for complete
			status = &call.Status{Code: call.Internal, Message: call.StatusOf(err).Message}
		}
	}
	if last == nil {
		last = c.sent
	}
	c.finished, c.status, c.trailer = true, status, trailer
	if !c.request.Notification {
		c.response = c.appendResponse(last, status)
	}
}

// appendResponse writes the response in the caller's envelope.
func (c *serverCall) appendResponse(body []byte, status *call.Status) *bufpool.Buf {
	b := bufpool.Get(len(body) + envelopeRoom)
	if c.envelope == nil { // a plain call, whose status does not stand in the body
		b.B = append(b.B, body...)
		return b
	}
	r := envelope.Response{ID: c.request.ID, Token: c.request.Token, Body: body, Status: status}
	data, err := c.envelope.AppendResponse(b.B, r)
	if err != nil {
		r.Body, r.Status = nil, &call.Status{Code: call.Internal, Message: err.Error()}
		data, _ = c.envelope.AppendResponse(b.B, r) // an error object can always be written
	}
	b.B = data
	return b
}

// envelopeRoom is the length of the usual envelope, in bytes.
const envelopeRoom = 128

// call handles the call and returns its response, nil for a notification.
func (h *handler) call(ctx context.Context, c *serverCall) *bufpool.Buf {
	m, err := h.methods.find(c.request.Method)
	if m != nil {
		c.head.Method = m.Name()
		if in, out := m.Shape(); in || out {
			err = call.Errorf(call.Unimplemented, "method %s has streams: JSON-RPC carries unary calls only", m.Name())
		}
	}
	if err != nil {
		c.Finish(nil, call.StatusOf(err), nil)
	} else {
		h.service.Serve(ctx, m, c)
	}
	if !c.finished {
		c.Finish(nil, &call.Status{Code: call.Internal, Message: "jsonrpc: the service has not finished the call"}, nil)
	}
	return c.response
}
