package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/compress"
	"example.com/ferry/internal/h1conn"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
)

// clientCall is one call of a client.
type clientCall struct {
	*conn
	head     *call.Head
	envelope envelope.Envelope
	id       uint64 // in an envelope of its own; 0 if data came in one
	bare     bool   // data is the value alone: the envelope is put around it here
	path     string // of the request
	content  string // content type of the request
	timeout  string // name of the field with the time until the deadline
	deadline time.Time
	fields   []h1conn.Field
	body     *bufpool.Buf
}

// Call implements call.Conn. With the content application/json, data is the value, and JSON-RPC 2.0 is put around it. With
// application/jsonrpc2 and application/json-rpc, data and the response are in their envelopes. With Plain, there is no envelope.
func (c *conn) Call(ctx context.Context, head *call.Head, data []byte, resp *call.Response) error {
	cc := clientCall{conn: c, head: head, path: "/", content: head.Content, timeout: timeoutField}
	switch {
	case c.Plain:
		if status := cc.beginPlain(); status != nil {
			resp.Unsent = true
			return status
		}
	case head.Content == typeJSON:
		cc.envelope, cc.bare, cc.id = envelope.JSONRPC2{}, true, c.lastID.Add(1)
	case head.Content == typeJSONRPC2:
		cc.envelope = envelope.JSONRPC2{}
	case head.Content == typeJSONRPC:
		cc.envelope = envelope.JSONRPC{}
	default:
		resp.Unsent = true
		return call.Errorf(call.InvalidArgument, "jsonrpc: content type %.64q: want %s, %s or %s", head.Content, typeJSON, typeJSONRPC, typeJSONRPC2)
	}
	if err := c.begin(); err != nil {
		resp.Unsent = true
		return &call.Status{Code: call.Unavailable, Message: err.Error()}
	}
	defer c.end()
	cc.deadline, _ = head.EarlierDeadline(ctx)
	unsent, err := cc.exchange(ctx, data, resp)
	cc.body.Release()
	if err == nil {
		return nil
	}
	resp.Unsent = unsent
	var status *call.Status
	switch {
	case errors.As(err, &status):
		return status
	case ctx.Err() != nil:
		return call.StatusOf(ctx.Err())
	case !cc.deadline.IsZero() && !time.Now().Before(cc.deadline):
		return &call.Status{Code: call.DeadlineExceeded, Message: "jsonrpc: the deadline has passed"}
	}
	c.stop(err) // the next call dials, and learns whether the server is there
	return &call.Status{Code: call.Unavailable, Message: err.Error()}
}

// exchange sends the request and reads the response. unsent says that no server has handled the request.
func (c *clientCall) exchange(ctx context.Context, data []byte, resp *call.Response) (unsent bool, err error) {
	c.body = bufpool.Get(len(data) + len(c.head.Method) + 64)
	if err := c.request(data); err != nil {
		return true, err
	}
	r, unsent, err := c.do(ctx, c)
	if err != nil {
		return unsent, err
	}
	body, err := c.read(&r)
	if err != nil {
		return false, err
	}
	if resp.Header, err = metadataOf(r.Fields, false); err != nil {
		return false, internal(err)
	}
	if resp.Trailer, err = metadataOf(r.Fields, true); err != nil {
		return false, internal(err)
	}
	if err = c.result(&r, body, resp); err == nil {
		resp.Free = r.Release
	}
	return false, err
}

// internal makes the server responsible for err.
func internal(err error) error {
	return &call.Status{Code: call.Internal, Message: call.StatusOf(err).Message}
}

// request makes the HTTP request: fields and body.
func (c *clientCall) request(data []byte) (err error) {
	if c.bare {
		c.body.B, err = c.envelope.AppendRequest(c.body.B, envelope.Request{Method: c.head.Method, ID: c.id, Body: data})
	} else {
		c.body.B = append(c.body.B, data...)
	}
	if err != nil {
		return err
	}
	if len(c.body.B) > c.MaxMessage {
		return call.Errorf(call.ResourceExhausted, "jsonrpc: a request of %d bytes: Protocol.MaxMessage is %d", len(c.body.B), c.MaxMessage)
	}
	c.fields = append(make([]h1conn.Field, 0, 8+len(c.head.Metadata)), h1conn.Field{Name: "Host", Value: c.host},
		h1conn.Field{Name: "Content-Type", Value: c.content}, h1conn.Field{Name: "Accept", Value: c.content}, h1conn.Field{Name: "User-Agent", Value: "ferry"})
	if name := c.head.Compression; name != "" {
		small := bufpool.Get(len(c.body.B))
		if small.B, err = compress.Append(small.B, c.body.B, name); err != nil {
			small.Release()
			return call.Errorf(call.InvalidArgument, "jsonrpc: %v", err)
		}
		c.body.Release()
		c.body = small
		c.fields = append(c.fields, h1conn.Field{Name: "Content-Encoding", Value: name}, h1conn.Field{Name: "Accept-Encoding", Value: name})
	}
	if !c.deadline.IsZero() {
		c.fields = append(c.fields, h1conn.Field{Name: c.timeout, Value: formatTimeout(c.deadline)})
	}
	c.fields, err = appendMetadata(c.fields, "", c.head.Metadata)
	return err
}

// read expands the body of a response.
func (c *clientCall) read(r *h1conn.Result) ([]byte, error) {
	encoding := h1conn.Get(r.Fields, "content-encoding")
	if encoding == "" || encoding == "identity" {
		return r.Body, nil
	}
	body, err := compress.Expand(nil, r.Body, encoding, c.MaxMessage)
	if errors.Is(err, compress.ErrTooLarge) {
		return nil, c.tooLarge()
	} else if err != nil {
		return nil, call.Errorf(call.Internal, "jsonrpc: the response cannot be decompressed: %v", err)
	}
	return body, nil
}

func (c *conn) tooLarge() error {
	return call.Errorf(call.ResourceExhausted, "jsonrpc: the response has more than %d bytes, which is Protocol.MaxMessage", c.MaxMessage)
}

// result takes the response of a call out of the body of an HTTP response.
func (c *clientCall) result(r *h1conn.Result, body []byte, resp *call.Response) error {
	if c.Plain {
		return c.plainResult(r, body, resp)
	}
	if _, ok := contentType(h1conn.Get(r.Fields, "content-type")); !ok {
		return statusOfHTTP(r, body)
	}
	parsed, err := c.envelope.ParseResponse(body)
	switch {
	case err != nil && r.Status != http.StatusOK:
		return statusOfHTTP(r, body)
	case err != nil:
		return call.StatusOf(err)
	case parsed.Status != nil:
		return parsed.Status
	case r.Status != http.StatusOK:
		return statusOfHTTP(r, body)
	case !c.bare:
		resp.Data = body
	case parsed.ID != c.id:
		return call.Errorf(call.Internal, "jsonrpc: the response has the id %.32q, the request has %d", parsed.Token, c.id)
	default:
		resp.Data = parsed.Body
	}
	return nil
}

// statusOfHTTP returns the status of a response that is no JSON-RPC. The codes are those that gRPC gives to statuses of HTTP.
func statusOfHTTP(r *h1conn.Result, body []byte) error {
	code := call.CodeOfHTTP(r.Status)
	switch r.Status {
	case http.StatusOK, http.StatusNoContent:
		code = call.Internal
	case http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType:
		code = call.Unimplemented
	}
	return &call.Status{Code: code, Message: fmt.Sprintf("jsonrpc: the server's response is no JSON-RPC: HTTP status %d, content type %.64q, %.100q", r.Status, h1conn.Get(r.Fields, "content-type"), body)}
}
