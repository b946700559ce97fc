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
		method: r.Method, fields: fieldsOf(r.Header), peer: call.Peer{Addr: address(r.RemoteAddr), TLS: r.TLS},
		running: func(f func(context.Context)) { f(r.Context()) },
		body: func(grow func(int) error) ([]byte, error) {
			_ = control.SetReadDeadline(time.Now().Add(h.BodyTimeout))
			body, err := readAll(http.MaxBytesReader(w, r.Body, int64(h.MaxMessage)), grow)
			if err != nil {
				w.Header().Set("Connection", "close") // the deadline stays: net/http reads what is left of the body before it closes
				return nil, err
			}
			_ = control.SetReadDeadline(time.Time{})
			return body, nil
		},
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

// readAll reads the body of a request.
func readAll(r io.Reader, grow func(bytes int) error) ([]byte, error) {
	var body []byte
	for {
		if len(body) == cap(body) {
			size := max(2*cap(body), 512)
			if err := grow(size - cap(body)); err != nil {
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
