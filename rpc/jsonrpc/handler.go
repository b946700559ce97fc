package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ferry/internal/compress"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/envelope"
	"example.com/ferry/rpc/internal/held"
	"example.com/ferry/transport"
)

// handler is the http.Handler of a service.
type handler struct {
	Protocol
	service  call.Service
	methods  methods
	held     *held.Server
	draining atomic.Bool // responses close their connections
}

// Handler returns an http.Handler that passes the requests to s, whatever their path is. Use it to serve calls beside other handlers
// of an http.Server.
func (p Protocol) Handler(s call.Service) http.Handler { return p.newHandler(s) }

func (p Protocol) newHandler(s call.Service) *handler {
	p = p.withDefaults()
	return &handler{Protocol: p, service: s, methods: methods{service: s}, held: held.NewServer(p.MaxServerHeld)}
}

// exchange is one HTTP request.
type exchange struct {
	*handler
	w        http.ResponseWriter
	r        *http.Request
	content  string // content type
	encoding string // content encoding: "", gzip or zstd
	head     call.Head
	peer     call.Peer
	account  held.Account // of this request alone
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.announceDrain(w)
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "JSON-RPC requests are POST, not "+r.Method, http.StatusMethodNotAllowed)
		return
	}
	e := exchange{handler: h, w: w, r: r, account: held.New(h.held, math.MaxInt)}
	defer func() { e.account.Add(-e.account.Held()) }()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // that of the response before; see write
	body, status, err := e.read()
	if err != nil {
		e.refuse(status, err)
		return
	}
	ctx := r.Context()
	if !e.head.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, e.head.Deadline)
		defer cancel()
	}
	if !json.Valid(body) { // before anything of it is handled: a scan of the envelope does not look into the parameters
		e.write(e.errorText(envelope.ParseError, notJSON(body)))
		return
	}
	if e.content != typeJSONRPC && envelope.IsBatch(body) {
		e.batch(ctx, body)
		return
	}
	e.single(ctx, body)
}

// announceDrain tells the client of a server that drains to make its next call elsewhere.
func (h *handler) announceDrain(w http.ResponseWriter) {
	if h.draining.Load() {
		w.Header().Set("Connection", "close")
		w.Header().Set(drainingField, "1")
	}
}

// read checks the head and reads the body. An error comes with the HTTP status for it.
func (e *exchange) read() (body []byte, status int, err error) {
	var params map[string]string
	e.content, params, err = mime.ParseMediaType(e.r.Header.Get("Content-Type"))
	charset := strings.ToLower(params["charset"])
	if err != nil || e.content != typeJSON && e.content != typeJSONRPC && e.content != typeJSONRPC2 || charset != "" && charset != "utf-8" {
		return nil, http.StatusUnsupportedMediaType, call.Errorf(call.Unimplemented, "content type %.64q: want %s, %s or %s", e.r.Header.Get("Content-Type"), typeJSON, typeJSONRPC, typeJSONRPC2)
	}
	e.encoding = e.r.Header.Get("Content-Encoding")
	if e.encoding == "identity" {
		e.encoding = ""
	}
	if e.encoding != "" && !compress.Known(e.encoding) {
		return nil, http.StatusUnsupportedMediaType, call.Errorf(call.Unimplemented, "content encoding %.32q: want gzip or zstd", e.encoding)
	}
	if e.head.Deadline, err = deadlineOf(e.r.Header); err != nil {
		return nil, http.StatusBadRequest, err
	}
	if e.head.Metadata, err = metadataOf(e.r.Header, false); err != nil {
		return nil, http.StatusBadRequest, err
	}
	e.head.Content, e.head.Compression = typeJSON, e.encoding
	e.peer = peerOf(e.r)
	return e.readBody()
}

// readBody reads and expands the body.
func (e *exchange) readBody() ([]byte, int, error) {
	control := http.NewResponseController(e.w)
	_ = control.SetReadDeadline(time.Now().Add(e.BodyTimeout)) // a ResponseWriter without deadlines has its own limits
	body, err := e.readAll(http.MaxBytesReader(e.w, e.r.Body, int64(e.MaxMessage)))
	if err != nil {
		e.w.Header().Set("Connection", "close") // the deadline stays: net/http reads what is left of the body before it closes
	} else {
		_ = control.SetReadDeadline(time.Time{}) // as above
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, http.StatusRequestEntityTooLarge, e.tooLarge()
	case errors.Is(err, errFull):
		return nil, http.StatusServiceUnavailable, e.full()
	case err != nil:
		return nil, http.StatusBadRequest, call.Errorf(call.InvalidArgument, "the body cannot be read: %v", err)
	case e.encoding == "":
		return body, 0, nil
	}
	if e.account.ServerFull() { // a short body may become a long one
		return nil, http.StatusServiceUnavailable, e.full()
	}
	if body, err = compress.Expand(nil, body, e.encoding, e.MaxMessage); err != nil {
		if errors.Is(err, compress.ErrTooLarge) {
			return nil, http.StatusRequestEntityTooLarge, e.tooLarge()
		}
		return nil, http.StatusBadRequest, call.Errorf(call.InvalidArgument, "the body cannot be decompressed: %v", err)
	}
	e.account.Add(cap(body))
	return body, 0, nil
}

// errFull is the error of a body for which there is no memory.
var errFull = errors.New("jsonrpc: the server holds as much as it may")

func (e *exchange) full() error {
	return call.Errorf(call.ResourceExhausted, "the server holds more than %d bytes for all requests: send less at once, or try again", e.MaxServerHeld)
}

// readAll reads the body, whose memory is counted as it grows.
func (e *exchange) readAll(r io.Reader) ([]byte, error) {
	body := make([]byte, 0, min(max(e.r.ContentLength, 511)+1, held.Spared))
	e.account.Add(cap(body))
	for {
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil:
			return nil, err
		case len(body) < cap(body):
			continue
		case e.account.ServerFull():
			return nil, errFull
		}
		before := cap(body)
		body = slices.Grow(body, cap(body))
		e.account.Add(cap(body) - before)
	}
}

func (e *exchange) tooLarge() error {
	return call.Errorf(call.ResourceExhausted, "the request has more than %d bytes, which is Protocol.MaxMessage", e.MaxMessage)
}

// connKey is the key of the connection in the context of a request.
type connKey struct{}

// peerOf returns the other end of the request's connection.
func peerOf(r *http.Request) call.Peer {
	nc, _ := r.Context().Value(connKey{}).(net.Conn)
	if nc == nil { // another http.Server than a listener's
		return call.Peer{Addr: address(r.RemoteAddr), TLS: r.TLS}
	}
	if a, ok := nc.(*accepted); ok {
		nc = a.Conn
	}
	p := call.Peer{Addr: nc.RemoteAddr(), TLS: r.TLS}
	if s, ok := nc.(transport.Secured); ok && p.TLS == nil {
		state := s.ConnectionState()
		p.TLS = &state
	}
	return p
}

// address is the address of a client as net/http writes it.
type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// single handles a body that is one request.
func (e *exchange) single(ctx context.Context, body []byte) {
	c, errorText := e.newCall(body)
	if c == nil {
		e.write(errorText)
		return
	}
	response := e.run(ctx, c)
	_ = addMetadata(e.w.Header(), "", c.header)             // SetHeader has checked it
	_ = addMetadata(e.w.Header(), trailerPrefix, c.trailer) // Finish has checked it, unless the call has failed
	e.write(response)
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
	if err != nil {
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
	e.w.Header().Set("Content-Type", typeJSON)
	e.w.WriteHeader(status)
	_, _ = e.w.Write(errorResponse(envelope.JSONCode(s.Code), s)) // a client that is gone needs no response
}

// errorResponse is a response to no request in particular.
func errorResponse(code int, s *call.Status) []byte {
	return append(envelope.AppendError([]byte(`{"jsonrpc":"2.0","error":`), code, s), `,"id":null}`...)
}

// write ends the request with a response, or with 204 if there is none.
func (e *exchange) write(data []byte) {
	e.account.Add(len(data))
	_ = http.NewResponseController(e.w).SetWriteDeadline(time.Now().Add(e.BodyTimeout)) // a ResponseWriter without deadlines has its own limits
	e.announceDrain(e.w)
	if data == nil {
		e.w.WriteHeader(http.StatusNoContent)
		return
	}
	if e.encoding != "" {
		if small, err := compress.Append(nil, data, e.encoding); err == nil {
			e.w.Header().Set("Content-Encoding", e.encoding)
			data = small
		}
	}
	e.w.Header().Set("Content-Type", e.content)
	_, _ = e.w.Write(data) // a client that is gone needs no response
}

// batch handles a list of requests. JSON-RPC 2.0, section 6.
func (e *exchange) batch(ctx context.Context, body []byte) {
	items, err := envelope.SplitBatch(body, e.MaxBatch)
	if err != nil {
		e.write(e.errorText(envelope.InvalidRequest, call.StatusOf(err)))
		return
	}
	responses := make([][]byte, len(items))
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
		all = append(all, r...)
	}
	if all != nil {
		all = append(all, ']')
	}
	e.write(all)
}

// batchItem handles one request of a batch. size is the number of bytes of all responses so far.
func (e *exchange) batchItem(ctx context.Context, data []byte, size *atomic.Int64) []byte {
	c, response := e.newCall(data)
	if c == nil {
		return response
	}
	if response = e.run(ctx, c); size.Add(int64(len(response))) <= int64(e.MaxMessage) || response == nil {
		return response
	}
	size.Add(-int64(len(response)))
	return c.appendResponse(nil, &call.Status{Code: call.ResourceExhausted, Message: "the responses of the batch have more bytes than Protocol.MaxMessage"})
}
