package cpu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
)

// Middleware runs an HTTP handler as a job of p; the request's context is the job's. When p takes no more the client
// gets 503 Service Unavailable, with Retry-After if trying again can help. A request that ends while it waits is not
// handled. In Stats the job goes by the pattern that matched the request (http.ServeMux), or else the name of the handler,
// unless the request's context has a name.
// A handler that reads a large body, or writes a large answer, does so inside Blocking.
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
			refuse(w, err)
		})
	}
}

// nameOf is the function's name, or the type of a handler that is none.
func nameOf(h http.Handler) string {
	if f, ok := h.(http.HandlerFunc); ok {
		return key{pc: reflect.ValueOf(f).Pointer()}.String()
	}
	return fmt.Sprintf("%T", h)
}

// refuse answers for a handler that did not run. What a handler panicked with goes on to the server, which knows what to do.
func refuse(w http.ResponseWriter, err error) {
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
