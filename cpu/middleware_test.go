package cpu

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// ask sends a request for / to h.
func ask(ctx context.Context, h http.Handler) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
	return w
}

func TestMiddleware(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Config{Tokens: 1, Queue: 1})
		mux := http.NewServeMux()
		mux.Handle("GET /", Middleware(p)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if jobOf(r.Context()) == nil {
				t.Error("the request's context has no job")
			}
			time.Sleep(20 * time.Millisecond)
			io.WriteString(w, "done")
		})))
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				if w := ask(t.Context(), mux); w.Code != 200 || w.Body.String() != "done" {
					t.Errorf("got %d %q, want 200 done", w.Code, w.Body)
				}
			})
			synctest.Wait()
		}
		busy := ask(t.Context(), mux)
		if busy.Code != 503 || busy.Header().Get("Retry-After") != "1" || !strings.Contains(busy.Body.String(), "busy") {
			t.Errorf("queue full: got %d %q Retry-After %q, want 503 and 1", busy.Code, busy.Body, busy.Header().Get("Retry-After"))
		}
		all.Wait()
		if got := p.Stats().Unyielding; len(got) != 1 || got[0].Name != "GET /" {
			t.Errorf("unyielding: got %+v, want GET /", got)
		}
		p.Close()
		if w := ask(t.Context(), mux); w.Code != 503 || w.Header().Get("Retry-After") != "" {
			t.Errorf("closed: got %d, Retry-After %q; want 503 without", w.Code, w.Header().Get("Retry-After"))
		}
	})
}

func TestMiddlewarePanic(t *testing.T) {
	for _, row := range []struct {
		name  string
		value any
	}{{"abort", http.ErrAbortHandler}, {"bug", "boom"}} {
		t.Run(row.name, func(t *testing.T) {
			p := newPool(t, Config{Tokens: 1})
			defer func() {
				got := recover()
				if panicked, ok := got.(*PanicError); ok {
					got = panicked.Value
				}
				if got != row.value {
					t.Errorf("the server sees %v, want %v", got, row.value)
				}
			}()
			ask(t.Context(), Middleware(p)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(row.value) })))
		})
	}
}

type namedHandler struct{}

func (namedHandler) ServeHTTP(http.ResponseWriter, *http.Request) {}

func TestNameOf(t *testing.T) {
	for want, h := range map[string]http.Handler{
		"cpu.namedHandler": namedHandler{},
		"http.NotFound":    http.NotFoundHandler(),
	} {
		if got := nameOf(h); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
