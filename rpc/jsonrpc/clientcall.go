package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"

	"example.com/ferry/internal/compress"
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
	sent     atomic.Bool
}

// Call implements call.Conn. With the content application/json, data is the value, and JSON-RPC 2.0 is put around it. With
// application/jsonrpc2 and application/json-rpc, data and the response are in their envelopes.
func (c *conn) Call(ctx context.Context, head *call.Head, data []byte, resp *call.Response) error {
	cc := clientCall{conn: c, head: head}
	switch head.Content {
	case typeJSON:
		cc.envelope, cc.bare, cc.id = envelope.JSONRPC2{}, true, c.lastID.Add(1)
	case typeJSONRPC2:
		cc.envelope = envelope.JSONRPC2{}
	case typeJSONRPC:
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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	if !head.Deadline.IsZero() {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, head.Deadline)
		defer stop()
	}
	err := cc.exchange(ctx, data, resp)
	if err == nil {
		return nil
	}
	var status *call.Status
	switch {
	case errors.As(err, &status):
	case ctx.Err() != nil && c.ctx.Err() == nil:
		status = call.StatusOf(ctx.Err())
	default:
		status = &call.Status{Code: call.Unavailable, Message: err.Error()}
		c.stop(err) // the next call dials, and learns whether the server is there
	}
	resp.Unsent = !cc.sent.Load()
	return status
}

// exchange sends the request and reads the response.
func (c *clientCall) exchange(ctx context.Context, data []byte, resp *call.Response) error {
	req, err := c.request(ctx, data)
	if err != nil {
		return err
	}
	r, err := c.http.RoundTrip(req)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.Header.Get(drainingField) != "" { // Connection: close alone ends this connection only, and the next call opens another one
		c.stop(errors.New("jsonrpc: the server is draining"))
	}
	body, err := c.read(r)
	if err != nil {
		return err
	}
	if resp.Header, err = metadataOf(r.Header, false); err != nil {
		return internal(err)
	}
	if resp.Trailer, err = metadataOf(r.Header, true); err != nil {
		return internal(err)
	}
	return c.result(r, body, resp)
}

// internal makes the server responsible for err.
func internal(err error) error {
	return &call.Status{Code: call.Internal, Message: call.StatusOf(err).Message}
}

// request makes the HTTP request. Its body is memory of its own, because net/http may read it after RoundTrip has returned.
func (c *clientCall) request(ctx context.Context, data []byte) (*http.Request, error) {
	body := make([]byte, 0, len(data)+len(c.head.Method)+64)
	var err error
	if c.bare {
		body, err = c.envelope.AppendRequest(body, envelope.Request{Method: c.head.Method, ID: c.id, Body: data})
	} else {
		body = append(body, data...)
	}
	if err == nil && len(body) > c.MaxMessage {
		err = call.Errorf(call.ResourceExhausted, "jsonrpc: a request of %d bytes: Protocol.MaxMessage is %d", len(body), c.MaxMessage)
	}
	if err == nil && c.head.Compression != "" {
		if body, err = compress.Append(nil, body, c.head.Compression); err != nil {
			err = call.Errorf(call.InvalidArgument, "jsonrpc: %v", err)
		}
	}
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {c.head.Content}, "Accept": {c.head.Content}, "User-Agent": {"ferry"}}
	if err := addMetadata(header, "", c.head.Metadata); err != nil {
		return nil, err
	}
	if c.head.Compression != "" {
		header.Set("Content-Encoding", c.head.Compression)
		header.Set("Accept-Encoding", c.head.Compression)
	}
	if deadline, ok := ctx.Deadline(); ok {
		header.Set(timeoutField, formatTimeout(deadline))
	}
	trace := &httptrace.ClientTrace{WroteHeaders: func() { c.sent.Store(true) }}
	req := &http.Request{
		Method: http.MethodPost, URL: &url.URL{Scheme: "http", Host: c.host, Path: "/"}, Host: c.host, Header: header,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
	}
	return req.WithContext(httptrace.WithClientTrace(ctx, trace)), nil
}

// read reads and expands the body of a response.
func (c *clientCall) read(r *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(c.MaxMessage)+1))
	tooLarge := call.Errorf(call.ResourceExhausted, "jsonrpc: the response has more than %d bytes, which is Protocol.MaxMessage", c.MaxMessage)
	if err != nil {
		return nil, err
	}
	if len(body) > c.MaxMessage {
		return nil, tooLarge
	}
	encoding := r.Header.Get("Content-Encoding")
	if encoding == "" || encoding == "identity" {
		return body, nil
	}
	if body, err = compress.Expand(nil, body, encoding, c.MaxMessage); errors.Is(err, compress.ErrTooLarge) {
		return nil, tooLarge
	} else if err != nil {
		return nil, call.Errorf(call.Internal, "jsonrpc: the response cannot be decompressed: %v", err)
	}
	return body, nil
}

// result takes the response of a call out of the body of an HTTP response.
func (c *clientCall) result(r *http.Response, body []byte, resp *call.Response) error {
	if content, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || content != typeJSON && content != typeJSONRPC && content != typeJSONRPC2 {
		return statusOfHTTP(r, body)
	}
	parsed, err := c.envelope.ParseResponse(body)
	switch {
	case err != nil && r.StatusCode != http.StatusOK:
		return statusOfHTTP(r, body)
	case err != nil:
		return call.StatusOf(err)
	case parsed.Status != nil:
		return parsed.Status
	case r.StatusCode != http.StatusOK:
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
func statusOfHTTP(r *http.Response, body []byte) error {
	code := call.Unknown
	switch r.StatusCode {
	case http.StatusOK, http.StatusNoContent, http.StatusBadRequest:
		code = call.Internal
	case http.StatusUnauthorized:
		code = call.Unauthenticated
	case http.StatusForbidden:
		code = call.PermissionDenied
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType:
		code = call.Unimplemented
	case http.StatusRequestEntityTooLarge, http.StatusRequestHeaderFieldsTooLarge:
		code = call.ResourceExhausted
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		code = call.Unavailable
	}
	return &call.Status{Code: code, Message: fmt.Sprintf("jsonrpc: the server's response is no JSON-RPC: HTTP status %d, content type %.64q, %.100q", r.StatusCode, r.Header.Get("Content-Type"), body)}
}
