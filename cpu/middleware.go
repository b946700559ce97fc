package cpu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
)

// Middleware runs an HTTP handler as a job of p. The job uses the context of the request. If p is busy or closed, the response
// is 503 Service Unavailable, with Retry-After if a later attempt may succeed. If the request's context ends before the job
// starts, the handler is not called. The job's name in Stats is, in this order: the name in the request's context (WithName),
// the pattern that matched the request (http.ServeMux), or the name of the handler.
//
// A handler that reads a large body or writes a large response calls Blocking for that.
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

// nameOf returns the name of a function, or the type of any other handler.
func nameOf(h http.Handler) string {
	if f, ok := h.(http.HandlerFunc); ok {
		return functionKey{pc: reflect.ValueOf(f).Pointer()}.String()
	}
	return fmt.Sprintf("%T", h)
}

// respondToError writes the response for a handler that did not run. It passes on a handler's panic to the HTTP server.
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
