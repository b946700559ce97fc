package jsonrpc

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"example.com/ferry/internal/h1conn"
	"example.com/ferry/rpc/call"
)

// Handler returns an http.Handler that passes the requests to s, whatever their path is. Use it to serve calls beside other handlers
// of an http.Server. Listen does not need package net/http and takes less CPU time.
func (p Protocol) Handler(s call.Service) http.Handler { return webHandler{p.newHandler(s)} }

type webHandler struct{ *handler }

func (h webHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{}) // that of the response before. A ResponseWriter without deadlines has its own limits
	response := h.handle(request{
		carrier: &webRequest{handler: h.handler, w: w, r: r, control: control},
		method:  r.Method, fields: fieldsOf(r.Header), peer: call.Peer{Addr: address(r.RemoteAddr), TLS: r.TLS},
	})
	if response.Done != nil {
		defer response.Done()
	}
	for _, f := range response.Fields {
		w.Header().Add(f.Name, f.Value)
	}
	_ = control.SetWriteDeadline(time.Now().Add(h.BodyTimeout))
	w.WriteHeader(response.Status)
	_, _ = w.Write(response.Body) // a client that is gone needs no response
}

// webRequest is a request of net/http.
type webRequest struct {
	*handler
	w       http.ResponseWriter
	r       *http.Request
	control *http.ResponseController
	end     context.CancelFunc
}

// Body reads the body.
func (r *webRequest) Body(m h1conn.Memory) ([]byte, error) {
	_ = r.control.SetReadDeadline(time.Now().Add(r.BodyTimeout))
	body, err := readAll(http.MaxBytesReader(r.w, r.r.Body, int64(r.MaxMessage)), m)
	if err != nil {
		r.w.Header().Set("Connection", "close") // the deadline stays: net/http reads what is left of the body before it closes
		return nil, err
	}
	_ = r.control.SetReadDeadline(time.Time{})
	return body, nil
}

// Begin returns the context of the handlers, with the values that other handlers of HTTP have set.
func (r *webRequest) Begin(deadline time.Time) (ctx context.Context) {
	if deadline.IsZero() {
		ctx, r.end = context.WithCancel(r.r.Context())
	} else {
		ctx, r.end = context.WithDeadline(r.r.Context(), deadline)
	}
	return ctx
}

// End ends it.
func (r *webRequest) End() { r.end() }

// readAll reads the body of a request.
func readAll(r io.Reader, m h1conn.Memory) ([]byte, error) {
	var body []byte
	for {
		if len(body) == cap(body) {
			size := max(2*cap(body), 512)
			if err := m.Take(size - cap(body)); err != nil {
				return nil, err
			}
			body = append(make([]byte, 0, size), body...)
		}
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		var tooLarge *http.MaxBytesError
		switch {
		case errors.Is(err, io.EOF):
			return body, nil
		case errors.As(err, &tooLarge):
			return nil, h1conn.ErrTooLarge
		case err != nil:
			return nil, err
		}
	}
}

// fieldsOf returns the fields of a header, ordered by their names: a map has no order.
func fieldsOf(header http.Header) []h1conn.Field {
	fields := make([]h1conn.Field, 0, len(header))
	for name, values := range header {
		for _, v := range values {
			fields = append(fields, h1conn.Field{Name: strings.ToLower(name), Value: v})
		}
	}
	slices.SortStableFunc(fields, func(a, b h1conn.Field) int { return strings.Compare(a.Name, b.Name) })
	return fields
}

// address is the address of a client as net/http writes it.
type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
