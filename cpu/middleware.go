package cpu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
)

// Middleware runs an HTTP handler as a job of p; the request's context is the job's. When p is busy or closed the client gets
// 503 Service Unavailable, with Retry-After if trying again can help. A request whose context ends while it waits is not
// handled. The job's name in Stats is that of the request's context (WithName), the pattern that matched the request
// (http.ServeMux), or the name of the handler.
//
// A handler that reads a large body, or writes a large response, does so inside Blocking.
func Middleware(p *Pool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		name := nameOf(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx := r.Context()
			if ctx.Value(nameKey{}) == nil {
				ctx = WithName(ctx, cmp.Or(r.Pattern, name))
			}
			_, err := Do(ctx, p, func(ctx context.Context) (struct{}, error) {
				next.ServeHTTP(w, r.WithContext(ctx))
				return struct{}{}, nil
			})
			respondToError(w, err)
		})
	}
}

// nameOf returns the name of a handler that is a function, or the type of another.
func nameOf(h http.Handler) string {
	if f, ok := h.(http.HandlerFunc); ok {
		return functionKey{pc: reflect.ValueOf(f).Pointer()}.String()
	}
	return fmt.Sprintf("%T", h)
}

// respondToError responds for a handler that did not run. A handler's panic continues, for the HTTP server to handle.
func respondToError(w http.ResponseWriter, err error) {
	var panicked *PanicError
	switch {
	case err == nil:
	case errors.As(err, &panicked):
		if errors.Is(panicked, http.ErrAbortHandler) {
			panic(http.ErrAbortHandler)
		}
		panic(panicked)
	default:
		if errors.Is(err, ErrBusy) {
			w.Header().Set("Retry-After", "1")
		}
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}
