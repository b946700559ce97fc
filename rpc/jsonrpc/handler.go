package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"mime"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/internal/bufpool"
	"example.com/ferry/internal/compress"
	"example.com/ferry/internal/h1conn"
	"example.com/ferry/protocol/http1"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
	"example.com/ferry/rpc/internal/held"
)

// handler handles the requests of a service, whatever drives their connections.
type handler struct {
	Protocol
	service call.Service
	methods methods
	held    *held.Server
	limits  http1.Limits
}

func (p Protocol) newHandler(s call.Service) *handler {
	p = p.withDefaults()
	return &handler{
		Protocol: p, service: s, methods: methods{service: s}, held: held.NewServer(p.MaxServerHeld),
		limits: http1.Limits{MaxHead: maxHeader, MaxFieldLine: maxFieldLine, MaxFields: maxFields},
	}
}

// request is an HTTP request.
type request struct {
	carrier
	method  string
	fields  []h1conn.Field
	peer    call.Peer
	plain   string       // method of a plain call; "" for JSON-RPC
	account *held.Shared // of the connection, which has other requests at the same time; nil if it has none
}

// carrier is what a request has come with.
type carrier interface {
	// Body reads the body.
	Body(m h1conn.Memory) ([]byte, error)

	// Begin returns the context of the handlers. It ends with the client, at the deadline if that is not zero, and at End.
	Begin(deadline time.Time) context.Context
	End()
}

// exchange is one HTTP request and its response.
type exchange struct {
	*handler
	request
	content  string // content type
	encoding string // content encoding: "", gzip or zstd
	head     call.Head
	own      held.Shared // if the connection has none
	holds    int         // bytes that its account has for it
	admitted bool        // the service serves the caller
	response h1conn.Response
	memory   *bufpool.Buf    // of the body of the response; nil if it has its own
	usual    [2]h1conn.Field // memory of the fields of the usual response
}

// done gives back the memory of the response.
func (e *exchange) done() {
	e.hold(-e.holds)
	if e.memory != nil {
		e.memory.Release()
	}
}

// handle responds to a request. The response counts as held until its Done is called.
func (h *handler) handle(r request) (response h1conn.Response) {
	if r.method != http.MethodPost {
		text := textResponse(http.StatusMethodNotAllowed, "calls are POST, not "+r.method)
		text.Fields = append(text.Fields, h1conn.Field{Name: "Allow", Value: http.MethodPost})
		return text
	}
	e := exchange{handler: h, request: r}
	if r.account == nil {
		e.own = held.NewShared(h.held, math.MaxInt)
		e.account = &e.own
	}
	defer func() { // also when a handler panics
		e.hold(len(response.Body) - e.holds)
		response.Done = e.done
	}()
	if r.plain != "" {
		e.plainCall()
	} else if body, status, err := e.read(); err != nil {
		e.refuse(status, err)
	} else {
		e.run(body)
	}
	return e.response
}

// serve responds to a request for a path: / with JSON-RPC, or /Service/Method for a plain call.
func (h *handler) serve(path string, r request) h1conn.Response {
	plain, ok := plainMethod(path)
	if !ok && path != "/" {
		return textResponse(http.StatusNotFound, "calls are POST / with JSON-RPC, or POST /Service/Method with the value alone")
	}
	r.plain = plain
	return h.handle(r)
}

// textResponse is a response for people.
func textResponse(status int, text string) h1conn.Response {
	return h1conn.Response{
		Status: status, Body: []byte(text + "\n"),
		Fields: []h1conn.Field{{Name: "Content-Type", Value: "text/plain; charset=utf-8"}, {Name: "X-Content-Type-Options", Value: "nosniff"}},
	}
}

// run handles a body.
func (e *exchange) run(body []byte) {
	batch := e.content != typeJSONRPC && envelope.IsBatch(body)
	if batch && !envelope.ValidJSON(body) { // before any of its calls is handled
		e.write(e.errorText(envelope.ParseError, notJSON(body)))
		return
	}
	ctx := e.Begin(e.head.Deadline)
	defer e.End()
	if batch {
		e.batch(ctx, body)
	} else {
		e.single(ctx, body)
	}
}

// read checks the head and reads the body. An error comes with the HTTP status for it.
func (e *exchange) read() (body []byte, status int, err error) {
	field := h1conn.Get(e.fields, "content-type")
	known, choice, timeout := contentType, typeJSON+", "+typeJSONRPC+" or "+typeJSONRPC2, timeoutField
	if e.plain != "" {
		known, choice, timeout = plainContent, typeJSON+" or application/proto", plainTimeoutField
	}
	var ok bool
	if e.content, ok = known(field); !ok {
		return nil, http.StatusUnsupportedMediaType, call.Errorf(call.Unimplemented, "content type %.64q: want %s", field, choice)
	}
	e.encoding = h1conn.Get(e.fields, "content-encoding")
	if e.encoding == "identity" {
		e.encoding = ""
	}
	if e.encoding != "" && !compress.Known(e.encoding) {
		return nil, http.StatusUnsupportedMediaType, call.Errorf(call.Unimplemented, "content encoding %.32q: want gzip or zstd", e.encoding)
	}
	if e.head.Deadline, err = deadlineOf(e.fields, timeout); err != nil {
		return nil, http.StatusBadRequest, err
	}
	if e.head.Metadata, err = metadataOf(e.fields, false); err != nil {
		return nil, http.StatusBadRequest, err
	}
	e.head.Content, e.head.Compression = typeJSON, e.encoding
	if e.plain != "" {
		e.head.Content = e.content
	}
	return e.readBody()
}

// contentType returns the content type of a field without its parameters, of which charset may be UTF-8 only.
func contentType(field string) (content string, ok bool) {
	if field == typeJSON {
		return field, true
	}
	content, params, err := mime.ParseMediaType(field)
	charset := strings.ToLower(params["charset"])
	return content, err == nil && (content == typeJSON || content == typeJSONRPC || content == typeJSONRPC2) && (charset == "" || charset == "utf-8")
}

// hold counts bytes more, or fewer.
func (e *exchange) hold(bytes int) {
	e.holds += bytes
	e.account.Add(bytes)
}

// Take counts memory before it is taken. Only callers that the service serves get more than what is spared, of a connection. A connection
// that has used up its share of the server's memory gets no request that needs more than that itself.
func (e *exchange) Take(bytes int) error {
	if !e.account.Spares(bytes) {
		if a, ok := e.service.(call.Admitter); ok && !e.admitted {
			if err := a.Admit(context.Background(), &e.head, &e.peer); err != nil {
				return call.StatusOf(err)
			}
			e.admitted = true
		}
	}
	if e.hold(bytes); e.holds > held.Spared && e.account.Full() {
		e.hold(-bytes)
		return errFull
	}
	return nil
}

// readBody reads and expands the body.
func (e *exchange) readBody() ([]byte, int, error) {
	body, err := e.Body(e)
	if err == nil && e.encoding != "" { // a short body may become a long one
		err = e.Take(e.MaxMessage)
	}
	if err != nil {
		var refused *call.Status
		if errors.As(err, &refused) {
			return nil, plainCodeOf(refused.Code).status, refused
		}
	}
	switch {
	case errors.Is(err, h1conn.ErrTooLarge):
		return nil, http.StatusRequestEntityTooLarge, e.tooLarge()
	case errors.Is(err, errFull):
		return nil, http.StatusServiceUnavailable, e.full()
	case err != nil:
		return nil, http.StatusBadRequest, call.Errorf(call.InvalidArgument, "the body cannot be read: %v", err)
	case e.encoding == "":
		return body, 0, nil
	}
	body, err = compress.Expand(nil, body, e.encoding, e.MaxMessage)
	e.hold(cap(body) - e.MaxMessage)
	if err != nil {
		if errors.Is(err, compress.ErrTooLarge) {
			return nil, http.StatusRequestEntityTooLarge, e.tooLarge()
		}
		return nil, http.StatusBadRequest, call.Errorf(call.InvalidArgument, "the body cannot be decompressed: %v", err)
	}
	return body, 0, nil
}

func (e *exchange) tooLarge() error {
	return call.Errorf(call.ResourceExhausted, "the request has more than %d bytes, which is Protocol.MaxMessage", e.MaxMessage)
}

// errFull is the error of a body for which there is no memory.
var errFull = errors.New("jsonrpc: the connection has no more memory of the server")

func (e *exchange) full() error {
	return call.Errorf(call.ResourceExhausted, "the connection has used its share of the %d bytes that the server holds for all requests: send less at once, or try again", e.MaxServerHeld)
}

// single handles a body that is one request.
func (e *exchange) single(ctx context.Context, body []byte) {
	c, errorText := e.newCall(body)
	if c == nil {
		e.write(errorText)
		return
	}
	e.memory = e.call(ctx, c)
	e.setMetadata(c)
	if e.memory == nil {
		e.write(nil)
		return
	}
	e.write(e.memory.B)
}

// setMetadata makes header fields of the metadata of a response, which SetHeader and Finish have checked.
func (e *exchange) setMetadata(c *serverCall) {
	fields, _ := appendMetadata(e.usual[:0], "", c.header)
	e.response.Fields, _ = appendMetadata(fields, trailerPrefix, c.trailer)
}

// newCall parses one request. If it is no request, c is nil, and errorText is the response.
func (e *exchange) newCall(data []byte) (c *serverCall, errorText []byte) {
	c = &serverCall{head: e.head, peer: &e.peer}
	var err error
	switch e.content {
	case typeJSONRPC:
		c.envelope = envelope.JSONRPC{}
		c.request, err = c.envelope.ParseRequest(data)
	case typeJSONRPC2:
		c.envelope = envelope.JSONRPC2{}
		c.request, err = c.envelope.ParseRequest(data)
	default:
		c.envelope, c.request, err = envelope.ParseJSON(data)
	}
	switch {
	case err != nil && !envelope.ValidJSON(data):
		return nil, e.errorText(envelope.ParseError, notJSON(data))
	case err != nil:
		return nil, e.errorText(envelope.InvalidRequest, call.StatusOf(err))
	}
	c.head.Method = c.request.Method
	return c, nil
}

// notJSON says where body ceases to be JSON.
func notJSON(body []byte) *call.Status {
	s := &call.Status{Code: call.InvalidArgument, Message: "the request is not JSON"}
	err := json.Unmarshal(body, new(json.RawMessage))
	if at := (*json.SyntaxError)(nil); errors.As(err, &at) {
		s.Message = fmt.Sprintf("%s: %v after %d bytes", s.Message, err, at.Offset)
	}
	return s
}

// errorText returns the response to what is no JSON, or no request. JSON-RPC 2.0, section 5.
func (e *exchange) errorText(code int, status *call.Status) []byte {
	if e.content == typeJSONRPC {
		response, _ := envelope.JSONRPC{}.AppendResponse(nil, envelope.Response{Token: []byte("null"), Status: status}) // an error can always be written
		return response
	}
	return errorResponse(code, status)
}

// refuse ends a request before its calls are known, with an HTTP status.
func (e *exchange) refuse(status int, err error) {
	s := call.StatusOf(err)
	e.response = h1conn.Response{Status: status, Fields: []h1conn.Field{{Name: "Content-Type", Value: typeJSON}}, Body: errorResponse(envelope.JSONCode(s.Code), s)}
}

// errorResponse is a response to no request in particular.
func errorResponse(code int, s *call.Status) []byte {
	return append(envelope.AppendError([]byte(`{"jsonrpc":"2.0","error":`), code, s), `,"id":null}`...)
}

// write ends the request with a response, or with 204 if there is none.
func (e *exchange) write(data []byte) {
	if data == nil {
		e.response.Status = http.StatusNoContent
		return
	}
	e.finish(http.StatusOK, e.content, data)
}

// finish ends the exchange with a response, compressed as the request was.
func (e *exchange) finish(status int, contentType string, body []byte) {
	if e.encoding != "" {
		if small, err := compress.Append(nil, body, e.encoding); err == nil {
			e.response.Fields = append(e.response.Fields, h1conn.Field{Name: "Content-Encoding", Value: e.encoding})
			body = small
		}
	}
	e.response.Fields = append(e.response.Fields, h1conn.Field{Name: "Content-Type", Value: contentType})
	e.response.Status, e.response.Body = status, body
}

// batch handles a list of requests. JSON-RPC 2.0, section 6.
func (e *exchange) batch(ctx context.Context, body []byte) {
	items, err := envelope.SplitBatch(body, e.MaxBatch)
	if err != nil {
		e.write(e.errorText(envelope.InvalidRequest, call.StatusOf(err)))
		return
	}
	responses := make([]*bufpool.Buf, len(items))
	var next, size atomic.Int64
	var wg sync.WaitGroup
	for range min(batchParallel, len(items)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(items); i = int(next.Add(1)) - 1 {
				responses[i] = e.batchItem(ctx, items[i], &size)
			}
		})
	}
	wg.Wait()
	var all []byte
	for _, r := range responses {
		if r == nil {
			continue
		}
		if all = append(all, ','); len(all) == 1 {
			all[0] = '['
		}
		all = append(all, r.B...)
		r.Release()
	}
	if all != nil {
		all = append(all, ']')
	}
	e.write(all)
}

// batchItem handles one request of a batch. size is the number of bytes of all responses so far.
func (e *exchange) batchItem(ctx context.Context, data []byte, size *atomic.Int64) *bufpool.Buf {
	c, errorText := e.newCall(data)
	if c == nil {
		b := bufpool.Get(len(errorText))
		b.B = append(b.B, errorText...)
		return b
	}
	response := e.call(ctx, c)
	if response == nil || size.Add(int64(len(response.B))) <= int64(e.MaxMessage) {
		return response
	}
	size.Add(-int64(len(response.B)))
	response.Release()
	return c.appendResponse(nil, &call.Status{Code: call.ResourceExhausted, Message: "the responses of the batch have more bytes than Protocol.MaxMessage"})
}
